package schema

import (
	"encoding/json"
	"reflect"
)

// Of is For of a type that is known only when a test runs.
var Of = of

// Library is the whole schema of a type as the library writes it.
func Library(t reflect.Type) (json.RawMessage, error) {
	root, _, err := inferred(t)
	if err != nil {
		return nil, err
	}
	return root.MarshalJSON()
}

// Plain is what services take of a schema.
var Plain = plain
