package agent

import (
	"encoding/json"
	"time"

	"tandem/agent/store"
	"tandem/tools"
	"tandem/tools/run"
)

// DeadLetter is a call that failed for good, see run.Record.Dead.
type DeadLetter struct {
	ID            int64
	Time          time.Time
	Session, Call string
	letter
	// Shown are the arguments as they may be shown: what looks like a secret is redacted, and long texts are cut.
	Shown json.RawMessage
}

// letter is the JSON of a dead letter.
type letter struct {
	Turn int    `json:"turn,omitzero"`
	Tool string `json:"tool"`
	// Args are the arguments that the model or the host sent, to make the call again; nil where they were too long to be kept.
	Args json.RawMessage `json:"args,omitempty"`
	// Error is the code, Reason its detail, and Message the first lines of what the model read.
	Error    string        `json:"error"`
	Reason   string        `json:"reason,omitempty"`
	Message  string        `json:"message"`
	Attempts int           `json:"attempts"`
	Trace    []tools.Stage `json:"trace"`
}

const (
	// maxLetterArgs is how many bytes of arguments are kept to make a call again, maxLetterMessage of the message.
	maxLetterArgs    = 64 << 10
	maxLetterMessage = 2 << 10
)

// letter is the entry of a call that failed for good; ok is false for others.
func (a auditor) letter(r run.Record) (e store.Entry, ok bool) {
	if !r.Dead() {
		return e, false
	}
	l := letter{
		Turn: a.turn, Tool: r.Tool, Args: r.Call.Arguments, Error: string(r.Result.Error), Reason: r.Result.Reason,
		Message: clipAtWord(r.Result.Data, maxLetterMessage), Attempts: r.Attempts, Trace: r.Trace,
	}
	if len(l.Args) > maxLetterArgs || !json.Valid(l.Args) {
		l.Args = nil
	}
	raw, err := json.Marshal(l)
	if err != nil {
		a.log.Error("a dead letter does not marshal", "error", err)
		return e, false
	}
	return store.Entry{Time: r.Began, Kind: store.DeadLetter, Call: r.Call.ID, Body: raw}, true
}

// DeadLetters gives the dead letters of a store, the newest first. redact takes secrets out of what is shown; nil takes none out.
func DeadLetters(st store.Store, redact func([]byte) []byte) (out []DeadLetter, err error) {
	found, err := st.DeadLetters()
	if err != nil {
		return nil, err
	}
	shown := auditor{redact: redact}
	for _, f := range found {
		d := DeadLetter{ID: f.ID, Time: f.Time, Session: f.Session, Call: f.Call}
		if err := json.Unmarshal(f.Body, &d.letter); err != nil {
			return nil, err
		}
		d.Shown = json.RawMessage("null")
		if d.Args != nil {
			d.Shown = shown.arguments(d.Args)
		}
		if redact != nil {
			d.Message = string(redact([]byte(d.Message)))
		}
		out = append(out, d)
	}
	return out, nil
}
