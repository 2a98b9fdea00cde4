package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/agent/loop"
	"tandem/agent/model"
	"tandem/agent/store"
	"tandem/filetime"
	"tandem/filetime/disk"
	"tandem/tools"
)

// says describes a file's present text to a model; "" for a folder.
func says(ctx context.Context, files filetime.Files, path string) string {
	const most = 8 << 10
	snap, err := files.Read(ctx, path)
	var refusal *filetime.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == filetime.IsDirectory: // of a command or a search
		return ""
	case err != nil:
		return fmt.Sprintf("%s cannot be read now: %v", path, err)
	case !snap.Exists:
		return path + " is not there now."
	case snap.Text.Len() > most:
		return fmt.Sprintf("%s says now (its first %d bytes):\n%s", path, most, strings.ToValidUTF8(snap.Text.Slice(0, most), ""))
	}
	return fmt.Sprintf("%s says now:\n%s", path, snap.Text)
}

// interrupted is the StopReason of a turn whose process crashed.
const interrupted StopReason = "interrupted"

// mender completes an interrupted turn.
type mender struct {
	r      *record
	now    func(path string) string
	read   func(path string) (filetime.Snapshot, error)
	blob   func(hash string) (string, error)
	judged []store.RecoveredIntent
}

// mend gives the missing entries.
func (m mender) mend(past *reading) []store.Entry {
	notices := m.notices(past)
	var more []store.Entry
	own := model.Message{Role: model.Assistant}
	answers := []model.Message{}
	for _, c := range past.order {
		if c.result == nil {
			more = append(more, m.landed(c)...)
			c.result = m.unfinished(c)
			c.phase = "error"
			more = append(more, m.r.entry(c.turn, store.Result, c.ID, "", body{
				Tool: c.tool, Kind: c.kind, Title: c.title, Phase: c.phase, Result: c.result,
			}))
		}
		if c.turn == 0 || c.turn != past.open || past.named[c.ID] {
			continue
		}
		own.Text = c.said
		own.Calls = append(own.Calls, model.Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)})
		answers = append(answers, loop.ResultMessage(c.Call, *c.result))
	}
	if past.open == 0 {
		return append(more, notices...)
	}
	if len(own.Calls) > 0 {
		more = append(more, m.r.entry(past.open, store.Message, "", own.Text, body{Message: &own}))
		for i := range answers {
			more = append(more, m.r.entry(past.open, store.Message, answers[i].CallID, "", body{Message: &answers[i]}))
		}
	}
	for _, w := range past.steered {
		more = append(more, m.r.entry(past.open, store.Message, "", w.shown, body{Message: &w.said}))
	}
	return append(append(more, notices...),
		m.r.entry(past.open, store.Message, "", "", body{Message: &model.Message{Role: model.Assistant, Text: closing(interrupted)}}),
		m.r.entry(past.open, store.End, "", "The program ended during this turn; what was running was not tried again.",
			body{Stop: interrupted}),
	)
}

// landed are entries for the changes of a call that landed but were not stored before the crash, where the file still
// has the text that the call gave it. Buffers cannot be judged; a reverted change is none.
func (m mender) landed(c *pastCall) (out []store.Entry) {
	of := m.of(c.ID)
	for _, path := range paths(of) {
		if slices.ContainsFunc(c.changes, func(e store.Entry) bool { return e.Call == c.ID && pathOf(e) == path }) {
			continue
		}
		now, err := m.read(path)
		first, how := fate(of, path, now, err)
		if how != disk.Landed {
			continue
		}
		op, was := OpEdit, filetime.Snapshot{Exists: first != ""}
		if was.Exists {
			var raw string
			if raw, err = m.blob(first); err == nil {
				was.Text, err = filetime.Decode([]byte(raw))
			}
		}
		switch {
		case err != nil:
			continue
		case c.tool == tools.UndoFile, c.tool == tools.UndoTurn:
			op = OpUndo
		case !was.Exists:
			op = OpCreate
		case !now.Exists:
			op = OpDelete
		}
		out = append(out, m.r.change(c.turn, c.ID, body{Operation: op, Path: path}, was, now))
	}
	return out
}

// of gives the intents of a call.
func (m mender) of(call string) (out []store.RecoveredIntent) {
	for _, j := range m.judged {
		if j.Call == call {
			out = append(out, j)
		}
	}
	return out
}

// paths are the files of intents.
func paths(of []store.RecoveredIntent) (out []string) {
	for _, j := range of {
		for _, f := range j.Files {
			if !slices.Contains(out, f.Path) {
				out = append(out, f.Path)
			}
		}
	}
	return out
}

