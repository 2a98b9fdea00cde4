package main

import (
	"reflect"
	"slices"
)

// fillFromPlainArgs is the fast path for the command line of editors, --stdio alone and no variable
// of a flag: it fills c and returns true without the parser. Building that parser takes longer than
// all else before the answer to initialize.
func (c *cli) fillFromPlainArgs(args []string, lookup func(string) (string, bool)) bool {
	if !slices.Equal(args, []string{"--stdio"}) && !slices.Equal(args, []string{"serve", "--stdio"}) {
		return false
	}
	for t, i := reflect.TypeFor[cli](), 0; i < t.NumField(); i++ {
		if name, ok := t.Field(i).Tag.Lookup("env"); ok {
			if _, set := lookup(name); set {
				return false
			}
		}
	}
	c.Stdio = true
	return true
}
