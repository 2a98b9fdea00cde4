package read

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/tools"
)

// cell is one cell of a notebook, nbformat 4. Source and the texts of outputs are a string or a
// list of strings.
type cell struct {
	Type    string   `json:"cell_type"`
	Source  lines    `json:"source"`
	Outputs []output `json:"outputs"`
	// first and last are the lines of the file's JSON that it stands in, from 1.
	first, last int
}

type output struct {
	Type  string           `json:"output_type"`
	Text  lines            `json:"text"`
	Data  map[string]lines `json:"data"`
	Name  string           `json:"ename"`
	Value string           `json:"evalue"`
}

// lines is a text that may be written as a list of its lines. What is neither is empty: data of
// other types may be any JSON.
type lines string

func (l *lines) UnmarshalJSON(raw []byte) error {
	var list []string
	var whole string
	if json.Unmarshal(raw, &list) == nil {
		whole = strings.Join(list, "")
	} else if json.Unmarshal(raw, &whole) != nil {
		whole = ""
	}
	*l = lines(whole)
	return nil
}

const (
	// outputLines and outputChars are how much of the text of one output is shown.
	outputLines, outputChars = 20, 2000
	// notebookFrame is how many bytes are kept for what is said of the notebook as a whole.
	notebookFrame = 400
)

// cellsOf takes a notebook apart; ok is false for a text that is none.
func cellsOf(t text.Text) (cells []cell, ok bool) {
	d := json.NewDecoder(strings.NewReader(t.String()))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, false
		}
		if key != "cells" {
			var skipped json.RawMessage
			if d.Decode(&skipped) != nil {
				return nil, false
			}
			continue
		}
		if tok, err := d.Token(); err != nil || tok != json.Delim('[') {
			return nil, false
		}
		for d.More() {
			var raw json.RawMessage
			if d.Decode(&raw) != nil {
				return nil, false
			}
			var c cell
			if json.Unmarshal(raw, &c) != nil || c.Type == "" {
				return nil, false
			}
			end := int(d.InputOffset())
			c.first, c.last = t.Line(end-len(raw))+1, t.Line(end-1)+1
			cells = append(cells, c)
		}
		if _, err := d.Token(); err != nil {
			return nil, false
		}
		ok = true
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return cells, ok && err == io.EOF
}

type notebookValue struct {
	Path       string `json:"path"`
	Cells      int    `json:"cells"`
	Shown      int    `json:"shown"`
	TotalLines int    `json:"totalLines"`
	Source     string `json:"source"`
	Version    *int32 `json:"version,omitempty"`
}

// notebook shows a notebook by its cells. None of its lines count as seen whole, since what is
// edited is the JSON. It is nil for a file that is none.
func notebook(env *tools.Env, snap filetime.Snapshot) *tools.Result {
	if strings.ToLower(filepath.Ext(snap.Path)) != ".ipynb" {
		return nil
	}
	cells, ok := cellsOf(snap.Text)
	if !ok || len(cells) == 0 {
		return nil
	}
	name := env.Name(snap.Path)
	p := newPage(env, name, window{first: 1})
	p.Room -= notebookFrame
	var body strings.Builder
	shown, cut := 0, false
	for i, c := range cells {
		var b strings.Builder
		fmt.Fprintf(&b, "cell %d: %s (JSON lines %d-%d)\n", i+1, show.Visible(c.Type, false), c.first, c.last)
		e := tools.Excerpt{Room: p.Room - body.Len() - b.Len(), Width: tools.MaxLine}
		e.Part(strings.ToValidUTF8(string(c.Source), "\uFFFD"), 1)
		b.WriteString(e.String())
		over := e.Full()
		for n, o := range c.Outputs {
			said := o.told()
			if over = over || body.Len()+b.Len()+len(said) > p.Room; over {
				fmt.Fprintf(&b, "… %s more\n", tools.Count(len(c.Outputs)-n, "output"))
				break
			}
			b.WriteString(said)
		}
		if over && i > 0 {
			break
		}
		cut = cut || over || e.Cut()
		body.WriteString(b.String())
		shown++
	}
	total := tools.Lines(snap.Text)
	r := &tools.Result{Success: true, Summary: fmt.Sprintf("Read %s (%s)", name, tools.Count(shown, "cell"))}
	r.Data = fmt.Sprintf("<file path=%q cells=\"1-%d\" total=\"%d\">\n%s</file>\n", name, shown, len(cells), body.String())
	if shown < len(cells) {
		r.Data += fmt.Sprintf("(the other cells begin at JSON line %d: read on with start_line=%[1]d)\n", cells[shown].first)
	}
	r.Data += fmt.Sprintf("(a notebook is edited as JSON text, which has %d lines: before an edit read the JSON lines of the cell "+
		"with start_line and end_line, and quote old_text from them)", total)
	r.Truncated = cut || shown < len(cells)
	v := &notebookValue{Path: snap.Path, Cells: len(cells), Shown: shown, TotalLines: total}
	r.Value = v
	v.Source, v.Version = from(r, snap)
	env.FileTime.Read(snap, 1, 0)
	return r
}

// told is an output in few words: the beginning of its text, and what was left out.
func (o output) told() string {
	if o.Type == "error" {
		return fmt.Sprintf("output: error %s\n", show.Clip(show.Visible(o.Name+": "+o.Value, false), outputChars))
	}
	said, left := string(o.Text), []string{}
	if said == "" {
		said = string(o.Data["text/plain"])
	}
	for _, kind := range slices.Sorted(maps.Keys(o.Data)) {
		if kind != "text/plain" {
			left = append(left, kind)
		}
	}
	var b strings.Builder
	if said = strings.TrimRight(show.Visible(said, true), "\n"); said != "" {
		all := strings.Split(said, "\n")
		head := show.Clip(strings.Join(all[:min(len(all), outputLines)], "\n"), outputChars)
		fmt.Fprintf(&b, "output:\n     %s\n", strings.ReplaceAll(head, "\n", "\n     "))
		if len(all) > outputLines {
			fmt.Fprintf(&b, "     … %s more\n", tools.Count(len(all)-outputLines, "line"))
		}
	}
	for _, kind := range left {
		fmt.Fprintf(&b, "output: [%s, left out]\n", show.Visible(kind, false))
	}
	return b.String()
}
