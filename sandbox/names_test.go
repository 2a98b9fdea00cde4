package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A literal name is taken before any other spelling; an abbreviation only by a call that reads, and only of what is there.
func TestFaultW1LiteralFirst(t *testing.T) {
	p, dir := jail(t, map[string]string{
		"secret": "s", "home/far": "f",
		"app/@both": "literal", "app/both": "cut", "app/cut": "cut", "app/@types/x": "literal", "app/types/x": "cut", "app/types/y": "cut",
		"app/a:12": "literal", "app/a": "cut", "app/b": "cut", "app/file:both": "literal", "app/~/x": "literal", "app/@@twice": "literal",
		"app/@twice": "cut", "app/twice": "cut twice", "app/@dangling": "-> nowhere", "app/dangling": "cut",
	})
	p.Unsaved = func() []string { return []string{dir + "/app/@unsaved"} }
	if err := os.WriteFile(dir+"/app/unsaved", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	none := "app/"
	tests := []struct{ name, read, write string }{
		{"@both", "app/@both", "app/@both"},
		{"./@both", "app/@both", "app/@both"},
		{"both", "app/both", "app/both"},
		{"@types/x", "app/@types/x", "app/@types/x"},
		{"@types/y", "app/types/y", "app/@types/y"},
		{"@types/new", none + "@types/new", none + "@types/new"},
		{"@cut", "app/cut", "app/@cut"},
		{"@cut:3", "app/cut", "app/@cut:3"},
		{"@new", "app/@new", "app/@new"},
		{"a:12", "app/a:12", "app/a:12"},
		{"a:13", "app/a", "app/a:13"},
		{"a:13:4", "app/a", "app/a:13:4"},
		{"b:1-9", "app/b", "app/b:1-9"},
		{"new:1", "app/new:1", "app/new:1"},
		{"file:both", "app/file:both", "app/file:both"},
		{"file:cut", "app/cut", "app/file:cut"},
		{"file:new", "app/file:new", "app/file:new"},
		{"@@twice", "app/@@twice", "app/@@twice"},
		{"@twice", "app/@twice", "app/@twice"},
		{"@dangling", "app/nowhere", "app/nowhere"},
		{"@unsaved", "app/@unsaved", "app/@unsaved"},
		{"~/x", "app/~/x", "app/~/x"},
		{"~/y", "OUTSIDE_ROOTS", "app/~/y"}, // the folder ~ is there
		{"@~/x", "app/~/x", "app/@~/x"},
		{"@~/far", "app/@~/far", "app/@~/far"},
		{"@../secret", "app/@../secret", "app/@../secret"},
		{"@" + dir + "/secret", "app/@" + dir + "/secret", "app/@" + dir + "/secret"},
		{dir + "/secret:1", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"@" + dir + "/app/cut", "app/cut", "app/@" + dir + "/app/cut"},
		{"file://" + dir + "/app/cut", "app/cut", "app/cut"},
		{"file:" + dir + "/app/cut", "app/cut", "app/cut"},
		{"file:/@cut", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"}, // a URI, not an abbreviation of /@cut or @cut
		{"file://" + dir + "/app/cut:7", "app/cut", "INVALID_ARGS"},
		{"file://" + dir + "/app/new", "app/new", "INVALID_ARGS"},
		{"file://" + dir + "/secret", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
		{"file://" + dir + "/gone", "OUTSIDE_ROOTS", "OUTSIDE_WRITE_ROOTS"},
	}
	for _, tt := range tests {
		for _, how := range []struct {
			verb, want string
			find       func(string) (Place, error)
		}{{"read", tt.read, p.ReadableName}, {"write", tt.write, p.WritableName}, {"entry", tt.write, p.EntryName}, {"run in", tt.write, p.FolderName}} {
			want, got := how.want, codeOrPath(how.find(tt.name))
			switch {
			case how.verb == "entry" && tt.name == "@dangling":
				want = "app/@dangling"
			case how.verb == "run in":
				want = strings.Replace(want, "WRITE_", "", 1)
			}
			if got = strings.TrimPrefix(got, dir+"/"); got != filepath.Clean(want) {
				t.Errorf("%s %s: %s, want %s", how.verb, tt.name, got, want)
			}
		}
	}
}

func codeOrPath(p Place, err error) string {
	if err != nil {
		return err.(*PathError).Code
	}
	return p.Path()
}

// Whatever names exist: a name that is there means itself, in every call; what a call changes is never another file than the literal one,
// but for the spellings of an absolute path.
func TestFaultW1NamesNeverHide(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := tree(t, map[string]string{"app/": ""})
		p := &Paths{Cwd: dir + "/app", Read: []string{dir + "/app"}, Write: []string{dir + "/app"}, Home: dir + "/app/home"}
		defer p.Close()
		part := rapid.StringMatching(`@{0,2}(file:|~)?[ab]{0,1}(:[12]){0,2}`).Filter(func(s string) bool { return s != "" })
		name := rapid.Map(rapid.SliceOfN(part, 1, 2), func(parts []string) string { return strings.Join(parts, "/") })
		var have []string
		for _, n := range rapid.SliceOfN(name, 1, 6).Draw(rt, "files") {
			if os.MkdirAll(filepath.Dir(p.Cwd+"/"+n), 0o755) == nil && os.WriteFile(p.Cwd+"/"+n, nil, 0o644) == nil {
				have = append(have, n)
			}
		}
		uri := rapid.Map(name, func(n string) string { return "file://" + p.Cwd + "/" + n })
		asked := rapid.OneOf(name, uri, rapid.SampledFrom(append(slices.Clone(have), "a"))).Draw(rt, "asked")
		literal, there := filepath.Join(p.Cwd, asked), false
		if _, err := os.Lstat(literal); err == nil {
			there = true
		}
		read, _ := p.ReadableName(asked)
		write, _ := p.WritableName(asked)
		if there && (read.Path() != literal || write.Path() != literal) {
			rt.Fatalf("%s is there, and means %s to read and %s to write", asked, read, write)
		}
		spelled := "" // the absolute path that it is another spelling of
		if rest, home := strings.CutPrefix(asked, "~"); home && (rest == "" || rest[0] == '/') {
			spelled = filepath.Clean(p.Home + rest)
		} else if rest, uri := strings.CutPrefix(asked, "file:/"); uri {
			spelled = filepath.Clean("/" + rest)
		}
		switch _, err := os.Lstat(spelled); {
		case write.Path() == literal, write.Path() == spelled && err == nil:
		case write.Path() != "" || spelled == "":
			rt.Fatalf("%s means %s to write", asked, write)
		}
		if read.Path() != literal && (read.Path() != "" || spelled == "") {
			if _, err := os.Lstat(read.Path()); err != nil && read.Path() != spelled {
				rt.Fatalf("%s means %s, which is not there either", asked, read)
			}
		}
	})
}

// A name in another Unicode form is read where one file alone has it, and a call that changes makes no second file that looks the same.
func TestFaultW2NamesThatLookTheSame(t *testing.T) {
	const composed, parted = "r\u00e9sum\u00e9.txt", "re\u0301sume\u0301.txt"
	p, dir := jail(t, map[string]string{
		"app/" + parted: "mine", "app/\u1112\u1161\u11a8/x": "mine too", "app/e\u0301": "1", "app/plain": "p", "app/ze\u200bro": "z",
		"app/Shot 10.00\u202fPM.png": "s", "app/no\u00a0break": "n", "app/co\u2011op": "c", "app/\u0441yrillic/x": "y", "app/blank ": "b", "app/ ahead": "a",
	})
	for name, want := range map[string]string{
		composed: parted, parted: parted, "\ud559/x": "\u1112\u1161\u11a8/x", "\u00e9": "e\u0301", "\u00e9new": "\u00e9new", "plain": "plain",
		"zero": "ze\u200bro", "pl\u00adain": "plain",
		"Shot 10.00 PM.png": "Shot 10.00\u202fPM.png", "no break": "no\u00a0break", "co-op": "co\u2011op", "cyrillic/x": "\u0441yrillic/x",
		"plain ": "plain", " plain": "plain", "plain\n": "plain", "blank": "blank ", "ahead": " ahead", "pla in": "pla in", "new/\u0441yrillic": "new/\u0441yrillic", "plain x": "plain x",
	} {
		if got := codeOrPath(p.ReadableName(name)); got != dir+"/app/"+want {
			t.Errorf("%+q is read as %+q", name, got)
		}
		for _, find := range []func(string) (Place, error){p.WritableName, p.EntryName} {
			got, want := codeOrPath(find(name)), want
			if want = dir + "/app/" + want; want != dir+"/app/"+name {
				want = "INVALID_ARGS"
			}
			if got != want {
				t.Errorf("%+q is written as %+q, want %+q", name, got, want)
			}
		}
	}
	for name, want := range map[string]string{"cyrillic/new": "INVALID_ARGS", "cyrillic/new/er": "INVALID_ARGS", "\u0441yrillic/new": dir + "/app/\u0441yrillic/new"} {
		if got := codeOrPath(p.WritableName(name)); got != want {
			t.Errorf("%+q is written as %+q, want %+q", name, got, want)
		}
		if got := codeOrPath(p.ReadableName(name)); got != dir+"/app/"+name {
			t.Errorf("%+q is read as %+q", name, got)
		}
	}
	if err := os.WriteFile(dir+"/app/\u00e9", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := codeOrPath(p.WritableName("\u00e9")); got != dir+"/app/\u00e9" {
		t.Errorf("both are there, and one is %+q", got)
	}
}
