package mkdir_test

import (
	"testing"

	"tandem/tools/mkdir"
	"tandem/tools/read"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Cases(t, mkdir.New(), read.New()) }
