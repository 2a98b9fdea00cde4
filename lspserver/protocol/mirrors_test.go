package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	lsp "go.lsp.dev/protocol"

	"tandem/tools/words"
)

// TestGeneratedMirrors keeps what the editor clients know of the wire as the table and the types have it; -update writes
// it.
func TestGeneratedMirrors(t *testing.T) {
	d := describe(t)
	for name, want := range map[string][]byte{
		"editors/vscode/src/protocol.ts":       d.typescript(),
		"editors/nvim/lua/tandem/protocol.lua": d.lua(),
	} {
		path := filepath.Join("..", "..", filepath.FromSlash(name))
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); !bytes.Equal(have, want) {
			t.Errorf("%s is out of date (%v); run go test ./lspserver/protocol -update", path, err)
		}
	}
}

const mirrorHead = "Written by `go test ./lspserver/protocol -update`: change the types or the table there."

// mirror says how one language writes types.
type mirror struct {
	text, number, integer, truth, any string
	list, object                      func(of string) string
	value                             func(literal string) string
	name                              func(of string) string
}

// spell gives a type as the mirror has it.
func (m mirror) spell(t reflect.Type) string {
	switch {
	case t == nil:
		return m.any
	case t == reflect.TypeFor[lsp.Position]():
		return m.name("Position")
	case t == reflect.TypeFor[lsp.Range]():
		return m.name("Range")
	case t == reflect.TypeFor[lsp.WorkspaceEdit]():
		return m.name("WorkspaceEdit")
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[lsp.LSPAny](), t.Kind() == reflect.Interface:
		return m.any
	case ours(t):
		return m.name(t.Name())
	case t.Kind() == reflect.Struct: // of LSP, which the clients have from elsewhere
		return m.any
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.spell(t.Elem())
	case reflect.Slice:
		return m.list(m.spell(t.Elem()))
	case reflect.Map:
		return m.object(m.spell(t.Elem()))
	case reflect.Bool:
		return m.truth
	case reflect.Float64:
		return m.number
	case reflect.String:
		return m.text
	}
	return m.integer
}

// field gives the type of a field, with the values or the types that its tags name.
func (m mirror) field(f reflect.StructField) string {
	var choices []string
	for _, v := range variants(f) {
		if item, list := strings.CutPrefix(v, "[]"); list {
			choices = append(choices, m.list(m.name(item)))
		} else {
			choices = append(choices, m.name(v))
		}
	}
	for _, v := range enum(f) {
		choices = append(choices, m.value(v))
	}
	if len(choices) == 0 {
		return m.spell(f.Type)
	}
	return strings.Join(choices, " | ")
}

// spoken are the methods that the clients have to know by name, of one direction and kind.
func spoken(d Direction, k Kind) (out []Method) {
	for _, m := range Methods() {
		if m.Direction == d && m.Kind == k && (m.Since != "LSP" || ours(indirect(m.Params))) {
			out = append(out, m)
		}
	}
	return out
}

// groups are the four kinds of methods, as the mirrors call them.
func groups() []struct {
	name, doc string
	methods   []Method
} {
	return []struct {
		name, doc string
		methods   []Method
	}{
		{"ServerRequests", "What the server answers.", spoken(ToServer, Request)},
		{"ServerNotifications", "What the server takes without an answer.", spoken(ToServer, Notification)},
		{"ClientRequests", "What the server asks.", spoken(ToClient, Request)},
		{"ClientNotifications", "What the server tells.", spoken(ToClient, Notification)},
	}
}

func (d description) names() []string { return slices.Sorted(maps.Keys(d.types)) }

