package schema

// Of is For of a type that is known only when a test runs.
var Of = of
