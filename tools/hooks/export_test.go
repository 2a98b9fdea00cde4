package hooks

// Parse is parse for tests.
var Parse = parse
