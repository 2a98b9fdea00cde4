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

// renderOf is how a person is shown the result of a call: what the tool made for it, or else its one line with the
// diffs, the output or the reason of a failure below it.
func renderOf(e *run.Event) *protocol.Render {
	r := e.Result
	if r.Render != nil {
		out := &protocol.Render{Markdown: r.Render.Markdown}
		for _, w := range r.Render.Widgets {
			out.Widgets = append(out.Widgets, protocol.Widget(w))
		}
		return out
	}
	out := &protocol.Render{Markdown: escaped(cmp.Or(r.Line(), e.Title))}
	switch text := r.Shown(e.Kind); {
	case r.Landed != nil && r.Success:
		for i, f := range r.Landed.Files {
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

// escaped keeps text from being read as Markdown.
func escaped(s string) string {
	const special = "\\`*_<[#"
	if !strings.ContainsAny(s, special) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(special, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// fenced is text as a block of code, whatever fences are in it. What is long is cut: the whole is in the content.
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

// resultContent is what a person is shown of a result: diffs where there are some, else the text. Texts larger than most are
// left out.
func resultContent(r *tools.Result, k tools.Kind, most int) []protocol.ToolContent {
	var out []protocol.ToolContent
	if r.Landed != nil {
		for i, f := range r.Landed.Files {
			d := run.DiffPreview{Path: f.Path, Old: f.Before.String(), New: f.After.String()}
			if i < len(r.Diffs) {
				d.Unified = r.Diffs[i].Unified
			}
			out = append(out, diffContent(d, f.Created, most))
		}
	}
	if len(out) == 0 {
		block := Text(r.Shown(k))
		out = []protocol.ToolContent{{Type: "content", Content: &block}}
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

// diffContent shows a change with both texts, or where they are larger than most only as a unified diff.
func diffContent(d run.DiffPreview, created bool, most int) protocol.ToolContent {
	if len(d.Old)+len(d.New) > most {
		block := Text(cmp.Or(d.Unified, "The change of "+d.Path+" is too large to be shown here; tandem/changes/diff gives it."))
		return protocol.ToolContent{Type: "content", Content: &block}
	}
	c := protocol.ToolContent{Type: "diff", Path: d.Path, NewText: &d.New}
	if !created {
		c.OldText = &d.Old
	}
	if d.Unified != "" {
		c.Meta = &protocol.Meta{Tandem: protocol.DiffMeta{Unified: d.Unified}}
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
