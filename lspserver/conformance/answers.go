package conformance

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// hear gets every request and notification of the server in the order of arrival.
func (e *Editor) hear(m message) {
	if e.plain && strings.HasPrefix(m.Method, "tandem/") {
		e.mu.Lock()
		e.violate("%s to a client that knows nothing of it", m.Method)
		e.mu.Unlock()
	}
	if m.ID == nil {
		if e.o.Heard != nil {
			e.o.Heard(m.Method, m.Params)
		}
		return
	}
	switch m.Method {
	case "workspace/applyEdit":
		e.apply(m.ID, m.Params)
	case "tandem/session/requestPermission":
		e.ask(m.ID, m.Params)
	case "tandem/documents/save":
		e.saveAll(m.ID, m.Params)
	case "tandem/documents/resync":
		e.resync(m.ID, m.Params)
	case "workspace/configuration":
		e.configure(m.ID, m.Params)
	case "window/showMessageRequest":
		e.pick(m.ID, m.Params)
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create":
		e.conn.reply(m.ID, nil)
	case "window/showDocument":
		e.conn.reply(m.ID, map[string]any{"success": true})
	default:
		e.invoke(m)
	}
}

func (e *Editor) invoke(m message) {
	if e.o.Invoke == nil {
		e.unserved(m)
		return
	}
	e.background.Go(func() {
		result, err := e.o.Invoke(m.Method, m.Params)
		var refused *RPCError
		switch {
		case errors.As(err, &refused):
			e.conn.fail(m.ID, refused.Code, refused.Message)
		case err != nil:
			e.conn.fail(m.ID, -32603, err.Error())
		default:
			e.conn.reply(m.ID, result)
		}
	})
}

func (e *Editor) unserved(m message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.violate("the server asked for %s", m.Method)
	e.conn.fail(m.ID, -32601, "no such method here: "+m.Method)
}

// ask asks the person, who may take time: what comes meanwhile is not held up.
func (e *Editor) ask(id, params json.RawMessage) {
	var a Ask
	if err := json.Unmarshal(params, &a); err != nil {
		e.conn.fail(id, -32602, err.Error())
		return
	}
	e.mu.Lock()
	e.asks++
	n := e.asks
	e.mu.Unlock()
	e.background.Go(func() {
		choice := "allow_once"
		if e.o.Ask != nil {
			choice = e.o.Ask(n, a)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.flushAll()
		if choice == "cancelled" {
			e.conn.reply(id, map[string]any{"outcome": map[string]any{"outcome": "cancelled"}})
			return
		}
		choice, words, _ := strings.Cut(choice, ":")
		offered := slices.ContainsFunc(a.Options, func(o Offered) bool {
			return o.OptionID == choice
		})
		if !offered {
			e.violate("the option %s was not offered for %s", choice, a.ToolCall.Title)
		}
		answer := map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": choice}}
		if words != "" {
			answer["_meta"] = map[string]any{"tandem": map[string]any{"feedback": words}}
		}
		e.conn.reply(id, answer)
	})
}

func (e *Editor) saveAll(id, params json.RawMessage) {
	var p struct {
		URIs []string `json:"uris"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		e.conn.fail(id, -32602, err.Error())
		return
	}
	type failure struct {
		URI    string `json:"uri"`
		Reason string `json:"reason"`
	}
	saved, failed := []string{}, []failure{}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, uri := range p.URIs {
		d := e.docs[uri]
		if d == nil {
			failed = append(failed, failure{uri, "not open"})
			continue
		}
		if err := e.save(d); err != nil {
			failed = append(failed, failure{uri, err.Error()})
			continue
		}
		if d.openedForEdit {
			e.close(d)
		}
		saved = append(saved, uri)
		e.saved = append(e.saved, d.path)
	}
	e.conn.reply(id, map[string]any{"saved": saved, "failed": failed})
}

func (e *Editor) resync(id, params json.RawMessage) {
	var p struct {
		URI string `json:"uri"`
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := json.Unmarshal(params, &p); err != nil || e.docs[p.URI] == nil {
		e.conn.fail(id, -32602, "not open: "+p.URI)
		return
	}
	d := e.docs[p.URI]
	e.flush(d)
	e.conn.reply(id, map[string]any{"text": d.text, "version": d.version})
}

func (e *Editor) configure(id, params json.RawMessage) {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		e.conn.fail(id, -32602, err.Error())
		return
	}
	answers := make([]any, len(p.Items))
	for i, item := range p.Items {
		if item.Section == "tandem" {
			answers[i] = e.o.Config
		}
	}
	e.conn.reply(id, answers)
}

func (e *Editor) pick(id, params json.RawMessage) {
	var p struct {
		Message string `json:"message"`
		Actions []struct {
			Title string `json:"title"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		e.conn.fail(id, -32602, err.Error())
		return
	}
	var titles []string
	for _, a := range p.Actions {
		titles = append(titles, a.Title)
	}
	e.background.Go(func() {
		choice := ""
		if e.o.Pick != nil {
			choice = e.o.Pick(p.Message, titles)
		}
		if choice == "" {
			e.conn.reply(id, nil)
			return
		}
		e.conn.reply(id, map[string]any{"title": choice})
	})
}
