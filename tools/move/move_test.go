package move_test

import (
	"testing"

	"tandem/tools/move"
	"tandem/tools/read"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Cases(t, move.New(), read.New()) }
