// Package syntax finds out whether the text of a file parses: Go, JSON, YAML, TOML and shell
// scripts, by their parsers. It knows no meaning: what parses may still be wrong.
package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v4"
	shell "mvdan.cc/sh/v3/syntax"

	"tandem/filetime/text/show"
	"tandem/sandbox/lazy"
)

// brackets is how many of them are opened at most in a text that is parsed: some of the parsers are
// recursive without a limit, and a stack that overflows ends the process.
const brackets = 100_000

// longest is how much of a parser's message is told: some quote the text.
const longest = 200

// most is the size of the largest text that is parsed, so that a check takes milliseconds.
const most = 1 << 20

// Broken says, as the rest of a sentence that begins with the file's name, why a text that was
// after an edit of the text before does not parse; "" if it does, if its language is not known by
// the file's name or its first line, if it is larger than 1 MiB, or if more than 100,000 brackets
// are opened in it. A language that a file did not keep to before the edit, such as JSON without
// comments or YAML that is made from a template, is not asked of it after.
func Broken(path, before, after string) string {
	check := languages(path)
	if check == nil && filepath.Ext(path) == "" && shebang.Get().MatchString(after) {
		check = script
	}
	if check == nil || !checkable(after) {
		return ""
	}
	err := check(before, after)
	if err == nil {
		return ""
	}
	still := ""
	if checkable(before) && check(before, before) != nil {
		still = " It did not parse before the edit either."
	}
	says := []rune(show.Visible(strings.Join(strings.Fields(err.Error()), " "), false))
	if len(says) > longest {
		says = append(says[:longest], '…')
	}
	return "does not parse after this edit: " + string(says) + "." + still
}

// Parses says that Broken knows the language of a file by its name.
func Parses(path string) bool { return languages(path) != nil }

// Code reports whether a file is, by its name, code that a slip of the keyboard can break. Broken
// knows few of those languages.
func Code(path string) bool {
	return Parses(path) || strings.Contains(unparsed, " "+strings.ToLower(filepath.Ext(path))+" ")
}

// unparsed are the endings of files of code in languages without a parser here.
const unparsed = " .py .pyi .ts .mts .cts .tsx .js .mjs .cjs .jsx .vue .svelte .rs .lua .zsh .fish .ps1 .c .h .cc .cpp .cxx .hh .hpp .m .mm " +
	".cs .fs .java .kt .kts .scala .groovy .gradle .swift .dart .rb .php .pl .pm .r .jl .ex .exs .erl .hs .ml .mli .clj .cljs .lisp .el .vim .nim .zig .v .d " +
	".sql .proto .graphql .tf .nix .css .scss .less .cmake "

// checkable says that a text is neither empty nor too large.
func checkable(s string) bool {
	return len(s) <= most && strings.TrimSpace(s) != "" && strings.Count(s, "[")+strings.Count(s, "{")+strings.Count(s, "(") <= brackets
}

// languages gives the check of the language that a file is in by its name; nil where there is none.
// The check may look at the text that the file had before.
func languages(path string) func(before, after string) error {
	name := strings.ToLower(filepath.Base(path))
	switch filepath.Ext(name) {
	case ".go":
		return golang
	case ".json":
		if strings.HasPrefix(name, "tsconfig") || strings.HasPrefix(name, "jsconfig") || name == "devcontainer.json" ||
			filepath.Base(filepath.Dir(path)) == ".vscode" {
			return comments
		}
		return plain
	case ".jsonc", ".code-workspace":
		return comments
	case ".yaml", ".yml":
		return yamlDocuments
	case ".toml":
		return tomlDocument
	case ".sh", ".bash":
		return script
	}
	return nil
}

// golang reports the first faults alone: those that follow are mostly of the same cause.
func golang(_, after string) error {
	_, err := parser.ParseFile(token.NewFileSet(), "", after, parser.SkipObjectResolution|parser.ParseComments)
	var list scanner.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return err
	}
	return fmt.Errorf("line %d: %s", list[0].Pos.Line, list[0].Msg)
}

// plain is JSON without comments, unless the file had some before.
func plain(before, after string) error {
	d := json.NewDecoder(strings.NewReader(after))
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		err = errors.New("there is more text after the end of the value")
	}
	if checkable(before) && !json.Valid([]byte(before)) && comments("", before) == nil {
		return comments("", after)
	}
	at := d.InputOffset()
	if fault, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = fault.Offset
	} else if errors.Is(err, io.ErrUnexpectedEOF) {
		at, err = int64(len(strings.TrimSpace(after))), errors.New("unexpected end of the file")
	}
	return fmt.Errorf("line %d: %w", 1+strings.Count(after[:min(int(at), len(after))], "\n"), err)
}

var hujsonPlace = lazy.Regexp{Text: `^hujson: (?:line (\d+), column \d+): `}

// comments is JSON with comments and trailing commas.
func comments(_, after string) error {
	_, err := hujson.Parse([]byte(after))
	if err == nil {
		return nil
	}
	return errors.New(hujsonPlace.Get().ReplaceAllString(err.Error(), "line $1: "))
}

// yamlDocuments is a stream of YAML documents. They are not composed, so that aliases cost nothing.
func yamlDocuments(_, after string) error {
	if strings.Contains(after, "{{") || strings.Contains(after, "{%") {
		return nil // YAML is made of it, and it is none itself
	}
	d := yaml.NewDecoder(bytes.NewReader([]byte(after)))
	for {
		var n yaml.Node
		err := d.Decode(&n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", " "), "yaml: "))
		}
	}
}

func tomlDocument(_, after string) error {
	var v any
	err := toml.Unmarshal([]byte(after), &v)
	if fault, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := fault.Position()
		return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(fault.Error(), "toml: "))
	}
	return err
}

// compounds is how many signs and words of a script may begin a compound command: its parser is
// recursive too, and takes seconds for many more of them within each other.
const compounds = 10_000

var (
	shebang  = lazy.Regexp{Text: `^#!\s*\S*/(?:env\s+(?:-S\s+)?)?(?:ba|da|a)?sh\b`}
	compound = lazy.Regexp{Text: `\b(?:if|while|until|for|case|select|function|time|coproc)\b|[!({]`}
	// structural is what the parser says of commands and their ends. Of what stands within
	// expansions and expressions it knows more than bash, which looks at that when it runs it, and
	// differs with it here and there.
	structural = lazy.Regexp{Text: "reached EOF|must end with|can only be used|can only immediately follow|must be separated by &|unclosed here-document|" +
		"must be followed by (?:a statement|`then`|`do`|`in`)"}
)

// script is a shell script as bash reads it, which reads what dash does. One whose first line names
// another shell is not parsed.
func script(_, after string) error {
	if strings.HasPrefix(after, "#!") && !shebang.Get().MatchString(after) || len(compound.Get().FindAllStringIndex(after, compounds)) == compounds {
		return nil
	}
	_, err := shell.NewParser(shell.Variant(shell.LangBash)).Parse(strings.NewReader(after), "")
	var fault shell.ParseError
	if !errors.As(err, &fault) || !structural.Get().MatchString(fault.Text) {
		return nil
	}
	return fmt.Errorf("line %d: %s", fault.Pos.Line(), fault.Text)
}
