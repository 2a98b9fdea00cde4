package sandbox

import (
	"strings"
	"testing"
)

// TestFaultW12NoEditor: what opens an editor fails at once, and its output says what to pass instead.
func TestFaultW12NoEditor(t *testing.T) {
	const made = asGit + "git commit -qm one --allow-empty; "
	levels(t, func(t *testing.T, s *suite) {
		for line, says := range map[string]string{
			made + "git commit --allow-empty":                                 "with -m or -F",
			made + "git commit --amend --allow-empty":                         "with -m or -F",
			made + "git tag -a v1":                                            "with -m or -F",
			made + "git config --file x.conf -e && false":                     "NAME VALUE",
			made + "git notes add":                                            "with -m or -F",
			made + "git commit -q --allow-empty -m two; git rebase -i HEAD~1": "GIT_SEQUENCE_EDITOR",
			"${EDITOR:-vi} a.txt":                                             "no-editor-is-opened-here",
			"$VISUAL a.txt":                                                   "no-editor-is-opened-here",
			`sh -c "$EDITOR a.txt"`:                                           "no-editor-is-opened-here",
			`"$EDITOR" a.txt`:                                                 "no-editor-is-opened-here",
		} {
			o := s.does(t, Loopback, line)
			if o.ExitCode == 0 || o.TimedOut || !strings.Contains(o.Stdout+o.Stderr, says) {
				t.Errorf("%s, level %s: %d: %s%s", line, s.level, o.ExitCode, o.Stdout, o.Stderr)
			}
		}
		if there(s.app + "/.git/rebase-merge") {
			t.Errorf("level %s: half a rebase is left", s.level)
		}
		s.may(t, made+"git commit -q --allow-empty -m two && GIT_SEQUENCE_EDITOR=true git rebase -q -i HEAD~1 && EDITOR=true; $EDITOR a.txt",
			`test "$TERM" = dumb`)
	})
}

// TestFaultW12Unconfined: it is the same without a sandbox. What a person has named stays.
func TestFaultW12Unconfined(t *testing.T) {
	l := local(t)
	l.Environ = []string{"PATH=/usr/bin:/bin", "TERM=xterm", "EDITOR=vi"}
	run := func(pass ...string) string {
		c := bash(`echo "$EDITOR|$GIT_EDITOR|$TERM"`)
		c.Surroundings.Pass = pass
		o, err := Run(t.Context(), l, c)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(o.Stdout)
	}
	if got := run("EDITOR"); got != noEditor+"|"+noTerminal[0][1]+"|dumb" {
		t.Errorf("%s", got)
	}
	if got := run("EDITOR=ed", "GIT_EDITOR=true", "TERM=vt100"); got != "ed|true|vt100" {
		t.Errorf("%s", got)
	}
}
