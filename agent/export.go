package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"tandem/agent/store"
	"tandem/tools"
	"tandem/tools/run"
)

// Markdown is the transcript in Markdown.
func (p *Past) Markdown() string {
	var b strings.Builder
	title := p.Title
	if title == "" {
		title = "Session " + p.ID
	}
	fmt.Fprintf(&b, "# %s\n\n%s, %s, begun %s\n", title, p.Cwd, p.Model, p.Created.UTC().Format("2006-01-02 15:04:05 UTC"))
	for e := range p.Events() {
		switch {
		case e.User != "":
			fmt.Fprintf(&b, "\n## Turn %d\n\n> %s\n", e.Turn, strings.ReplaceAll(strings.TrimRight(e.User, "\n"), "\n", "\n> "))
		case e.Text != "":
			fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(e.Text, "\n"))
		case e.Thought != "":
			fmt.Fprintf(&b, "\n<details><summary>Thought</summary>\n\n%s\n\n</details>\n", strings.TrimRight(e.Thought, "\n"))
		case e.Notice != "":
			fmt.Fprintf(&b, "\n_%s_\n", strings.Join(strings.Fields(e.Notice), " "))
		case e.Call != nil && (e.Call.State == run.Completed || e.Call.State == run.Executing):
			exported(&b, e.Call)
		}
	}
	return b.String()
}

// exported writes a call with its result.
func exported(b *strings.Builder, e *run.Event) {
	r := e.Result
	switch {
	case r == nil:
		fmt.Fprintf(b, "\n- … %s\n", e.Title)
		return
	case r.Success:
		fmt.Fprintf(b, "\n- ✓ %s", e.Title)
	default:
		fmt.Fprintf(b, "\n- ✗ %s", e.Title)
	}
	if line := r.Line(); line != "" {
		fmt.Fprintf(b, " (%s)", line)
	}
	b.WriteString("\n")
	for _, p := range r.Parts {
		if p.Kind == tools.TextPart {
			b.WriteString("\n" + block("", p.Text))
		} else {
			fmt.Fprintf(b, "\n_%s: %s_\n", p.Kind, strings.Join(strings.Fields(p.Describe()), " "))
		}
	}
	for _, d := range r.Diffs {
		b.WriteString("\n" + block("diff", d.Unified))
	}
	if text := r.Shown(e.Kind); len(r.Diffs) == 0 && text != r.Line() {
		b.WriteString("\n" + block("", text))
	}
}

// block is a fenced code block, with a fence longer than any in the text.
func block(language, s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence + "\n"
}

// JSONL is the stored session without the texts of files: a line of metadata, then one for each entry.
func (p *Past) JSONL() (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(map[string]any{
		"sessionId": p.ID, "cwd": p.Cwd, "title": p.Title, "mode": p.Mode, "model": p.Model,
		"createdAt": p.Created.UTC(), "updatedAt": p.Updated.UTC(),
	})
	for _, e := range p.entries {
		if err != nil {
			break
		}
		line := struct {
			Time time.Time       `json:"time"`
			Turn int             `json:"turn"`
			Kind store.Kind      `json:"kind"`
			Call string          `json:"callId,omitempty"`
			Text string          `json:"text,omitempty"`
			Body json.RawMessage `json:"body"`
		}{e.Time.UTC(), e.Turn, e.Kind, e.Call, e.Text, e.Body}
		err = enc.Encode(line)
	}
	return b.String(), err
}
