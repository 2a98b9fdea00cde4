//go:build !linux

package index

import (
	"errors"

	"tandem/sandbox"
)

// watch is there on Linux alone: elsewhere there is no index either.
type watch struct{}

func maxWatches() int                                  { return 0 }
func newWatch() (*watch, error)                        { return nil, errors.ErrUnsupported }
func (*watch) add(string) error                        { return errors.ErrUnsupported }
func (*watch) holds(string, sandbox.Ident) bool        { return false }
func (*watch) remove(string)                           {}
func (*watch) since() (paths map[string]bool, ok bool) { return nil, false }
func (*watch) close()                                  {}

// lower is for Linux only.
func lower() {}
