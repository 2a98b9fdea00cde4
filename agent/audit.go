package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"tandem/agent/store"
	"tandem/tools/run"
)

// Who is on whose behalf a session makes its calls.
type Who struct {
	// User is the person's account, Client the program at the other end, such as an editor.
	User, Client string
}

// Audited is what the audit has of one call. What looks like a secret is redacted, and long arguments are cut.
type Audited struct {
	Time    time.Time `json:"time"`
	Session string    `json:"sessionId"`
	Call    string    `json:"callId"`
	// Pending says that no end of the call is kept: it runs, or its process ended before it.
	Pending bool `json:"pending,omitzero"`
	// Args are JSON; nil once the session was deleted.
	Args json.RawMessage `json:"args,omitempty"`
	auditBody
}

// auditBody is the JSON of a record of the audit.
type auditBody struct {
	// Phase is intent or outcome.
	Phase  string `json:"phase"`
	Turn   int    `json:"turn,omitzero"`
	User   string `json:"user,omitempty"`
	Client string `json:"client,omitempty"`
	Tool   string `json:"tool"`
	// ArgsHash is the SHA-256 of the arguments before they were redacted, ResultHash that of the text that the model reads.
	ArgsHash   string `json:"argsHash"`
	ResultHash string `json:"resultHash,omitempty"`
	Allowed    bool   `json:"allowed"`
	Rule       string `json:"rule,omitempty"`
	Layer      string `json:"layer,omitempty"`
	Sandbox    string `json:"sandbox,omitempty"`
	DurationUs int64  `json:"durationUs,omitzero"`
	Error      string `json:"error,omitempty"`
}

const intent, outcome = "intent", "outcome"

// auditor implements run.Audit for the calls of one turn. The records go where the session's entries go, in the same transactions: an
// intent is written before the call goes on, an outcome together with the call's result.
type auditor struct {
	*record
	who    Who
	turn   int
	redact func([]byte) []byte
}

// Intend implements run.Audit. A change of files is synced by the journal, before it happens; anything else is synced here.
func (a auditor) Intend(r run.Record) error {
	entries := []store.Entry{a.entryOf(r, intent)}
	if r.Plan != nil {
		b := body{Tool: r.Tool, Kind: r.Plan.Kind, Title: r.Plan.Title, Locations: places(r.Plan)}
		entries = append(entries, a.entry(a.turn, store.Running, r.Call.ID, "", b))
	}
	return a.intend(r.Plan == nil || r.Plan.Change == nil, entries)
}

// Ended implements run.Audit.
func (a auditor) Ended(r run.Record) {
	entries := []store.Entry{a.entryOf(r, outcome)}
	if dead, ok := a.letter(r); ok {
		entries = append(entries, dead)
	}
	a.soon(entries...)
}

func (a auditor) entryOf(r run.Record, phase string) store.Entry {
	b := auditBody{
		Phase: phase, Turn: a.turn, User: a.who.User, Client: a.who.Client, Tool: clipAtWord(strings.ToValidUTF8(r.Tool, "\uFFFD"), 100),
		ArgsHash: sum(string(r.Args)), Allowed: r.Allowed, Rule: r.Rule, Layer: r.Layer, Sandbox: r.Sandbox,
		DurationUs: r.Duration.Microseconds(),
	}
	if r.Result != nil {
		b.ResultHash, b.Error = sum(r.Result.Data), string(r.Result.Error)
	}
	raw, err := json.Marshal(b)
	if err != nil {
		a.log.Error("a record of the audit does not marshal", "error", err)
	}
	return store.Entry{Time: r.Began, Kind: store.Audit, Call: r.Call.ID, Body: raw, Text: string(a.arguments(r.Args))}
}

// sum is the SHA-256 of a text, of which it makes no copy.
func sum(text string) string {
	h := sha256.New()
	piece := make([]byte, 512)
	for rest := text; rest != ""; {
		n := copy(piece, rest)
		h.Write(piece[:n])
		rest = rest[n:]
	}
	return hex.EncodeToString(h.Sum(nil))
}

const (
	// maxArgument is how many bytes of one text among the arguments are kept, maxArguments of all.
	maxArgument  = 2 << 10
	maxArguments = 8 << 10
)

// arguments are arguments to keep, redacted: JSON, where they are none as a text.
func (a auditor) arguments(raw json.RawMessage) json.RawMessage {
	short := raw
	if len(raw) > maxArgument || !json.Valid(raw) {
		var v any
		if json.Unmarshal(raw, &v) != nil {
			v = string(raw)
		}
		short, _ = json.Marshal(shortened(v)) //nolint:errchkjson // it came out of JSON
		if len(short) > maxArguments {
			short, _ = json.Marshal(clipAtWord(string(raw), maxArgument))
		}
	}
	if a.redact == nil {
		return short
	}
	clean := a.redact(short)
	if !json.Valid(clean) {
		clean, _ = json.Marshal(string(clean))
	}
	return clean
}

// shortened cuts the texts in a value of JSON.
func shortened(v any) any {
	switch v := v.(type) {
	case string:
		return clipAtWord(v, maxArgument)
	case []any:
		for i := range v {
			v[i] = shortened(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = shortened(v[k])
		}
	}
	return v
}

// clipAtWord cuts a text, at the end of a word where possible: a key that was cut apart would not be recognised as one.
func clipAtWord(s string, most int) string {
	if len(s) <= most {
		return s
	}
	cut := s[:most]
	if i := strings.LastIndexAny(cut, " \t\r\n\"'`,;:=()[]{}<>|&"); i > most/2 {
		cut = cut[:i]
	}
	for !utf8.ValidString(cut) && len(cut) > 0 && len(s[:most])-len(cut) < utf8.UTFMax {
		cut = cut[:len(cut)-1]
	}
	return cut + "…"
}

// AuditQuery selects calls of the audit. Empty fields select all.
type AuditQuery struct {
	Session string
	Since   time.Time
	// Limit is how many of the newest calls are given.
	Limit int
}

// ReadAudit gives what the audit of a store has of the calls that q selects, in the order in which they ended; those without an end
// stand where they began.
func ReadAudit(st store.Store, q AuditQuery) (found []Audited, err error) {
	type id struct{ session, call string }
	known := map[id]bool{}
	var broken error
	err = st.AuditRecords(store.AuditQuery{Session: q.Session, Since: q.Since}, func(r store.AuditRecord) bool {
		a := Audited{Time: r.Time, Session: r.Session, Call: r.Call}
		if r.Text != "" {
			a.Args = json.RawMessage(r.Text)
		}
		if broken = json.Unmarshal(r.Body, &a.auditBody); broken != nil {
			return false
		}
		of := id{r.Session, r.Call}
		if a.Pending = a.Phase == intent; a.Pending && known[of] { // a call that asks again has another intent
			return true
		}
		known[of] = true
		found = append(found, a)
		return q.Limit <= 0 || len(found) < q.Limit
	})
	if err = cmp.Or(err, broken); err != nil {
		return nil, err
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found, nil
}

// errNotKept is why nothing can be kept of a session any more.
var errNotKept = errors.New("the session belongs to another process by now, or was deleted, so nothing can be recorded")
