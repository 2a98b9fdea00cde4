package conformance

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

const (
	applyEdit          = "workspace.applyEdit"
	documentChanges    = "workspace.workspaceEdit.documentChanges"
	resourceOperations = "workspace.workspaceEdit.resourceOperations"
)

// row is one thing that a client is looked at for.
type row struct {
	name, what string
	scenarios  []string // nil for all that end the same in any editor
	needs      []string // capabilities, with "=" before a value that a list must hold
	otherwise  string   // what Tandem does for a client that did not declare them
	judge      func(plays []*playing) (Verdict, string)
}

// find says how the client did in the scenarios of the row.
func (r row) find(plays []*playing) Finding {
	f := Finding{Name: r.name, What: r.what, Scenarios: r.scenarios, Tandem: outcome(plays)}
	for _, need := range r.needs {
		if !declares(plays[0].seen, need) {
			f.Verdict = Unsupported
			f.Reason = fmt.Sprintf("%s is not declared: %s", strings.Replace(need, "=", " ", 1), r.otherwise)
			return f
		}
	}
	for _, p := range plays {
		if len(p.seen.asked) == 0 && len(r.scenarios) < 3 && slices.Contains(r.needs, applyEdit) {
			f.Verdict, f.Reason = Fail, p.Scenario+" was not played to its end"
			return f
		}
	}
	f.Verdict, f.Reason = r.judge(plays)
	return f
}

func declares(o *observed, need string) bool {
	where, value, listed := strings.Cut(need, "=")
	have := o.capability(strings.Split(where, ".")...)
	if list, ok := have.([]any); listed {
		return ok && slices.Contains(list, any(value))
	}
	return have != nil && have != false
}

