package updates

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"tandem/agent"
	"tandem/agent/model"
	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/tools"
	"tandem/tools/run"
)

// semanticOf says whether a call looks or changes something; "" for one that does neither.
func semanticOf(e *run.Event) string {
	if e.Plan != nil && e.Plan.Semantic != "" {
		return e.Plan.Semantic
	}
	switch e.Kind {
	case tools.Read, tools.Fetch:
		return "read"
	case tools.Search:
		return "search"
	case tools.Edit, tools.Delete, tools.Move, tools.Execute:
		return "write"
	}
	return ""
}

// plan is the task list of a session as a person sees it.
func plan(tasks []tools.Task) []protocol.PlanEntry {
	out := []protocol.PlanEntry{}
	for _, t := range tasks {
		if t.Status != tools.TaskCancelled {
			out = append(out, protocol.PlanEntry{
				Content: show.Visible(t.Title, false), Priority: cmp.Or(t.Priority, "medium"), Status: string(t.Status),
			})
		}
	}
	return out
}

// tail is the end of what a model is writing: all of it again and again would be too much.
func tail(s string) string {
	const most = 4 << 10
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[len(s)-most:], "")
}

// statusOf is the state of a call in the words of the Agent Client Protocol.
func statusOf(e *run.Event) string {
	switch {
	case e.Result != nil && e.Result.Success:
		return "completed"
	case e.Result != nil:
		return "failed"
	case e.State == run.Executing:
		return "in_progress"
	}
	return "pending"
}

// renderOf is how a person is shown the result of a call: what the tool says of it, or else its one
// line, with the diffs, the output or the reason of a failure below it.
func renderOf(e *run.Event) *protocol.Render {
	r := e.Result
	out := rendered(r.Render)
	switch {
	case out == nil:
		out = &protocol.Render{Markdown: tools.Escaped(cmp.Or(r.Line(), e.Title))}
	case len(out.Widgets) > 0:
		return out
	}
	switch text := r.Shown(e.Kind); {
	case r.Landed != nil && r.Success:
		for i, f := range r.Landed.Files {
			if f.Entry != filetime.File {
				continue
			}
			w := protocol.Widget{Type: "diff", Path: f.Path, Title: show.Visible(filepath.Base(f.Path), false)}
			if i < len(r.Diffs) {
				d := r.Diffs[i]
				w.Title, w.Markdown = fmt.Sprintf("%s +%d −%d", w.Title, d.Additions, d.Deletions), fenced("diff", d.Unified)
			}
			out.Widgets = append(out.Widgets, w)
		}
	case e.Kind == tools.Execute && text != r.Line():
		out.Widgets = []protocol.Widget{{Type: "collapsible", Title: "Output", Markdown: fenced("", text)}}
	}
	return out
}

// rendered is what a tool says of itself, nil where it says nothing.
func rendered(r *tools.Render) *protocol.Render {
	if r == nil {
		return nil
	}
	out := &protocol.Render{Markdown: r.Markdown}
	for _, w := range r.Widgets {
		out.Widgets = append(out.Widgets, protocol.Widget(w))
	}
	return out
}

// fenced is text as a block of code, whatever fences are in it. What is long is cut: the whole is
// in the content.
func fenced(language, s string) string {
	const most = 4 << 10
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "\n…"
	}
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}

// mostShown is how many bytes of a result a client is told in an update: who called the tool gets
// all of it as the answer.
const mostShown = 256 << 10

// program is what a result has for a program, nil where it is as large as that.
func program(r *tools.Result) any {
	if len(r.Data) > mostShown {
		return nil
	}
	return r.Value
}

// firstLines are the lines of a text that a client is told.
func firstLines(text string) string {
	if len(text) <= mostShown {
		return text
	}
	end := strings.LastIndexByte(text[:mostShown], '\n') + 1
	if end == 0 {
		end = mostShown
	}
	return strings.ToValidUTF8(text[:end], "") + fmt.Sprintf("… %d more bytes", len(text)-end)
}

