package tools_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tandem/filetime/text"
	"tandem/tools"
	"tandem/tools/toolstest"
)

type noArgs struct{}

func named(name string, aliases ...string) tools.Tool {
	return tools.Define(tools.Definition[noArgs]{
		Spec: tools.Spec{Name: name, Aliases: aliases, Kind: tools.Read},
		Plan: func(context.Context, *tools.Env, noArgs) (*tools.Plan, error) { return nil, nil },
	})
}

func names(list []tools.Tool) (out []string) {
	for _, t := range list {
		out = append(out, t.Spec().Name)
	}
	return out
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestF016_F227Names(t *testing.T) {
	s := toolstest.SetOf(named("read_file", "read", "Read", "view"), named("glob"))
	for _, n := range []string{"read_file", "READ_FILE", "Read", "view"} {
		if x := s.Get(n); x == nil || x.Spec().Name != "read_file" {
			t.Errorf("%s: %v", n, x)
		}
	}
	for _, n := range []string{"", "readfile", "cat"} {
		if s.Get(n) != nil {
			t.Errorf("%s is a tool", n)
		}
	}
	equal(t, "sorted", names(s.List()), []string{"glob", "read_file"})
	var none *tools.Set
	if none.Get("glob") != nil || none.List() != nil || (tools.Offer{}).Nearest("glob") != nil || none.DroppedBy("glob") != "" || none.Holds(named("glob")) {
		t.Error("nil is no empty set")
	}
}

func TestF017TakenNames(t *testing.T) {
	for _, x := range []tools.Tool{
		named("read_file"), named("READ"), named("other", "Read"), named("new", "fresh", "read_FILE"),
	} {
		l, err := tools.NewLayer(tools.RankClient, "", named("read_file", "read"), x)
		if err == nil || !strings.Contains(err.Error(), "taken by tool read_file") {
			t.Errorf("%s: %v", x.Spec().Name, err)
		}
		s := tools.NewSet(l)
		equal(t, "unchanged", names(s.All()), []string{"read_file"})
		if s.Get("fresh") != nil {
			t.Error("a part of a refused tool is there")
		}
	}
	if _, err := tools.NewLayer(tools.RankBuiltin, "", named(" ")); err == nil {
		t.Error("a tool without a name was taken")
	}
}

func layer(t *testing.T, rank tools.Rank, name string, list ...tools.Tool) tools.Layer {
	t.Helper()
	l, err := tools.NewLayer(rank, name, list...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The nearest layer wins, and what it covers is there again without it. The sets before stay as they were.
func TestF003Layers(t *testing.T) {
	ours, theirs, other := named("bash", "shell"), named("bash"), named("run", "SHELL", "bash")
	base := toolstest.SetOf(ours, named("glob"))
	client := base.With(layer(t, tools.RankClient, "c", theirs))
	turn := client.With(layer(t, tools.RankTurn, "", other))
	for _, c := range []struct {
		set         *tools.Set
		bash, shell tools.Tool
		list        []string
	}{
		{base, ours, ours, []string{"bash", "glob"}},
		{client, theirs, nil, []string{"bash", "glob"}},
		{turn, other, other, []string{"glob", "run"}},
		{turn.Without(tools.RankTurn, ""), theirs, nil, []string{"bash", "glob"}},
		{turn.Without(tools.RankClient, "c"), other, other, []string{"glob", "run"}},
		{turn.Without(tools.RankTurn, "").Without(tools.RankClient, "c"), ours, ours, []string{"bash", "glob"}},
		{turn.Without(tools.RankClient, "nobody"), other, other, []string{"glob", "run"}},
	} {
		if c.set.Get("bash") != c.bash || c.set.Get("Shell") != c.shell {
			t.Errorf("%v: bash %v, shell %v", names(c.set.List()), c.set.Get("bash"), c.set.Get("shell"))
		}
		equal(t, "listed", names(c.set.List()), c.list)
	}
	if !turn.Holds(ours) || !turn.Holds(theirs) || base.Holds(theirs) {
		t.Error("what is covered is held")
	}
	var why []string
	for _, d := range turn.Narrow(tools.Without("config", []string{"glob"})).Explain() {
		why = append(why, d.Tool.Spec().Name+" by "+d.By)
	}
	equal(t, "explained", why, []string{"bash by run", "bash by run", "glob by config"})
}

func TestF004Disabled(t *testing.T) {
	off := tools.Without("config", []string{"Read", "to_come"})
	s := toolstest.SetOf(named("read_file", "read"), named("bash")).Narrow(off)
	if s.Get("read_file") != nil {
		t.Error("disabling by an alias does not work")
	}
	equal(t, "by", []string{s.DroppedBy("read"), s.DroppedBy("bash"), s.DroppedBy("nope")}, []string{"config", "", ""})
	equal(t, "listed", names(s.List()), []string{"bash"})
	equal(t, "all", names(s.All()), []string{"bash", "read_file"})
	s = s.With(layer(t, tools.RankClient, "", named("to_come"), named("read_file", "READ")))
	equal(t, "what comes later is dropped too", names(s.List()), []string{"bash"})
	if s.Get("read_file") != nil {
		t.Error("what is dropped uncovers what it covers")
	}
}

func TestF114Nearest(t *testing.T) {
	s := toolstest.SetOf(named("read_file", "view"), named("edit_file", "str_replace"), named("write_file"),
		named("glob"), named("off_file")).Narrow(tools.Without("config", []string{"off_file"}))
	for name, want := range map[string][]string{
		"read_files":  {"read_file"},
		"Edit_Fil":    {"edit_file"},
		"str_replcae": {"edit_file"},
		"globb":       {"glob"},
		"file":        nil,
		"file_write":  nil,
		"rewrite":     nil,
		"xyz":         nil,
		"":            nil,
		"of_file":     nil,
	} {
		equal(t, name, (tools.Offer{Full: s.List()}).Nearest(name), want)
	}
	if got := (tools.Offer{Full: s.List()}).Nearest(strings.Repeat("read_file", 100_000)); len(got) > 3 {
		t.Error(got)
	}
}

// F038: many tools, many users at once.
func TestF038Concurrently(t *testing.T) {
	var list []tools.Tool
	for i := range 80 {
		name := fmt.Sprintf("tool_%02d", i)
		list = append(list, named(name, name+"_alias"))
	}
	s := toolstest.SetOf(list...)
	var wg sync.WaitGroup
	for i := range 80 {
		wg.Go(func() {
			name := fmt.Sprintf("tool_%02d", i)
			mine := s.Narrow(tools.Without("config", []string{name}))
			if mine.Get(name) != nil || mine.DroppedBy(name+"_alias") != "config" || len(mine.List()) != 79 {
				t.Errorf("%s is there", name)
			}
			if s.Get(name+"_alias") == nil || len(s.List()) != 80 || len((tools.Offer{Full: s.List()}).Nearest(name)) == 0 {
				t.Errorf("%s is not there", name)
			}
		})
	}
	wg.Wait()
}

// TestSetAgainstModel puts layers in and out at random and asks, after each step, for every name: of a set that was made step by
// step, and by a search through the layers that keeps nothing.
func TestSetAgainstModel(t *testing.T) {
	type key struct {
		rank tools.Rank
		name string
	}
	pool := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(t *rapid.T) {
		layers := map[key][]tools.Tool{}
		set := tools.NewSet()
		var off []string
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			k := key{tools.Rank(rapid.IntRange(0, 4).Draw(t, "rank")), rapid.SampledFrom([]string{"", "x"}).Draw(t, "layer")}
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				delete(layers, k)
				set = set.Without(k.rank, k.name)
			case 1:
				name := rapid.SampledFrom(pool).Draw(t, "off")
				off = append(off, name)
				set = set.Narrow(tools.Without("config", []string{name}))
			default:
				var list []tools.Tool
				free := rapid.Permutation(pool).Draw(t, "names")
				for n := rapid.IntRange(0, 2).Draw(t, "tools"); n > 0; n-- {
					list = append(list, named(free[2*n], strings.ToUpper(free[2*n-1])))
				}
				l, err := tools.NewLayer(k.rank, k.name, list...)
				if err != nil {
					t.Fatal(err)
				}
				layers[k] = list
				set = set.With(l)
			}
			keys := slices.SortedFunc(maps.Keys(layers), func(a, b key) int {
				return cmp.Or(int(b.rank)-int(a.rank), strings.Compare(a.name, b.name))
			})
			var find func(name string, above int) tools.Tool
			find = func(name string, above int) tools.Tool {
				for i, k := range keys[:above] {
					for _, x := range layers[k] {
						s := x.Spec()
						has := s.Name == name || strings.EqualFold(s.Aliases[0], name)
						if has && find(s.Name, i) == nil {
							return x
						}
					}
				}
				return nil
			}
			for _, name := range pool {
				want := find(name, len(keys))
				dropped := want != nil && (slices.Contains(off, want.Spec().Name) || slices.Contains(off, strings.ToLower(want.Spec().Aliases[0])))
				if by := set.DroppedBy(name); (by == "config") != dropped {
					t.Fatalf("%s is dropped by %q, want %v", name, by, dropped)
				}
				if dropped {
					want = nil
				}
				if got := set.Get(strings.ToUpper(name)); got != want {
					t.Fatalf("%s is %v, want %v", name, got, want)
				}
				if listed := slices.ContainsFunc(set.List(), func(x tools.Tool) bool { return x.Spec().Name == name }); listed != (want != nil && want.Spec().Name == name) {
					t.Fatalf("%s is listed: %v", name, listed)
				}
				if want != nil && !set.Holds(want) {
					t.Fatalf("%s is had and not held", name)
				}
			}
			if all := len(set.List()) + len(set.Explain()); all != count(layers) {
				t.Fatalf("%d tools are listed or explained, there are %d", all, count(layers))
			}
		}
	})
}