// fate judges all intents of a call on one file, one of which may revert another, by the file's present text. first is
// the hash before them all.
func fate(of []store.RecoveredIntent, path string, now filetime.Snapshot, err error) (first string, how disk.Outcome) {
	if err != nil {
		return "", disk.Unknown
	}
	says := func(hash string) bool {
		return now.Exists && filetime.Says(now.Text, hash) || !now.Exists && hash == ""
	}
	how = disk.Foreign
	before := false
	for _, j := range slices.Backward(of) {
		for _, f := range slices.Backward(j.Files) {
			switch {
			case f.Path != path:
			case f.Buffer || f.Op == disk.Move || f.BeforeHash == f.AfterHash:
				return "", disk.Unknown
			case j.Outcome != disk.NotLanded && how == disk.Foreign && says(f.AfterHash):
				first, how = f.BeforeHash, disk.Landed
			case j.Outcome != disk.NotLanded && how == disk.Landed && f.AfterHash == first:
				first = f.BeforeHash
			default:
				before = before || says(f.BeforeHash)
			}
		}
	}
	if how == disk.Landed && says(first) || how == disk.Foreign && before {
		how = disk.NotLanded
	}
	return first, how
}

// outcomes describes the outcomes of a call's intents, by file if they differ; "" for none. sure is false if one is
// unknown.
func (m mender) outcomes(of []store.RecoveredIntent) (text string, sure bool) {
	if len(of) == 1 {
		all := of[0].Outcome == disk.Landed || of[0].Outcome == disk.NotLanded
		if all || len(of[0].Files) == 1 && of[0].Outcome != disk.Partly {
			return outcomeOf(of[0]), all
		}
	}
	files := map[disk.Outcome][]string{}
	for _, path := range paths(of) {
		now, err := m.read(path)
		_, how := fate(of, path, now, err)
		files[how] = append(files[how], path)
	}
	var parts []string
	for _, k := range []struct {
		how   disk.Outcome
		words string
	}{
		{disk.Landed, "it is in %s"},
		{disk.NotLanded, "it is not in %s"},
		{disk.Foreign, "%s has changed since"},
		{disk.Unknown, "whether it is in %s cannot be told"},
	} {
		if paths := files[k.how]; len(paths) > 0 {
			parts = append(parts, fmt.Sprintf(k.words, strings.Join(paths, ", ")))
		}
	}
	if len(parts) == 0 {
		return "", false
	}
	text = strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:], len(files[disk.Foreign])+len(files[disk.Unknown]) == 0
}

func pathOf(e store.Entry) string {
	var b body
	_ = json.Unmarshal(e.Body, &b) // read has checked it
	return b.Path
}

// unfinished is the result of a call that the crash interrupted.
func (m mender) unfinished(c *pastCall) *tools.Result {
	if !c.running {
		r := tools.Fail(filetime.Cancelled, "interrupted",
			"The program ended before this call was carried out: nothing was changed. It was not tried again.")
		return &r
	}
	said, sure := m.outcomes(m.of(c.ID))
	text := "The program ended while this call was running"
	if sure {
		text += ", and it was not tried again."
	} else {
		text += ": whether it took effect is not known, and it was not tried again. Look at the present state before you go on."
	}
	if said != "" {
		text += " " + said
	}
	const most = 4
	for i, l := range c.locations {
		if i == most {
			break
		}
		if said := m.now(l.Path); said != "" {
			text += "\n\n" + said
		}
	}
	r := tools.Fail(filetime.Unknown, "interrupted", "%s", text)
	return &r
}

// notices tell the user of interrupted changes: those of calls without a result, and others, such as an undo, whose
// outcome is uncertain.
func (m mender) notices(past *reading) (out []store.Entry) {
	told := map[string]bool{}
	for _, j := range m.judged {
		c, sure := past.calls[j.Call], j.Outcome == disk.Landed || j.Outcome == disk.NotLanded
		if c != nil && c.result != nil || c == nil && sure || slices.Contains(past.noticed, j.ID) || c != nil && told[j.Call] {
			continue
		}
		of := []store.RecoveredIntent{j}
		if c != nil {
			of, told[j.Call] = m.of(j.Call), true
		}
		said, _ := m.outcomes(of)
		text := fmt.Sprintf("The program ended while a change was on its way (%s). %s", j.Tool, said)
		out = append(out, m.r.entry(j.Turn, store.Notice, "", text, body{Intent: j.ID}))
	}
	return out
}

// outcomeOf describes the outcome of an intent, which all its files share, to a model and to the user.
func outcomeOf(j store.RecoveredIntent) string {
	var paths []string
	for _, f := range j.Files {
		paths = append(paths, f.Path)
	}
	files := strings.Join(paths, ", ")
	switch j.Outcome {
	case disk.Landed:
		return fmt.Sprintf("It was carried out in %s before the program ended.", files)
	case disk.NotLanded:
		return fmt.Sprintf("Nothing of it is in %s.", files)
	case disk.Foreign:
		return fmt.Sprintf("%s has changed since then.", files)
	}
	return fmt.Sprintf("Whether it is in %s cannot be told.", files)
}

// closing is the assistant's message of a turn that ended without one.
func closing(stop StopReason) string { return fmt.Sprintf("(The turn ended: %s.)", stop) }