// resultContent is what a person is shown of a result: diffs where there are some, else the text.
// Texts larger than most are left out.
func resultContent(r *tools.Result, k tools.Kind, most int) []protocol.ToolContent {
	var out []protocol.ToolContent
	if r.Landed != nil {
		for i, f := range r.Landed.Files {
			if f.Entry != filetime.File {
				continue
			}
			d := run.DiffPreview{Path: f.Path, Old: f.Before.String(), New: f.After.String()}
			if i < len(r.Diffs) {
				d.Unified, d.Spans = r.Diffs[i].Unified, r.Diffs[i].Spans()
			}
			out = append(out, diffContent(d, f.Created, most))
		}
	}
	if len(out) == 0 {
		out = []protocol.ToolContent{{Type: "content", Content: new(Text(firstLines(r.Shown(k))))}}
	}
	for _, p := range Parts(r) {
		out = append(out, protocol.ToolContent{Type: "content", Content: &p})
	}
	return out
}

// Parts are the parts of a result as blocks: a document is a resource, which has no file.
func Parts(r *tools.Result) (out []protocol.ContentBlock) {
	for i, p := range r.Parts {
		data := base64.StdEncoding.EncodeToString(p.Data)
		switch p.Kind {
		case tools.TextPart:
			out = append(out, Text(p.Text))
		case tools.ImagePart:
			out = append(out, protocol.ContentBlock{Type: "image", MimeType: p.MIMEType, Data: data})
		default:
			out = append(out, protocol.ContentBlock{Type: "resource", Resource: &protocol.EmbeddedResource{
				URI: fmt.Sprintf("tandem:%s/part/%d", r.Call, i), Blob: data, MimeType: p.MIMEType,
			}})
		}
	}
	return out
}

func previewContent(previews []run.DiffPreview, most int) []protocol.ToolContent {
	var out []protocol.ToolContent
	for _, d := range previews {
		out = append(out, diffContent(d, d.Old == "", most))
	}
	return out
}

// diffContent shows a change with both texts, or where they are larger than most only as a unified
// diff.
func diffContent(d run.DiffPreview, created bool, most int) protocol.ToolContent {
	if len(d.Old)+len(d.New) > most {
		return protocol.ToolContent{Type: "content", Content: new(Text(cmp.Or(d.Unified, "The change of "+d.Path+" is too large to be shown here; tandem/changes/diff gives it.")))}
	}
	c := protocol.ToolContent{Type: "diff", Path: d.Path, NewText: &d.New}
	if !created {
		c.OldText = &d.Old
	}
	if d.Unified != "" {
		meta := protocol.DiffMeta{Unified: d.Unified}
		for _, span := range d.Spans {
			meta.Spans = append(meta.Spans, protocol.LineSpan(span))
		}
		c.Meta = &protocol.Meta{Tandem: meta}
	}
	return c
}

// Text is a text as a block of content.
func Text(s string) protocol.ContentBlock { return protocol.ContentBlock{Type: "text", Text: s} }

// RawInput is what a call was asked for with; text that is no JSON is shown as text.
func RawInput(args json.RawMessage) any {
	if json.Valid(args) {
		return args
	}
	return string(args)
}

// Usage is what was used, as a payload.
func Usage(u model.Usage) protocol.Usage {
	return protocol.Usage{
		InputTokens: u.Input, OutputTokens: u.Output, CachedInputTokens: u.CachedInput, CacheWriteTokens: u.CacheWrite,
		TotalTokens: u.Input + u.Output, Cost: Cost(u),
	}
}

// Cost is nil where the price is not known.
func Cost(u model.Usage) *protocol.Cost {
	if u.CostUSD == 0 {
		return nil
	}
	return &protocol.Cost{Amount: u.CostUSD, Currency: "USD"}
}

// Jobs are the commands that a session runs in the background, at least [].
func Jobs(s *agent.Session) []protocol.JobState {
	out := []protocol.JobState{}
	for _, j := range s.Jobs() {
		out = append(out, protocol.JobState{SessionID: s.ID(), JobID: j.ID, Title: j.Title})
	}
	return out
}

// Commands are those that a person can call in a session.
func Commands(s *agent.Session) []protocol.Command {
	out := []protocol.Command{}
	for _, p := range s.Commands() {
		c := protocol.Command{Name: p.Name, Description: cmp.Or(p.Description, p.Name)}
		if p.Hint != "" {
			c.Input = &protocol.CommandInput{Hint: p.Hint}
		}
		out = append(out, c)
	}
	return out
}
