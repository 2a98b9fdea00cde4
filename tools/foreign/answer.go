package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tandem/filetime"
	"tandem/filetime/text/show"
	"tandem/sandbox/lazy"
	"tandem/tools"
)

// Bounds on an answer. Its text and its parts are cut by the pipeline, see tools.Limits.
const (
	maxValue    = 1 << 20
	maxWarnings = 20
	maxLine     = 500
	maxParts    = 64
	maxText     = 1 << 20
)

// codes are those that a foreign tool may fail with. The others say what the host, a person or a
// rule has done.
var codes = []filetime.Code{
	tools.InvalidArgs, tools.NoChange, tools.TextNotFound, tools.TextMultipleMatches, tools.ExecutionError, tools.NetworkDenied,
	filetime.ReadError, filetime.WriteError, filetime.IsDirectory, filetime.FileExists, filetime.FileTooLarge, filetime.BinaryFile,
	filetime.NotRead, filetime.EditConflict, filetime.Timeout, filetime.Unknown, filetime.Cancelled, filetime.Unsupported,
	filetime.OutsideRoots, filetime.OutsideWriteRoots,
}

var (
	reasons   = lazy.Regexp{Text: `^[a-z0-9_]{1,40}$`}
	exitCodes = lazy.Regexp{Text: `^EXIT_CODE_[0-9]{1,5}$`}
	mimeTypes = lazy.Regexp{Text: `^[a-z0-9.+-]{1,60}/[a-z0-9.+-]{1,60}$`}
)

// answer is a ToolResult as it comes from elsewhere. Members that are missing here have no meaning
// in an answer.
type answer struct {
	Success   *bool           `json:"success"`
	Data      *string         `json:"data"`
	Context   *string         `json:"context"`
	Error     string          `json:"error"`
	Reason    string          `json:"reason"`
	Summary   string          `json:"summary"`
	Result    json.RawMessage `json:"result"`
	Content   []content       `json:"content"`
	Warnings  []string        `json:"warnings"`
	Truncated bool            `json:"truncated"`
	Retryable bool            `json:"retryable"`
	Diff      json.RawMessage `json:"diff"`
	Edit      json.RawMessage `json:"edit"`
}

// content is a part of an answer.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	MIMEType string `json:"mimeType"`
	Name     string `json:"name"`
	Data     []byte `json:"data"`
}

// Parse reads what a tool has answered: a ToolResult, which is an object with the member success;
// any other JSON value, which becomes the result's Value, and its text what the model reads; a JSON
// string or no JSON at all, which is text. A ToolResult of the wrong shape is a failed Result that
// says what is wrong.
func Parse(raw []byte) tools.Result {
	raw = bytes.TrimSpace(raw)
	var text string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return tools.Result{Success: true}
	case !json.Valid(raw):
		return tools.Result{Success: true, Data: strings.ToValidUTF8(string(raw), "\uFFFD")}
	case json.Unmarshal(raw, &text) == nil:
		return tools.Result{Success: true, Data: text}
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members["success"] == nil {
		return tools.Result{Success: true, Value: json.RawMessage(raw)}
	}
	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		return malformed("%v", err)
	}
	r, err := a.result()
	if err != nil {
		return malformed("%v", err)
	}
	return r
}

// malformed is the answer of a tool that has not answered as it must.
func malformed(format string, args ...any) tools.Result {
	return tools.Fail(tools.ExecutionError, "bad_answer",
		"The tool ran, but its answer is not a valid tool result: %s. What it did is not known. This is a fault of the tool, not of the arguments.",
		strings.TrimRight(show.Clip(show.Visible(fmt.Sprintf(format, args...), false), maxLine), ". "))
}

