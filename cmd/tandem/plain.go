package main

import (
	"reflect"
	"slices"
)

// plain says whether args and the environment are those that editors start the program with: --stdio and nothing else.
// Then it fills c in, as the parser of the command line would. Making that parser takes longer than all else the server does
// before it answers initialize.
func (c *cli) plain(args []string, lookup func(string) (string, bool)) bool {
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
