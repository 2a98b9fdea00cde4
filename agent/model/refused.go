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

// maxRefused is how many tools are left out of one request at most.
const maxRefused = 8

// WithoutRefused gives a model that leaves out a tool which its service refuses, in an error that
// names it, and tries the request again. One odd tool would have every request refused otherwise. A
// Notice names the tool, once.
func WithoutRefused(m Model) Model { return &withoutRefused{Model: m} }

type withoutRefused struct {
	Model
	mu      sync.Mutex
	refused []ToolSpec // for good: without them the service took a request
}

// offered are the tools that the service has not refused, before or just now.
func (m *withoutRefused) offered(all, now []ToolSpec) []ToolSpec {
	m.mu.Lock()
	refused := slices.Concat(m.refused, now)
	m.mu.Unlock()
	if len(refused) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(t ToolSpec) bool { return slices.ContainsFunc(refused, t.Same) })
}

func (m *withoutRefused) Stream(ctx context.Context, r Request, on func(Delta)) (Response, error) {
	all := r.Tools
	var first error
	var now []ToolSpec // refused in this request
	said := false
	say := func() {
		m.mu.Lock()
		m.refused = append(m.refused, now...)
		m.mu.Unlock()
		for _, t := range now {
			on(Delta{Notice: fmt.Sprintf("%s refuses the tool %s, which is left out from now on. %s", m.Name(), t.Name, first.Error())})
		}
		now = nil
	}
	for {
		r.Tools = m.offered(all, now)
		resp, err := m.Model.Stream(ctx, r, func(d Delta) {
			say() // the service has taken the request
			said = said || d.Notice == ""
			on(d)
		})
		refused := -1
		if err != nil && !said && len(now) < maxRefused {
			refused = refusedTool(err, r.Tools)
		}
		if refused < 0 {
			if err == nil {
				say()
			}
			if first != nil && len(now) > 0 {
				err = first // leaving tools out did not help
			}
			return resp, err
		}
		if first == nil {
			first = err
		}
		now = append(now, r.Tools[refused])
	}
}

var toolIndex = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`function_declarations[\[.](\d+)|tools[\[.](\d+)`)
})

// refusedTool gives the index of the tool that an error names, by its name or by its place in the
// request; -1 for none.
func refusedTool(err error, offered []ToolSpec) int {
	var e *Error
	if !errors.As(err, &e) || e.Kind != "http" || e.Status != 400 && e.Status != 422 {
		return -1
	}
	if at := slices.IndexFunc(offered, func(t ToolSpec) bool { return names(e.Message, t.Name) }); at >= 0 {
		return at
	}
	place := -1
	for _, found := range toolIndex().FindAllStringSubmatch(e.Message, -1) {
		if n, err := strconv.Atoi(found[1] + found[2]); err == nil && n < len(offered) && (place < 0 || found[1] != "") {
			place = n
		}
	}
	return place
}

// names says that a message names a tool. A name that is a word of the language counts only where
// it is quoted, or follows the word function or tool.
func names(message, tool string) bool {
	inName := func(b byte) bool {
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
		if i > 0 && inName(message[i-1]) || end < len(message) && inName(message[end]) {
			continue
		}
		before := strings.ToLower(strings.TrimRight(message[:i], " '\"`:(=\\"))
		quoted := i > 0 && strings.IndexByte("'\"`", message[i-1]) >= 0
		if quoted || strings.ContainsAny(tool, "_-") || strings.HasSuffix(before, "function") || strings.HasSuffix(before, "tool") {
			return true
		}
	}
	return false
}