// rows are all that a client is looked at for.
func rows() []row {
	apply := []string{applyEdit, documentChanges}
	with := func(more ...string) []string { return append(slices.Clone(apply), more...) }
	const toDisk = "Tandem writes closed and saved files itself and refuses to change unsaved text"
	return []row{
		{
			"version-check", "an edit for an older text is not put into a newer one",
			[]string{"stale/keys_while_edit_flies"},
			apply, toDisk, checked,
		},
		{
			"same-tick", "no key comes between the look at the version and the edit",
			[]string{"stale/keys_while_edit_flies", "conformance/key_right_after_arrival", "conformance/typing_burst"},
			apply, toDisk, checked,
		},
		{
			"typing-stays", "what is typed while an edit is under way is there after it",
			[]string{"stale/keys_while_edit_flies", "conformance/key_right_after_arrival", "conformance/typing_burst"},
			apply, toDisk, typingStays,
		},
		{
			"every-document", "an edit of two documents counts the version of each",
			[]string{"conformance/every_document"},
			apply, toDisk, everyDocument,
		},
		{
			"honest", `"applied" is true where the text then shows the edit, and nowhere else`,
			[]string{"stale/keys_while_edit_flies", "conformance/typing_burst"},
			apply, toDisk, honest,
		},
		{
			"undo", "an edit of several places is one step of the editor's undo",
			[]string{"edit/F155_replace_all"},
			apply, toDisk, oneStep,
		},
		{
			"echo", "an edit that was applied is told of by didChange",
			[]string{"edit/F155_replace_all"},
			apply, toDisk, echoed,
		},
		{
			"echo-first", "the didChange comes before the answer",
			[]string{"edit/F155_replace_all"},
			apply, toDisk, echoFirst,
		},
		{
			"order", "changes come in the order of their versions",
			[]string{"stale/keys_while_edit_flies", "conformance/key_right_after_arrival", "conformance/typing_burst"},
			nil, "", ordered,
		},
		{
			"landed", "the answer names the version that the edit made",
			[]string{"edit/F155_replace_all", "stale/keys_while_edit_flies"},
			with("experimental.tandem.landed"), "Tandem searches what didChange tells for the edit", named,
		},
		{
			"annotations", "edits with a label and change annotations are applied",
			[]string{"edit/F155_replace_all"},
			with(capabilities()["annotations"]), "Tandem sends none", annotated,
		},
		{
			"create", "a new file is made with its text",
			[]string{"edit/F151_write_new_file"},
			with(resourceOperations+"=create", "experimental.tandem.save"),
			"Tandem makes new files itself", operated("create"),
		},
		{
			"delete", "a file is deleted when its making is undone",
			[]string{"dirty/F180_F194_undo_turn"},
			with(resourceOperations+"=delete", "experimental.tandem.save"),
			"Tandem deletes files itself", operated("delete"),
		},
		{
			"rename", "a file is renamed, and unsaved text comes along",
			[]string{"conformance/rename"},
			with(resourceOperations + "=rename"), "Tandem has to go without", renamed,
		},
		{
			"save", "documents are saved when they are asked for",
			[]string{"edit/F240_closed_file_through_editor"},
			with("experimental.tandem.save"),
			"Tandem writes closed files itself", saved,
		},
		{
			"closed", "a file that is not open is edited, saved and not left open",
			[]string{"edit/F240_closed_file_through_editor"},
			with("experimental.tandem.save"),
			"Tandem writes closed files itself", closed,
		},
		{
			"closed-meanwhile", "an edit for a document that was closed is refused",
			[]string{"stale/closed_in_flight"},
			apply, toDisk, closedMeanwhile,
		},
		{
			"permission", "a question for permission is answered with one of its options",
			[]string{"permission/F204_allowed"},
			[]string{"experimental.tandem.permission"},
			"Tandem asks with window/showMessageRequest, or takes it for a no", permitted,
		},
		{
			"cancel", "a turn can be cancelled, and what has landed stays",
			[]string{"cancel/between_calls"},
			nil, "", cancelled,
		},
		{
			"positions", "positions are in the encoding that was agreed",
			[]string{"conformance/positions"},
			nil, "", positions,
		},
		{
			"surrogates", "a character outside the basic plane is two units of UTF-16",
			[]string{"conformance/surrogates"},
			nil, "", surrogates,
		},
		{
			"line-ends", "a file with CRLF keeps it, in lines of the agent's too",
			[]string{"conformance/line_ends"},
			apply, toDisk, lineEnds("the file was saved with the line ends that it had"),
		},
		{
			"mixed-line-ends", "a file with both kinds of line ends keeps each line's own",
			[]string{"conformance/mixed_line_ends"},
			apply, toDisk, lineEnds("each line kept its own"),
		},
		{
			"resync", "tandem/documents/resync gives the text and the version of a document",
			[]string{"conformance/resync"},
			[]string{"experimental.tandem.resync"},
			"Tandem waits for the next whole text, by didSave or didOpen", resynced,
		},
		{
			"nothing-lost", "every key and every edit that landed is in the text, once",
			nil, apply, toDisk, nothingLost,
		},
	}
}

// trouble words what kept a client from doing what it was asked, "" where it says that it did.
func (a *asked) trouble() string {
	switch {
	case a.failed != nil:
		return "it answered with an error: " + a.failed.Message
	case a.answered < 0:
		return "it did not answer"
	case !a.applied:
		return "it refused"
	}
	return ""
}

// edits are the text edits that were sent in the plays.
func edits(plays []*playing) (all []*asked, of []*playing) {
	for _, p := range plays {
		for _, a := range p.seen.asked {
			if a.change.Kind == "" && len(a.change.Edits) > 0 {
				all, of = append(all, a), append(of, p)
			}
		}
	}
	return all, of
}

func checked(plays []*playing) (Verdict, string) {
	stale := 0
	all, of := edits(plays)
	for i, a := range all {
		if a.undone {
			return Fail, fmt.Sprintf("an edit for version %d brought the text of that version back", *a.change.TextDocument.Version)
		}
		if a.moved {
			return Fail, fmt.Sprintf("an edit for version %d was put into a later text", *a.change.TextDocument.Version)
		}
		if of[i].seen.stale(a) {
			stale++
		}
	}
	if stale == 0 {
		return Unsupported, "no key came in between, so that nothing could be seen"
	}
	return Pass, fmt.Sprintf("%d of %d edits were for an older text, and none was put into a newer one", stale, len(all))
}