func count[K comparable](layers map[K][]tools.Tool) (n int) {
	for _, l := range layers {
		n += len(l)
	}
	return n
}

func numbered(t text.Text, first, last int) string {
	e := tools.Excerpt{Room: 1000, Width: 100}
	e.Lines(t, first, last)
	return e.String()
}

func TestF141Numbered(t *testing.T) {
	for _, c := range []struct {
		text        string
		first, last int
		want        string
		lines       int
	}{
		{"", 1, 9, "", 0},
		{"a\nb\n", 1, 9, "   1 | a\n   2 | b\n", 2},
		{"a\r\nb", -3, 1, "   1 | a\n", 2},
		{"\uFEFFa\rb\r\nc", 1, 2, "   1 | a\rb\n   2 | c\n", 2},
		{"\n\n", 2, 2, "   2 | \n", 2},
	} {
		tx := text.New(c.text)
		equal(t, fmt.Sprintf("%q", c.text), numbered(tx, c.first, c.last), c.want)
		equal(t, fmt.Sprintf("lines of %q", c.text), tools.Lines(tx), c.lines)
	}
}

func TestF024Views(t *testing.T) {
	trial := tools.Define(tools.Definition[noArgs]{
		Spec: tools.Spec{Name: "trial", Kind: tools.Read, Flag: "dreams", Providers: []string{"openai"}},
		Plan: func(context.Context, *tools.Env, noArgs) (*tools.Plan, error) { return nil, nil },
	})
	all := toolstest.SetOf(named("read_file", "read"), named("bash"), named("glob"), trial)
	s := all.Narrow(tools.WithFlags(nil))
	equal(t, "a flag that is not set", names(s.List()), []string{"bash", "glob", "read_file"})
	equal(t, "by", s.DroppedBy("trial"), "flag")
	flags := map[string]bool{"dreams": true}
	s = all.Narrow(tools.WithFlags(flags))
	flags["dreams"] = false
	equal(t, "a flag, which is the view's own", names(s.With(tools.Layer{Rank: tools.RankTurn}).List()), []string{"bash", "glob", "read_file", "trial"})
	equal(t, "a provider", names(s.Narrow(tools.ForProvider("anthropic")).List()), []string{"bash", "glob", "read_file"})
	equal(t, "its provider", len(s.Narrow(tools.ForProvider("openai")).List()), 4)
	s = all.Narrow(tools.Only("config", []string{"Bash", "READ", "nothing"}), tools.Without("mode", []string{"bash", "glob"}))
	equal(t, "only some", names(s.List()), []string{"read_file"})
	equal(t, "by the first view that drops it", []string{s.DroppedBy("glob"), s.DroppedBy("bash"), s.DroppedBy("read")}, []string{"config", "mode", ""})
	equal(t, "none", len(all.Narrow(tools.Only("config", nil)).List()), 0)
}

// TestUncomparable: a tool that cannot be compared is left out of a layer, since a set finds its tools by comparing them.
func TestUncomparable(t *testing.T) {
	for _, bad := range []tools.Tool{listed{named("a"), nil}, boxed{named("a"), []int{}}} {
		l, err := tools.NewLayer(tools.RankClient, "", bad, named("b"))
		if err == nil {
			t.Errorf("%T: no error", bad)
		}
		s := tools.NewSet(l)
		if s.Get("a") != nil || s.Get("b") == nil || s.Holds(s.Get("b")) != true {
			t.Errorf("%T: the set has %v", bad, names(s.List()))
		}
	}
}

type listed struct {
	tools.Tool
	more []int
}

type boxed struct {
	tools.Tool
	more any
}
