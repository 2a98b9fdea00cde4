package lspserver_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"tandem/lspserver/conformance"
	"tandem/lspserver/protocol"
)

// TestF051LanguageOfMessages: a host's calls are answered in the language of its user, calls of our own model in English or as the setting
// says; codes, paths and the names of fields are the same in all.
func TestF051LanguageOfMessages(t *testing.T) {
	const arguments = `{"path": "", "lines": 3}`
	const english = "Parameter validation failed:\nunknown parameter \"lines\"; the parameters are path, start_line, end_line, start_column, end_column, offset, limit\npath cannot be empty"
	const chinese = "参数校验失败：\n未知参数 \"lines\"；可用参数为 path, start_line, end_line, start_column, end_column, offset, limit\npath 不能为空"
	answers := map[string]protocol.ToolResult{}
	for _, c := range []struct{ locale, setting, host, model string }{
		{"", "auto", english, english},
		{"de", "auto", english, english},
		{"zh-CN", "auto", chinese, english},
		{"zh-cn", "en", english, english},
		{"", "zh-CN", chinese, chinese},
	} {
		r := start(t, conformance.Options{Locale: c.locale, Settings: map[string]any{"messages": c.setting}}, options(nil))
		id := r.session(nil)
		got := r.call(id, "read_file", arguments)
		var whole protocol.ToolResult
		if err := json.Unmarshal([]byte(got.raw), &whole); err != nil || got.Data != c.host {
			t.Errorf("%+v: the host reads %q, %v", c, got.Data, err)
		}
		for i := range whole.Issues {
			if !strings.Contains(c.host, whole.Issues[i].Message) {
				t.Errorf("%+v: %q", c, whole.Issues[i].Message)
			}
			whole.Issues[i].Message = ""
		}
		whole.Data, whole.Context, whole.Summary, whole.CallID, whole.DurationMs = "", "", "", "", 0
		answers[c.host] = whole
		see := strings.NewReplacer("\n", `\s`, "(", `\(`).Replace(c.model)
		model := r.session(map[string]any{"model": r.script("call read_file " + arguments + "\n\nsee /" + see + "/\nsay Done.\n")})
		if end := r.prompt(model, "go"); end.StopReason != "end_turn" {
			t.Errorf("%+v: the model does not read that: %+v", c, end)
		}
		r.end()
	}
	if !reflect.DeepEqual(answers[english], answers[chinese]) {
		t.Errorf("%+v\n%+v", answers[english], answers[chinese])
	}
}