func typingStays(plays []*playing) (Verdict, string) {
	shown := 0
	all, of := edits(plays)
	for i, a := range all {
		if a.undone {
			return Fail, fmt.Sprintf("with an edit for version %d went what had been typed since", *a.change.TextDocument.Version)
		}
		if a.echo >= 0 && of[i].seen.stale(a) {
			shown++
		}
	}
	return Pass, fmt.Sprintf("%d of %d edits came over keys, and took none away", shown, len(all))
}

func everyDocument(plays []*playing) (Verdict, string) {
	all, _ := edits(plays)
	for _, a := range all {
		switch {
		case a.echo >= 0:
			name := filepath.Base(FromURI(a.change.TextDocument.URI))
			return Fail, fmt.Sprintf("one version was old, and %s was changed all the same", name)
		case a.applied:
			return Fail, "it said that the edit was applied"
		case a.trouble() != "it refused":
			return Fail, a.trouble()
		}
	}
	return Pass, "one version was old, and nothing was changed"
}

func honest(plays []*playing) (Verdict, string) {
	all, _ := edits(plays)
	for _, a := range all {
		switch {
		case a.applied && a.echo < 0:
			return Fail, fmt.Sprintf("an edit for version %d was said to be applied, and the text does not show it",
				*a.change.TextDocument.Version)
		case a.answered < 0:
			return Fail, "an edit got no answer"
		case !a.applied && a.echo >= 0:
			return Fail, "an edit was said not to be applied, and the text shows it"
		}
	}
	return Pass, fmt.Sprintf("the answers to %d edits are what the text shows", len(all))
}

func oneStep(plays []*playing) (Verdict, string) {
	for _, p := range plays {
		for _, a := range p.seen.asked {
			if a.echo < 0 {
				continue
			}
			last := p.seen.now(a.change.TextDocument.URI, len(p.wire))
			if last.text == a.before.text {
				return Pass, fmt.Sprintf("one undo took all %d places back", len(a.change.Edits))
			}
			return Fail, fmt.Sprintf("one undo did not take all %d places back", len(a.change.Edits))
		}
	}
	return Fail, "no didChange shows an edit"
}

func echoed(plays []*playing) (Verdict, string) {
	n := 0
	all, _ := edits(plays)
	for _, a := range all {
		if a.applied && a.echo < 0 {
			return Fail, "no didChange shows an edit that was said to be applied"
		}
		if a.echo >= 0 {
			n++
		}
	}
	if n == 0 {
		return Fail, "no didChange shows an edit"
	}
	return Pass, fmt.Sprintf("didChange shows %d of %d edits", n, len(all))
}

// echoFirst is a courtesy: LSP does not ask for it.
func echoFirst(plays []*playing) (Verdict, string) {
	first, n := 0, 0
	all, _ := edits(plays)
	for _, a := range all {
		if a.echo >= 0 && a.answered >= 0 {
			if n++; a.echo < a.answered {
				first++
			}
		}
	}
	if n == 0 || first < n {
		return Unsupported, fmt.Sprintf("in %d of %d edits the answer came first; Tandem waits for the didChange", n-first, n)
	}
	return Pass, fmt.Sprintf("in %d of %d edits", first, n)
}

func ordered(plays []*playing) (Verdict, string) {
	swapped := 0
	for _, p := range plays {
		swapped += p.seen.swapped
	}
	if swapped > 0 {
		return Fail, fmt.Sprintf("%d changes came before the one that they follow", swapped)
	}
	return Pass, "each came after the one that it follows"
}