func (a answer) result() (tools.Result, error) {
	r := tools.Result{Reason: a.Reason, Summary: a.Summary, Warnings: a.Warnings, Truncated: a.Truncated, Error: filetime.Code(a.Error), Retryable: a.Retryable}
	if a.Success == nil {
		return r, fmt.Errorf("success must be a boolean, got null")
	}
	r.Success = *a.Success
	if r.Success && a.Error != "" {
		return r, fmt.Errorf("success is true and error is %q", a.Error)
	}
	if r.Success && a.Retryable {
		return r, errors.New("success is true and retryable is true")
	}
	for _, s := range []*string{a.Context, a.Data} {
		if s != nil {
			r.Data = *s
		}
	}
	if len(a.Result) > 0 && string(a.Result) != "null" {
		r.Value = a.Result
	}
	for i, c := range a.Content {
		p := tools.Part{Kind: tools.PartKind(c.Type), Text: c.Text, MIMEType: c.MIMEType, Name: c.Name, Data: c.Data}
		switch p.Kind {
		case tools.TextPart:
		case tools.ImagePart, tools.DocumentPart:
			if len(p.Data) == 0 {
				return r, fmt.Errorf("content[%d] is of type %s and has no data", i, c.Type)
			}
		default:
			return r, fmt.Errorf("content[%d].type must be one of text, image, document, got %q", i, c.Type)
		}
		r.Parts = append(r.Parts, p)
	}
	if !empty(a.Diff) || !empty(a.Edit) {
		r.Warnings = append(r.Warnings, "The tool proposed a change of files in its answer. It was not applied.")
	}
	return r, nil
}

func empty(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// clean is an answer with what may be taken over from elsewhere: text with nothing invisible in it,
// and of a bounded size. What only the host can know, such as changes of files or who refused a
// call, is left out.
func clean(r tools.Result) tools.Result {
	out := tools.Result{
		Success: r.Success, Data: text(r.Data), Summary: show.Clip(show.Visible(r.Summary, false), maxLine), Truncated: r.Truncated, Issues: r.Issues,
	}
	if !r.Success {
		out.Error, out.Reason, out.Retryable = r.Error, r.Reason, r.Retryable
		if !slices.Contains(codes, r.Error) && !exitCodes.Get().MatchString(string(r.Error)) {
			out.Error = tools.ExecutionError
		}
		if !reasons.Get().MatchString(out.Reason) {
			out.Reason = ""
		}
		if strings.TrimSpace(out.Data) == "" {
			out.Data = "The tool failed and did not say why."
		}
	}
	for _, w := range r.Warnings[:min(len(r.Warnings), maxWarnings)] {
		out.Warnings = append(out.Warnings, show.Clip(show.Visible(w, false), maxLine))
	}
	out.Value, out.Data = value(r.Value, out.Data)
	if r.Value != nil && out.Value == nil {
		out.Truncated = true
		out.Warnings = append(out.Warnings, fmt.Sprintf("The structured result of the tool was left out: it is larger than %d bytes, or no JSON.", maxValue))
	}
	for _, p := range r.Parts[:min(len(r.Parts), maxParts)] {
		out.Parts = append(out.Parts, part(p))
	}
	if n := len(r.Parts) - maxParts; n > 0 {
		out.Truncated = true
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d further parts of the answer were left out.", n))
	}
	return out
}

// value is structured data that is no larger than it may be, nil where it is, and the text for the
// model: data, or the value where that has none.
func value(v any, data string) (any, string) {
	if v == nil {
		return nil, data
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil, data
	}
	js := bytes.TrimSpace(buf.Bytes())
	if strings.TrimSpace(data) == "" {
		data = text(string(js))
	}
	if len(js) > maxValue {
		return nil, data
	}
	return json.RawMessage(js), data
}

// text is a text of lines with nothing invisible in it. It is cut where the pipeline would never
// show more.
func text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxText {
		head, tail := s[:maxText/2], s[len(s)-maxText/2:]
		for !utf8.ValidString(head) {
			head = head[:len(head)-1]
		}
		for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
		s = fmt.Sprintf("%s\n… [%d bytes cut] …\n%s", head, len(s)-len(head)-len(tail), tail)
	}
	return show.Visible(strings.ReplaceAll(s, "\r\n", "\n"), true)
}

// part is a part of an answer as it may be shown to a model. One of a kind or a type that does not
// exist is told as text.
func part(p tools.Part) tools.Part {
	p.MIMEType, _, _ = strings.Cut(strings.ToLower(p.MIMEType), ";")
	if !mimeTypes.Get().MatchString(p.MIMEType) {
		p.MIMEType = "application/octet-stream"
	}
	p.Name = show.Clip(show.Visible(p.Name, false), maxTitle)
	switch p.Kind {
	case tools.TextPart:
		return tools.Part{Kind: tools.TextPart, Text: text(p.Text)}
	case tools.ImagePart, tools.DocumentPart:
		return tools.Part{Kind: p.Kind, MIMEType: p.MIMEType, Name: p.Name, Data: p.Data}
	}
	return tools.Part{Kind: tools.TextPart, Text: "[Not shown, since it is of no known kind: " + p.Describe() + "]"}
}
