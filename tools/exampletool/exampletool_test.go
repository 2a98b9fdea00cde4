package exampletool_test

import (
	"testing"

	"tandem/tools/exampletool"
	"tandem/tools/toolstest"
)

// The cases are files: go test -update writes what the calls answered.
func TestF041Cases(t *testing.T) { toolstest.Cases(t, exampletool.New()) }