// named looks whether the version that an answer names is that of the didChange which shows the edit.
func named(plays []*playing) (Verdict, string) {
	n := 0
	all, of := edits(plays)
	for i, a := range all {
		if !a.applied || a.echo < 0 {
			continue
		}
		var answer applyResult
		_ = json.Unmarshal(a.result, &answer)
		version, shown := int32(-1), int32(0)
		if answer.Tandem != nil {
			for _, v := range answer.Tandem.Versions {
				if v.URI == a.change.TextDocument.URI {
					version = v.Version
				}
			}
		}
		for _, s := range of[i].seen.states {
			if s.at == a.echo {
				shown = s.version
			}
		}
		switch {
		case version < 0:
			return Fail, "an answer names no version of the document"
		case version != shown:
			return Fail, fmt.Sprintf("an answer names version %d, and the edit is version %d", version, shown)
		}
		n++
	}
	if n == 0 {
		return Unsupported, "no edit was applied"
	}
	return Pass, fmt.Sprintf("%d of %d edits", n, len(all))
}

func annotated(plays []*playing) (Verdict, string) {
	all, _ := edits(plays)
	why := "none came"
	for _, a := range all {
		switch {
		case !a.marked:
			return Unsupported, "Tandem sent none"
		case a.applied && a.echo >= 0:
			return Pass, "applied; whether a person is shown them cannot be seen here"
		}
		why = cmp.Or(a.trouble(), "such an edit was not applied")
	}
	return Fail, why
}

// operated judges file operations of one kind by what is then on disk.
func operated(kind string) func(plays []*playing) (Verdict, string) {
	return func(plays []*playing) (Verdict, string) {
		v, why := Unsupported, "Tandem did not ask for it"
		for _, p := range plays {
			for _, a := range p.seen.asked {
				if a.change.Kind != kind {
					continue
				}
				name := p.name(a.change.URI)
				_, there := p.report.disk[name]
				if why = a.trouble(); why == "" && there == (kind == "create") {
					return Pass, name
				}
				v, why = Fail, cmp.Or(why, name+" is not on disk as it should be")
			}
		}
		return v, why
	}
}

// name is a file's path below the workspace.
func (p *playing) name(uri string) string {
	rel, err := filepath.Rel(p.root, FromURI(uri))
	if err != nil {
		return uri
	}
	return filepath.ToSlash(rel)
}

func renamed(plays []*playing) (Verdict, string) {
	for _, p := range plays {
		for _, a := range p.seen.asked {
			from, to := p.name(a.change.OldURI), p.name(a.change.NewURI)
			_, left := p.report.disk[from]
			_, made := p.report.disk[to]
			was, is := state{}, p.seen.now(a.change.NewURI, len(p.wire))
			for _, s := range p.seen.states {
				if s.uri == a.change.OldURI && s.open {
					was = s
				}
			}
			switch {
			case a.trouble() != "":
				return Fail, a.trouble()
			case left || !made:
				return Fail, "the file is not where it should be"
			case p.seen.now(a.change.OldURI, len(p.wire)).open:
				return Fail, "the old document was not closed"
			case !is.open || is.text != was.text:
				return Fail, "the unsaved text did not come along"
			}
		}
	}
	return Pass, "the file is where it should be, and so is the unsaved text"
}

func (p *playing) asks(method string) []request {
	return slices.DeleteFunc(slices.Clone(p.seen.requests), func(r request) bool { return r.method != method })
}

func saved(plays []*playing) (Verdict, string) {
	n := 0
	for _, p := range plays {
		for _, r := range p.asks("tandem/documents/save") {
			var want struct{ URIs []string }
			var got struct{ Saved []string }
			if r.failed != nil {
				return Fail, "it answered with an error: " + r.failed.Message
			}
			if json.Unmarshal(r.params, &want) != nil || json.Unmarshal(r.result, &got) != nil {
				return Fail, fmt.Sprintf("an answer that cannot be read: %s", r.result)
			}
			for _, uri := range want.URIs {
				name, text := p.name(uri), p.seen.now(uri, len(p.wire)).text
				if !slices.Contains(got.Saved, uri) {
					return Fail, name + " was not saved"
				}
				if p.report.disk[name] != text && text != "" {
					return Fail, name + " was said to be saved, and the disk has another text"
				}
				n++
			}
		}
	}
	if n == 0 {
		return Unsupported, "Tandem did not ask for it"
	}
	return Pass, fmt.Sprintf("%d of %d", n, n)
}

