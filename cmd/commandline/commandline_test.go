package commandline

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// size is a flag that reads its own text.
type size int

func (s *size) UnmarshalText(text []byte) error {
	*s = size(len(text))
	return nil
}

type tool struct {
	Model string `help:"Model." env:"MODEL" placeholder:"NAME"`
	Mode  string `enum:",ask,auto" default:"" help:"Mode."`
	Loud  bool   `short:"l" help:"Loud."`

	Run  runTool  `cmd:"" help:"Run it."`
	Item itemTool `cmd:"" help:"Items."`
}

type runTool struct {
	Words   []string      `arg:"" help:"Words."`
	Cwd     string        `type:"existingdir" default:"." help:"Folder."`
	Out     string        `type:"path" help:"File."`
	MaxSize size          `help:"Size."`
	Limit   int           `default:"7" help:"Limit."`
	Time    time.Duration `help:"Time."`
	Secret  bool          `hidden:""`
}

func (runTool) Help() string { return "More about it." }

type itemTool struct {
	Show showTool `cmd:"" help:"Show one."`
	Drop dropTool `cmd:"" name:"rm" help:"Drop one."`
}

type showTool struct {
	ID   string `arg:"" name:"id" help:"Its ID."`
	Args string `arg:"" optional:"" default:"{}" help:"More."`
}

type dropTool struct{}

func program(env map[string]string) Program {
	return Program{Name: "tool", Version: "1.2", About: "It is a tool.", Columns: 40, Getenv: func(name string) (string, bool) {
		v, ok := env[name]
		return v, ok
	}}
}

