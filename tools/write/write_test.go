package write_test

import (
	"testing"

	"tandem/tools/read"
	"tandem/tools/run/runtest"
	"tandem/tools/write"
)

func TestCases(t *testing.T) { runtest.Cases(t, write.New(), read.New()) }