func closed(plays []*playing) (Verdict, string) {
	all, of := edits(plays)
	how, applied := "written without being opened", false
	for i, a := range all {
		last := of[i].seen.now(a.change.TextDocument.URI, len(of[i].wire))
		switch applied = applied || a.applied; {
		case last.open:
			return Fail, "the document stays open"
		case last.at > 0:
			how = "opened for the edit, saved and closed again"
		}
	}
	switch wrong := sure(plays); {
	case !applied:
		return Fail, "an edit of a file that is not open was not applied"
	case wrong != "":
		return Fail, wrong
	}
	return Pass, how
}

func closedMeanwhile(plays []*playing) (Verdict, string) {
	all, of := edits(plays)
	for i, a := range all {
		gone := slices.ContainsFunc(of[i].seen.states, func(s state) bool {
			return !s.open && s.uri == a.change.TextDocument.URI && s.at > a.at && s.at < a.answered
		})
		switch {
		case a.change.TextDocument.Version == nil || !gone:
		case a.applied:
			return Fail, "it was applied to the file"
		case a.trouble() != "it refused":
			return Fail, a.trouble()
		default:
			return Pass, "refused"
		}
	}
	return Unsupported, "the document was not closed in time"
}

func permitted(plays []*playing) (Verdict, string) {
	asks := plays[0].asks("tandem/session/requestPermission")
	if len(asks) == 0 {
		return Fail, "nothing was asked"
	}
	type option struct{ OptionID string }
	var q struct{ Options []option }
	var a struct {
		Outcome struct{ Outcome, OptionID string }
	}
	r := asks[0]
	if r.failed != nil {
		return Fail, "it answered with an error: " + r.failed.Message
	}
	if json.Unmarshal(r.params, &q) != nil || json.Unmarshal(r.result, &a) != nil {
		return Fail, fmt.Sprintf("an answer that cannot be read: %s", r.result)
	}
	offered := slices.Contains(q.Options, option{a.Outcome.OptionID})
	if a.Outcome.Outcome != "cancelled" && !offered {
		return Fail, fmt.Sprintf("%q is none of the options", a.Outcome.OptionID)
	}
	return Pass, cmp.Or(a.Outcome.OptionID, a.Outcome.Outcome)
}

func cancelled(plays []*playing) (Verdict, string) {
	for _, p := range plays {
		at, ok := p.seen.notified["tandem/session/cancel"]
		if !ok {
			return Fail, "tandem/session/cancel did not come"
		}
		if !strings.Contains(p.report.Goldens["@updates"], "\ncancelled\n") {
			return Fail, "the turn did not end with it"
		}
		for _, a := range p.seen.asked {
			if a.at > at {
				return Fail, "an edit came after it"
			}
		}
	}
	return Pass, "the turn ended"
}

// positions compares what the server followed with what the client then saved.
func positions(plays []*playing) (Verdict, string) {
	for _, p := range plays {
		if _, ok := p.seen.notified["textDocument/didSave"]; !ok {
			return Fail, "no didSave came"
		}
		last := p.seen.states[len(p.seen.states)-1]
		if name := p.name(last.uri); p.report.disk[name] != last.text {
			return Fail, fmt.Sprintf("followed in %s it is %q, saved it is %q", p.seen.agreed,
				strings.TrimSpace(last.text), strings.TrimSpace(p.report.disk[name]))
		}
	}
	return Pass, string(plays[0].seen.agreed) + ": what was followed is what was saved"
}

