package model

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// maxRefusedTools limits the tools left out of one request.
const maxRefusedTools = 8

// WithoutRefused returns a model that retries a request without the tool that the service's error
// names. Otherwise one tool with an unsupported schema would fail every request. A Notice names the
// tool once.
func WithoutRefused(m Model) Model { return &toolFilter{Model: m} }

type toolFilter struct {
	Model
	mu      sync.Mutex
	refused []ToolSpec // confirmed: the service accepted a request without them
}

// withoutRefusedTools filters out the tools that the service has refused, before or in this
// request.
func (m *toolFilter) withoutRefusedTools(all, suspects []ToolSpec) []ToolSpec {
	m.mu.Lock()
	refused := slices.Concat(m.refused, suspects)
	m.mu.Unlock()
	if len(refused) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(t ToolSpec) bool { return slices.ContainsFunc(refused, t.Same) })
}

func (m *toolFilter) Stream(ctx context.Context, r Request, on func(Delta)) (Response, error) {
	all := r.Tools
	var first error
	var suspects []ToolSpec // refused in this request
	hasOutput := false
	confirm := func() {
		m.mu.Lock()
		m.refused = append(m.refused, suspects...)
		m.mu.Unlock()
		for _, t := range suspects {
			on(Delta{Notice: fmt.Sprintf("%s refuses the tool %s, which is left out from now on. %s", m.Name(), t.Name, first.Error())})
		}
		suspects = nil
	}
	for {
		r.Tools = m.withoutRefusedTools(all, suspects)
		resp, err := m.Model.Stream(ctx, r, func(d Delta) {
			confirm() // the service accepted the request
			hasOutput = hasOutput || d.Notice == ""
			on(d)
		})
		refused := -1
		if err != nil && !hasOutput && len(suspects) < maxRefusedTools {
			refused = refusedTool(err, r.Tools)
		}
		if refused < 0 {
			if err == nil {
				confirm()
			}
			if first != nil && len(suspects) > 0 {
				err = first // leaving tools out did not help
			}
			return resp, err
		}
		if first == nil {
			first = err
		}
		suspects = append(suspects, r.Tools[refused])
	}
}

var toolIndex = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`function_declarations[\[.](\d+)|tools[\[.](\d+)`)
})

// refusedTool returns the index of the tool that an error names, by its name or by its index in the
// request; -1 for none.
func refusedTool(err error, offered []ToolSpec) int {
	var e *Error
	if !errors.As(err, &e) || e.Kind != "http" || e.Status != 400 && e.Status != 422 {
		return -1
	}
	if at := slices.IndexFunc(offered, func(t ToolSpec) bool { return namesTool(e.Message, t.Name) }); at >= 0 {
		return at
	}
	index := -1
	for _, found := range toolIndex().FindAllStringSubmatch(e.Message, -1) {
		if n, err := strconv.Atoi(found[1] + found[2]); err == nil && n < len(offered) && (index < 0 || found[1] != "") {
			index = n
		}
	}
	return index
}

// namesTool reports whether a message names a tool. A name that is an ordinary word counts only in
// quotes, or after the word function or tool.
func namesTool(message, tool string) bool {
	isNameByte := func(b byte) bool {
		return b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
	}
	for at := 0; tool != ""; {
		i := strings.Index(message[at:], tool)
		if i < 0 {
			return false
		}
		i += at
		end := i + len(tool)
		at = i + 1
		if i > 0 && isNameByte(message[i-1]) || end < len(message) && isNameByte(message[end]) {
			continue
		}
		before := strings.ToLower(strings.TrimRight(message[:i], " '\"`:(=\\"))
		isQuoted := i > 0 && strings.IndexByte("'\"`", message[i-1]) >= 0
		if isQuoted || strings.ContainsAny(tool, "_-") || strings.HasSuffix(before, "function") || strings.HasSuffix(before, "tool") {
			return true
		}
	}
	return false
}
