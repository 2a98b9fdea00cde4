package multiedit_test

import (
	"testing"

	"tandem/tools/edit"
	"tandem/tools/multiedit"
	"tandem/tools/read"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Cases(t, multiedit.New(), edit.New(), read.New()) }

func TestF157Variants(t *testing.T) { toolstest.Variants(t, multiedit.New(), edit.New()) }
