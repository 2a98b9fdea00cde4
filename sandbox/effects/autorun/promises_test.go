package autorun

import (
	"os"
	"strings"
	"testing"
)

// TestSame: an entry is the same if its mode and text are; where the text is not known whole, its size and time count.
func TestSame(t *testing.T) {
	whole, part := entry{Mode: 0o644, Text: "a", Whole: true, Mark: "1"}, entry{Mode: 0o644, Mark: "1"}
	for name, c := range map[string]struct {
		a, b entry
		want bool
	}{
		"the same":              {whole, whole, true},
		"another time alone":    {whole, entry{Mode: 0o644, Text: "a", Whole: true, Mark: "2"}, true},
		"another text":          {whole, entry{Mode: 0o644, Text: "b", Whole: true, Mark: "1"}, false},
		"another mode":          {whole, entry{Mode: 0o755, Text: "a", Whole: true, Mark: "1"}, false},
		"not known any more":    {whole, entry{Mode: 0o644, Text: "a", Mark: "1"}, false},
		"not known, as it was":  {part, part, true},
		"not known, but a time": {part, entry{Mode: 0o644, Mark: "2"}, false},
	} {
		if c.a.same(c.b) != c.want || c.b.same(c.a) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}

// TestListed: ten names are written, of more the first ten and how many there are.
func TestListed(t *testing.T) {
	names := strings.Fields("a b c d e f g h i j k l")
	for n, want := range map[int]string{
		0: "", 1: "a", 10: "a, b, c, d, e, f, g, h, i, j", 11: "a, b, c, d, e, f, g, h, i, j, 1 more", 12: "a, b, c, d, e, f, g, h, i, j, 2 more",
	} {
		if got := listed(names[:n]); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestCulprit: the sentence names what ran, and all of it where it was not alone.
func TestCulprit(t *testing.T) {
	for want, running := range map[string][]string{
		"The command":  {""},
		"The server x": {"the server x"},
		"The server y": {"the server y", "the server y"},
		"Something that runs in this session (the command, the server x)": {"the server x", ""},
	} {
		if got := (&Guard{running: running}).attribution(); got != want {
			t.Errorf("%q: %s", running, got)
		}
	}
}

// TestLargeFiles: a file of up to 256 KiB is kept whole and put back, a larger one is known by its size and time.
func TestLargeFiles(t *testing.T) {
	g, app := guard(t)
	edge, over := strings.Repeat("x", maxText), strings.Repeat("x", maxText+1)
	must(t, os.Mkdir(app+"/sub", 0o755), os.WriteFile(app+"/.envrc", []byte(edge), 0o644), os.WriteFile(app+"/sub/.envrc", []byte(over), 0o644))
	g.Begin("c", "")
	if at, below := g.before.Entries[app+"/.envrc"], g.before.Entries[app+"/sub/.envrc"]; !at.Whole || at.Text != edge || below.Whole || below.Text != "" {
		t.Errorf("%v %d, %v %d", at.Whole, len(at.Text), below.Whole, len(below.Text))
	}
	must(t, os.WriteFile(app+"/.envrc", []byte("y"), 0o644), os.WriteFile(app+"/sub/.envrc", []byte("y"), 0o644))
	if said := g.End("c", ""); len(said) == 0 {
		t.Error("nothing is said")
	}
	if text, err := os.ReadFile(app + "/.envrc"); err != nil || string(text) != edge {
		t.Errorf("%d bytes were put back, %v", len(text), err)
	}
}

// TestRepositoriesOfACommand: repositories that were there when the session began are known to those who judge paths, the outer ones first;
// one that a command has made is not.
func TestRepositoriesOfACommand(t *testing.T) {
	g, app := guard(t)
	repository := func(at string) {
		for _, name := range []string{"objects", "refs"} {
			must(t, os.MkdirAll(at+"/.git/"+name, 0o755))
		}
		must(t, os.WriteFile(at+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644))
	}
	repository(app + "/a")
	g.Begin("c", "")
	repository(app + "/b")
	g.End("c", "")
	g.Begin("c", "")
	if !g.before.Repositories[app+"/a/.git"] || !g.first[app+"/a/.git"] || g.first[app+"/b/.git"] {
		t.Errorf("%v, at first %v", g.before.Repositories, g.first)
	}
	g.End("c", "")
}
