package fileinfo_test

import (
	"testing"

	"tandem/tools/fileinfo"
	"tandem/tools/read"
	"tandem/tools/toolstest"
)

func TestCases(t *testing.T) { toolstest.Cases(t, fileinfo.New(), read.New()) }
