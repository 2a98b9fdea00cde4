package code_test

import (
	"testing"

	"tandem/lspserver/languages"
	"tandem/tools"
	"tandem/tools/code"
	"tandem/tools/toolstest"
)

func list() []tools.Tool {
	return []tools.Tool{
		code.NewActions(), code.NewDefinition(), code.NewDiagnostics(), code.NewFind(), code.NewFormat(), code.NewOutline(),
		code.NewReferences(), code.NewRename(),
	}
}

// The flag toy has the server of the toy language answer.
func TestCases(t *testing.T) {
	toolstest.Prepared(t, func(_ *testing.T, env *tools.Env, flag string) bool {
		if flag != "toy" {
			return false
		}
		env.Servers.Languages, env.Servers.Findings = languages.New(toy{env}), &tools.Findings{}
		return true
	}, list()...)
}
