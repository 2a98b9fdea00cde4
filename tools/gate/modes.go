package gate

import "slices"

// Mode is how much a session may do without asking. It is a Policy without rules.
type Mode string

// The modes, from the strictest on.
const (
	ModeReadOnly    Mode = "readOnly"
	ModePlan        Mode = "plan"
	ModeAsk         Mode = "ask"
	ModeAcceptEdits Mode = "acceptEdits"
	ModeAuto        Mode = "auto"
)

// ModeRow is everything that there is to know of one mode: Name tells a person what it does, the others are what it says
// to each operation.
type ModeRow struct {
	Mode Mode
	Name string

	// Look is about reading and searching, and commands that provably only read, in a sandbox. Edit is about seen text and new
	// files, Overwrite about replacing, deleting and moving, Command about any other command in a sandbox.
	Look, Edit, Overwrite, Command, Network Verdict
	// What is asked about each time: what is dangerous, a command without a sandbox, what a tool does not declare, reading or
	// changing what holds keys and passwords, changing what runs later or has other names. Each only makes stricter what the
	// columns above say. See sandbox.Class.
	Dangerous, Unconfined, Unknown, Secret, LaterCode Verdict
}

// Modes is the table of modes, the strictest first. Settings, flags and clients that list the modes are compared with it.
func Modes() []ModeRow {
	return []ModeRow{
		{Mode: ModeReadOnly, Name: "Only look", Look: Allow},
		{
			Mode: ModePlan, Name: "Plan changes, make none",
			Look: Allow, Edit: Queue, Overwrite: Queue, Command: Queue, Network: Ask,
			Dangerous: Queue, Secret: Ask,
		},
		{
			Mode: ModeAsk, Name: "Ask before every change",
			Look: Allow, Edit: Ask, Overwrite: Ask, Command: Ask, Network: Ask,
			Dangerous: Ask, Unconfined: Ask, Unknown: Ask, Secret: Ask, LaterCode: Ask,
		},
		{
			Mode: ModeAcceptEdits, Name: "Ask before overwriting, deleting and moving",
			Look: Allow, Edit: Allow, Overwrite: Ask, Command: Ask, Network: Ask,
			Dangerous: Ask, Unconfined: Ask, Unknown: Ask, Secret: Ask, LaterCode: Ask,
		},
		{
			Mode: ModeAuto, Name: "Edit without asking",
			Look: Allow, Edit: Allow, Overwrite: Allow, Command: Allow, Network: Ask,
			Dangerous: Ask, Unconfined: Ask, Unknown: Ask, Secret: Ask, LaterCode: Ask,
		},
	}
}

// row is the table's row for m. ok is false where there is no such mode, and then the row denies everything.
func (m Mode) row() (r ModeRow, ok bool) {
	rows := Modes()
	if i := slices.IndexFunc(rows, func(r ModeRow) bool { return r.Mode == m }); i >= 0 {
		return rows[i], true
	}
	return r, false
}

// Known says that there is such a mode.
func (m Mode) Known() bool {
	_, ok := m.row()
	return ok
}

// AtMost is m, or limit where m is looser.
func (m Mode) AtMost(limit Mode) Mode {
	order := func(m Mode) int { return slices.IndexFunc(Modes(), func(r ModeRow) bool { return r.Mode == m }) }
	if order(m) > order(limit) {
		return limit
	}
	return m
}

// Judge is Policy.Judge of the mode without rules.
func (m Mode) Judge(c Call) Decision { return New(Options{Mode: m}).Judge(c) }