func TestParse(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/home/me")
	base := runTool{Cwd: here, Limit: 7}
	for line, want := range map[string]tool{
		"run a b":                   {Run: with(base, func(r *runTool) { r.Words = []string{"a", "b"} })},
		"run a -- -b --model":       {Run: with(base, func(r *runTool) { r.Words = []string{"a", "-b", "--model"} })},
		"run - x":                   {Run: with(base, func(r *runTool) { r.Words = []string{"-", "x"} })},
		"-l run a --limit 3":        {Loud: true, Run: with(base, func(r *runTool) { r.Words, r.Limit = []string{"a"}, 3 })},
		"run --max-size=abc a":      {Run: with(base, func(r *runTool) { r.Words, r.MaxSize = []string{"a"}, 3 })},
		"run --time=5s --secret a":  {Run: with(base, func(r *runTool) { r.Words, r.Time, r.Secret = []string{"a"}, 5*time.Second, true })},
		"run --out=~/x a --loud=no": {Run: with(base, func(r *runTool) { r.Words, r.Out = []string{"a"}, "/home/me/x" })},
		"run --out out a":           {Run: with(base, func(r *runTool) { r.Words, r.Out = []string{"a"}, filepath.Join(here, "out") })},
		"item show 1 --model=":      {Item: itemTool{Show: showTool{"1", "{}"}}},
	} {
		var got tool
		_, err := program(nil).Parse(&got, strings.Fields(line))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
	var got tool
	parsed, err := program(map[string]string{"MODEL": "m"}).Parse(&got, []string{"item", "show", "1"})
	if err != nil || got.Model != "m" || parsed.Command != any(&got.Item.Show) {
		t.Errorf("%+v, %+v, %v", got, parsed, err)
	}
	if _, err = program(map[string]string{"MODEL": "m"}).Parse(&got, []string{"--model=n", "item", "rm"}); err != nil || got.Model != "n" {
		t.Errorf("%+v, %v", got, err)
	}
}

func with(r runTool, change func(*runTool)) runTool {
	change(&r)
	return r
}

func TestMistakes(t *testing.T) {
	for line, want := range map[string]string{
		"":                      `expected one of "run", "item"`,
		"item":                  `expected one of "show", "rm"`,
		"run":                   `expected "<words> ..."`,
		"item show":             `expected "<id>"`,
		"item show 1 2 3":       `unexpected argument 3`,
		"item rm 1":             `unexpected argument 1`,
		"ru":                    `unexpected argument ru, did you mean "run"?`,
		"item xyz":              `unexpected argument xyz`,
		"--mod=x run a":         `unknown flag --mod, did you mean one of "--model", "--mode", "--loud"?`,
		"--limit=1 run a":       `unknown flag --limit`,
		"run a --secre":         `unknown flag --secre`,
		"-x run a":              `unknown flag -x`,
		"-lx run a":             `unknown flag -x`,
		"--mode=yes run a":      `--mode must be one of "ask", "auto" but got "yes"`,
		"run a --limit":         `--limit: expected a value`,
		"run a --limit -l":      `--limit: expected a value`,
		"run a --limit=x":       `--limit: expected a number but got "x"`,
		"run a --loud=x":        `--loud: bool value must be true, 1, yes, false, 0 or no but got "x"`,
		"run a --time=1":        `--time: expected duration but got "1": time: missing unit in duration "1"`,
		"run a --cwd=/none/x":   `--cwd: stat /none/x: no such file or directory`,
		"run a --cwd=/dev/null": `--cwd: "/dev/null" exists but is not a directory`,
	} {
		if _, err := program(nil).Parse(new(tool), strings.Fields(line)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestHelp(t *testing.T) {
	want := `Usage: tool run <words> ... [flags]

Run it.

More about it.

Arguments:
  <words> ...    Words.

Flags:
  -h, --help              Show
                          context-sensitive
                          help.
      --model=NAME        Model ($MODEL).
      --mode=VALUE        Mode.
  -l, --loud              Loud.

      --cwd="."           Folder.
      --out=VALUE         File.
      --max-size=VALUE    Size.
      --limit=7           Limit.
      --time=VALUE        Time.
`
	for _, line := range []string{"run --help", "--help run", "run a -lh --bad", "run --limit=x -h"} {
		p := program(nil)
		p.Columns = 44
		parsed, err := p.Parse(new(tool), strings.Fields(line))
		if err != nil || parsed.Command != nil || parsed.Text != want {
			t.Errorf("%s: %v\n%s", line, err, parsed.Text)
		}
	}
	for _, line := range []string{"--version", "-V", "-lV", "run --version", "run --bad -V"} {
		if parsed, err := program(nil).Parse(new(tool), strings.Fields(line)); err != nil || parsed.Command != nil || parsed.Text != "tool 1.2\n" {
			t.Errorf("%s: %v, %+v", line, err, parsed)
		}
	}
	parsed, err := program(nil).Parse(new(tool), []string{"--help"})
	for _, want := range []string{"Usage: tool <command> [flags]\n", "\n  -V, --version       Print the version.\n", "\nIt is a tool.\n", "\n  item show <id> [<args>]\n    Show one.\n", "Run \"tool <command> --help\""} {
		if err != nil || !strings.Contains(parsed.Text, want) {
			t.Errorf("%v: no %q in\n%s", err, want, parsed.Text)
		}
	}
}

// TestAnyLine: no arguments end the program, and what is accepted was understood.
func TestAnyLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOf(rapid.OneOf(
			rapid.SampledFrom([]string{"run", "item", "show", "rm", "-h", "-l", "--", "-", "--mode=ask", "--limit", "3", "--model", "", "--=", "-="}),
			rapid.StringN(0, 5, -1),
		)).Draw(t, "args")
		var into tool
		parsed, err := program(nil).Parse(&into, args)
		switch parsed.Command {
		case any(&into.Run), any(&into.Item.Show), any(&into.Item.Drop):
			if err != nil || parsed.Text != "" {
				t.Fatal(err, parsed.Text)
			}
		case nil:
			if (err == nil) != (parsed.Text != "") {
				t.Fatal(err, parsed.Text)
			}
		default:
			t.Fatalf("%T", parsed.Command)
		}
	})
}