func surrogates(plays []*playing) (Verdict, string) {
	if agreed := plays[0].seen.agreed; agreed != UTF16 {
		return Unsupported, fmt.Sprintf("positions are in %s", agreed)
	}
	return positions(plays)
}

func lineEnds(fine string) func(plays []*playing) (Verdict, string) {
	return func(plays []*playing) (Verdict, string) {
		for _, p := range plays {
			if len(p.Wrong) == 0 {
				continue
			}
			for name, text := range p.report.disk {
				return Fail, fmt.Sprintf("%s was saved as %q", name, text)
			}
		}
		return Pass, fine
	}
}

// sure says that the texts of the plays are right, or names the first that is not.
func sure(plays []*playing) string {
	for _, p := range plays {
		if len(p.Wrong) > 0 {
			head, _, _ := strings.Cut(p.Wrong[0], " ")
			return head + " is not as it should be in the end"
		}
	}
	return ""
}

func resynced(plays []*playing) (Verdict, string) {
	asks := plays[0].asks("tandem/documents/resync")
	if len(asks) == 0 {
		return Fail, "nothing was asked"
	}
	var q struct{ URI string }
	var a struct {
		Text    *string
		Version int32
	}
	r := asks[0]
	if r.failed != nil {
		return Fail, "it answered with an error: " + r.failed.Message
	}
	if json.Unmarshal(r.params, &q) != nil || json.Unmarshal(r.result, &a) != nil || a.Text == nil {
		return Fail, fmt.Sprintf("an answer that cannot be read: %s", r.result)
	}
	if now := plays[0].seen.now(q.URI, r.answered); *a.Text != now.text || a.Version != now.version {
		return Fail, fmt.Sprintf("it is version %d, and the last that was told is %d", a.Version, now.version)
	}
	return Pass, "they are what was last told"
}

func nothingLost(plays []*playing) (Verdict, string) {
	var wrong []string
	good, other := 0, 0
	for _, p := range plays {
		switch {
		case !p.comparable:
			other++
		case len(p.Wrong) > 0:
			wrong = append(wrong, p.Scenario)
		default:
			good++
		}
	}
	why := fmt.Sprintf("%d scenarios end with the texts that they should", good)
	if other > 0 {
		why += fmt.Sprintf(", %d took another course", other)
	}
	if len(wrong) > 0 {
		return Fail, why + ", not so " + strings.Join(wrong, ", ")
	}
	return Pass, why
}

// outcome words what Tandem made of the edits in the plays.
func outcome(plays []*playing) string {
	landed, rebased, sent, refused, misplaced := 0, 0, 0, 0, 0
	reported := map[string]int{}
	for _, p := range plays {
		for _, c := range p.report.calls {
			last := ""
			if c.done {
				last = c.words[len(c.words)-1]
			}
			code, failed := strings.CutPrefix(last, "failed ")
			switch {
			case !strings.HasPrefix(c.name, "edit_") && !strings.HasPrefix(c.name, "write_"):
			case failed:
				reported[code]++
			case last == "completed":
				if landed++; c.rebased {
					rebased++
				}
			default:
				reported["no end"]++
			}
		}
		for _, r := range p.asks("workspace/applyEdit") {
			if r.probe {
				continue
			}
			sent++
			var a applyResult
			if json.Unmarshal(r.result, &a) != nil || !a.Applied {
				refused++
			}
		}
		for _, a := range p.seen.asked {
			if a.moved && !a.probe {
				misplaced++
			}
		}
	}
	var words []string
	add := func(n int, format string) {
		if n > 0 {
			words = append(words, fmt.Sprintf(format, n))
		}
	}
	add(landed, "%d landed")
	add(rebased, "%d of them rebased")
	for _, code := range slices.Sorted(maps.Keys(reported)) {
		words = append(words, fmt.Sprintf("%d reported as %s", reported[code], code))
	}
	add(sent, "%d sent")
	add(refused, "%d of them refused")
	add(misplaced, "%d put into a later text")
	return strings.Join(words, ", ")
}
