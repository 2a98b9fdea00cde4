// Package script is a scripted model. It needs no network, so it is for demonstrations and tests.
//
// A script is lines. A blank line ends a message; each message answers one request.
//
//	say TEXT        streams text; a further say of the same message begins a new line
//	think TEXT      streams a thought
//	call NAME JSON  calls a tool; several calls of one message are made together
//	see /REGEXP/    fails the turn unless the conversation so far matches
//	wait 200ms      pauses the stream
//	stop REASON     ends the message with end_turn, max_tokens or refusal, or with error as a broken stream does
//
// A script that has run out says so and ends the turn.
package script

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"tandem/agent/model"
)

// Script is a parsed script. It is immutable, so models may share it.
type Script struct{ messages [][]step }

// step is one parsed line.
type step struct {
	line int
	text string // the line itself

	word string
	arg  string // text, tool name or reason
	json string
	see  *regexp.Regexp
	wait time.Duration
}

// ParseError is a syntax error in a line.
type ParseError struct {
	Line    int
	Message string
}

func (e *ParseError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Parse reads a script. The error is a *ParseError.
func Parse(text string) (*Script, error) {
	s := &Script{}
	open := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" {
			open = false
			continue
		}
		st, err := parseLine(line)
		if err != nil {
			return nil, &ParseError{i + 1, err.Error()}
		}
		st.line = i + 1
		if !open {
			s.messages = append(s.messages, nil)
			open = true
		}
		last := &s.messages[len(s.messages)-1]
		if n := len(*last); n > 0 && (*last)[n-1].word == "stop" {
			return nil, &ParseError{i + 1, "nothing can follow stop in a message"}
		}
		*last = append(*last, st)
	}
	return s, nil
}

func parseLine(line string) (step, error) {
	word, arg := strings.TrimLeft(line, " \t"), ""
	if i := strings.IndexAny(word, " \t"); i >= 0 {
		word, arg = word[:i], word[i+1:]
	}
	st := step{text: line, word: word, arg: arg}
	switch word {
	case "say", "think":
	case "call":
		st.arg, st.json, _ = strings.Cut(strings.TrimSpace(arg), " ")
		st.json = strings.TrimSpace(st.json)
		if st.arg == "" {
			return st, fmt.Errorf("call needs the name of a tool")
		}
		if st.json == "" {
			st.json = "{}"
		}
		if !json.Valid([]byte(st.json)) || st.json[0] != '{' {
			return st, fmt.Errorf("the arguments of %s are no JSON object: %s", st.arg, st.json)
		}
	case "see":
		arg = strings.TrimSpace(arg)
		if len(arg) < 3 || arg[0] != '/' || arg[len(arg)-1] != '/' {
			return st, fmt.Errorf("see needs a /regular expression/")
		}
		var err error
		if st.see, err = regexp.Compile(arg[1 : len(arg)-1]); err != nil {
			return st, err
		}
	case "wait":
		var err error
		if st.wait, err = time.ParseDuration(strings.TrimSpace(arg)); err != nil || st.wait < 0 {
			return st, fmt.Errorf("wait needs a time such as 200ms, not %q", arg)
		}
	case "stop":
		st.arg = strings.TrimSpace(arg)
		reasons := []string{string(model.StopEnd), string(model.StopMaxTokens), string(model.StopRefusal), stopError}
		if !slices.Contains(reasons, st.arg) {
			return st, fmt.Errorf("stop needs one of %s, not %q", strings.Join(reasons, ", "), st.arg)
		}
	default:
		return st, fmt.Errorf("%q is none of say, think, call, see, wait and stop", word)
	}
	return st, nil
}

const stopError = "error"