func (d description) typescript() []byte {
	m := mirror{
		text: "string", number: "number", integer: "number", truth: "boolean", any: "unknown",
		list: func(of string) string {
			if strings.Contains(of, " ") {
				of = "(" + of + ")"
			}
			return of + "[]"
		},
		object: func(of string) string { return "Record<string, " + of + ">" },
		value:  func(v string) string { return "'" + v + "'" },
		name:   func(of string) string { return of },
	}
	b := &bytes.Buffer{}
	comment := func(indent, text string) {
		if text != "" {
			fmt.Fprintf(b, "%s/** %s */\n", indent, text)
		}
	}
	fmt.Fprintf(b, "// %s\n\n", mirrorHead)
	comment("", "The version of the methods that are spoken here.")
	fmt.Fprintf(b, "export const VERSION = %d;\n\n", Version)
	comment("", "The error codes that are Tandem's own.")
	b.WriteString("export const ERRORS = {\n")
	for _, f := range Failures() {
		comment("  ", f.Doc)
		fmt.Fprintf(b, "  %s: %d,\n", f.Name, f.Code)
	}
	b.WriteString("} as const;\n\n")
	for _, w := range spokenWords() {
		comment("", w.doc)
		fmt.Fprintf(b, "export const %s: Readonly<Record<string, string>> = {\n", w.name)
		for _, code := range slices.Sorted(maps.Keys(w.table)) {
			fmt.Fprintf(b, "  %s: %s,\n", quote(code), quote(w.table[code]))
		}
		b.WriteString("};\n\n")
	}
	b.WriteString(lookupsInTypeScript)
	b.WriteString("export interface Position {\n  line: number;\n  character: number;\n}\n\n" +
		"export interface Range {\n  start: Position;\n  end: Position;\n}\n\n" +
		"export interface WorkspaceEdit {\n  documentChanges?: unknown[];\n}\n")
	for _, name := range d.names() {
		typ := d.types[name]
		b.WriteString("\n")
		comment("", d.comments[name])
		if typ.NumField() == 0 {
			fmt.Fprintf(b, "export type %s = Record<string, never>;\n", name)
			continue
		}
		fmt.Fprintf(b, "export interface %s {\n", name)
		for _, f := range reflect.VisibleFields(typ) {
			field, optional := jsonName(f)
			comment("  ", f.Tag.Get("doc"))
			if optional {
				field += "?"
			}
			fmt.Fprintf(b, "  %s: %s;\n", field, m.field(f))
		}
		b.WriteString("}\n")
	}
	for _, g := range groups() {
		b.WriteString("\n")
		comment("", g.doc)
		fmt.Fprintf(b, "export interface %s {\n", g.name)
		for _, method := range g.methods {
			comment("  ", method.Doc)
			if method.Kind == Notification {
				fmt.Fprintf(b, "  '%s': %s;\n", method.Name, m.spell(method.Params))
				continue
			}
			result := m.spell(method.Result)
			if method.Result != nil && method.Result.Kind() == reflect.Pointer {
				result += " | null"
			}
			fmt.Fprintf(b, "  '%s': { params: %s; result: %s };\n", method.Name, m.spell(method.Params), result)
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

func (d description) lua() []byte {
	m := mirror{
		text: "string", number: "number", integer: "integer", truth: "boolean", any: "any",
		list: func(of string) string {
			if strings.Contains(of, "|") {
				of = "(" + of + ")"
			}
			return of + "[]"
		},
		object: func(of string) string { return "table<string, " + of + ">" },
		value:  func(v string) string { return "'" + v + "'" },
		name: func(of string) string {
			if of == "Position" || of == "Range" || of == "WorkspaceEdit" {
				return "lsp." + of // Neovim's own annotations
			}
			return "tandem." + of
		},
	}
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "-- %s\n\nlocal M = {}\n\n", mirrorHead)
	for _, name := range d.names() {
		fmt.Fprintf(b, "--- %s\n---@class %s\n", d.comments[name], m.name(name))
		for _, f := range reflect.VisibleFields(d.types[name]) {
			field, optional := jsonName(f)
			if optional {
				field += "?"
			}
			fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("---@field %s %s %s",
				field, strings.ReplaceAll(m.field(f), " | ", "|"), f.Tag.Get("doc")), " "))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(b, "--- The version of the methods that are spoken here.\nM.VERSION = %d\n\n", Version)
	b.WriteString("--- The error codes that are Tandem's own.\nM.ERRORS = {\n")
	for _, f := range Failures() {
		fmt.Fprintf(b, "  %s = %d, -- %s\n", f.Name, f.Code, f.Doc)
	}
	b.WriteString("}\n")
	for _, w := range spokenWords() {
		fmt.Fprintf(b, "\n--- %s\n---@type table<string, string>\nM.%s = {\n", w.doc, w.name)
		for _, code := range slices.Sorted(maps.Keys(w.table)) {
			fmt.Fprintf(b, "  [%s] = %s,\n", quote(code), quote(w.table[code]))
		}
		b.WriteString("}\n")
	}
	b.WriteString(lookupsInLua)
	for _, g := range groups() {
		fmt.Fprintf(b, "\n--- %s\nM.%s = {\n", g.doc, g.name)
		for _, method := range g.methods {
			fmt.Fprintf(b, "  '%s',\n", method.Name)
		}
		b.WriteString("}\n")
	}
	b.WriteString("\nreturn M\n")
	return b.Bytes()
}

// spokenWords are the tables of package words, as the mirrors call them.
func spokenWords() []struct {
	name, doc string
	table     map[string]string
} {
	return []struct {
		name, doc string
		table     map[string]string
	}{
		{"FAILURES", "What people are told of a failed call, by its class, or by class and reason.", words.Failures()},
		{"ENDINGS", "What people are told of the end of a turn, by its stopReason, or lost where the server ended.", words.Endings()},
		{"STATES", "The word for the state of a call: its status, or rejected or cancelled.", words.States()},
	}
}

// quote is text as a literal of TypeScript and of Lua.
func quote(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }

const lookupsInTypeScript = `/** The sentence for people of a failed call, from its error and reason. The call's summary is that sentence too. */
export function failure(error: string, reason?: string): string {
  const exit = /^EXIT_CODE_(.+)$/.exec(error)?.[1];
  return (
    FAILURES[error + '/' + reason] ??
    FAILURES[error] ??
    (exit === undefined ? 'This failed.' : 'The command ended with exit code ' + exit + '.')
  );
}

/** The sentence for people of the end of a turn. */
export function ending(stopReason: string): string {
  return ENDINGS[stopReason] ?? ENDINGS['error'] ?? '';
}

/** The word for people of the state of a call, from its status, phase and error. */
export function state(status: string, phase?: string, error?: string): string {
  const key =
    phase === 'rejected' || error === 'GATE_DENIED'
      ? 'rejected'
      : error === 'CANCELLED' || error === 'SIBLING_CANCELLED'
        ? 'cancelled'
        : status;
  return STATES[key] ?? '';
}

`

const lookupsInLua = `
--- The sentence for people of a failed call, from its error and reason. The call's summary is that sentence too.
---@param error string
---@param reason? string
---@return string
function M.failure(error, reason)
  local exit = error:match('^EXIT_CODE_(.+)$')
  return M.FAILURES[error .. '/' .. (reason or '')]
    or M.FAILURES[error]
    or (exit and 'The command ended with exit code ' .. exit .. '.' or 'This failed.')
end

--- The sentence for people of the end of a turn.
---@param stop_reason string
---@return string
function M.ending(stop_reason)
  return M.ENDINGS[stop_reason] or M.ENDINGS.error
end

--- The word for people of the state of a call, from its status, phase and error.
---@param status string
---@param phase? string
---@param error? string
---@return string
function M.state(status, phase, error)
  if phase == 'rejected' or error == 'GATE_DENIED' then
    status = 'rejected'
  elseif error == 'CANCELLED' or error == 'SIBLING_CANCELLED' then
    status = 'cancelled'
  end
  return M.STATES[status] or ''
end
`
