package write_test

import (
	"testing"

	"tandem/tools/read"
	"tandem/tools/toolstest"
	"tandem/tools/write"
)

func TestCases(t *testing.T) { toolstest.Cases(t, write.New(), read.New()) }
