package remove_test

import (
	"testing"

	"tandem/tools/read"
	"tandem/tools/remove"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Cases(t, remove.New(), read.New()) }
