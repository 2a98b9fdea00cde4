package messages

// Translations gives the translations by their English formats.
var Translations = chinese
