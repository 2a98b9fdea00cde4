package words

// Translations gives the translations by their English formats.
var Translations = chinese
