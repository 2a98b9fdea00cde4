package confine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSeatbelt writes down the profile of a policy as commands have it: a workspace with a repository, keys, a folder for temporary files.
func TestSeatbelt(t *testing.T) {
	p := Policy{Network: Loopback, Rules: []Rule{
		{"/Users/ann/app/.git/hooks", Read},
		{"/", Read},
		{"/private/tmp", Private},
		{"/Users/ann/.ssh", Hidden},
		{"/Users/ann/app", Write},
		{"/Users/ann/app/.git", Write},
		{"/Users/ann/app/sub/AGENTS.md", Read},
		{`/Users/ann/app/odd "name\`, Hidden},
		{"/private/var/folders/x/T/tandem", Write},
	}}
	want := basics + `(allow file-read* (subpath "/"))
(deny file-write* (subpath "/"))
(deny file-read* file-write* (subpath "/Users/ann/.ssh"))
(allow file-read* file-write* (subpath "/Users/ann/app"))
(allow file-read* file-write* (subpath "/Users/ann/app/.git"))
(allow file-read* (subpath "/Users/ann/app/.git/hooks"))
(deny file-write* (subpath "/Users/ann/app/.git/hooks"))
(deny file-read* file-write* (subpath "/Users/ann/app/odd \"name\\"))
(allow file-read* (subpath "/Users/ann/app/sub/AGENTS.md"))
(deny file-write* (subpath "/Users/ann/app/sub/AGENTS.md"))
(deny file-read* file-write* (subpath "/private/tmp"))
(allow file-read* file-write* (subpath "/private/var/folders/x/T/tandem"))
(deny file-write-unlink (literal "/Users/ann/app/.git"))
(deny file-write-unlink (literal "/Users/ann/app/.git/hooks"))
(deny file-write-unlink (literal "/Users/ann/app/odd \"name\\"))
(deny file-write-unlink (literal "/Users/ann/app/sub/AGENTS.md"))
(deny file-write-unlink (literal "/Users/ann/app/sub"))
`
	got, err := p.Seatbelt()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, word := range []string{"network", "appleevent", "lsopen", "launchservices", "mach-register", "allow default", "job-creation"} {
		if strings.Contains(got, word) {
			t.Errorf("it speaks of %s", word)
		}
	}
	if _, err := (Policy{Network: Loopback, Rules: []Rule{{"relative", Read}}}).Seatbelt(); err == nil {
		t.Error("a policy that is none becomes a profile")
	}
}

// TestSeatbeltSaysThePolicy reads profiles as macOS does, the last rule that fits decides, and wants them to say of each path what the
// policy says, and quoted names to end where they end.
func TestSeatbeltSaysThePolicy(t *testing.T) {
	names := []string{"a", "b", `q"`, `s\`, "(deny)", "a b"}
	path := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "path"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{Network: NoNetwork}
		for at, access := range rapid.MapOfN(path, rapid.SampledFrom([]Access{Hidden, Read, Write, Private}), 0, 6).Draw(t, "rules") {
			p.Rules = append(p.Rules, Rule{at, access})
		}
		text, err := p.Seatbelt()
		if err != nil {
			t.Fatal(err)
		}
		at := path.Draw(t, "at")
		read, write, unlink := false, false, false
		for line := range strings.Lines(strings.TrimPrefix(text, basics)) {
			verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			what, where, ok := strings.Cut(strings.TrimSuffix(rest, "))"), " (")
			kind, name, _ := strings.Cut(where, " ")
			if !ok || !strings.HasPrefix(name, `"`) || !strings.HasSuffix(name, `"`) {
				t.Fatalf("not of the form: %s", line)
			}
			name = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(name[1 : len(name)-1])
			if kind == "subpath" && !covers(name, at) || kind == "literal" && name != at {
				continue
			}
			allow := verb == "(allow"
			if strings.Contains(what, "file-read*") {
				read = allow
			}
			if strings.Contains(what, "file-write*") {
				write, unlink = allow, allow
			}
			if what == "file-write-unlink" {
				unlink = allow
			}
		}
		access := p.At(at)
		if read != (access == Read || access == Write) || write != (access == Write) {
			t.Fatalf("%s: read %v, write %v, and the policy says %d:\n%s", at, read, write, access, text)
		}
		for _, r := range p.Rules { // what a rule is about stays where it is
			if covers(at, r.Path) && at != "/" && unlink && p.At(parent(at)) == Write {
				t.Fatalf("%s can be renamed, and %s with it:\n%s", at, r.Path, text)
			}
		}
	})
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}
