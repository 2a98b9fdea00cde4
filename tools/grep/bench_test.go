//go:build unix

package grep

import (
	"context"
	"encoding/json"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/tools"
	"tandem/tools/toolstest"
)

// questions are patterns of each class that takes its time somewhere else.
func questions() []input {
	return []input{
		{Pattern: "ErrUnexpectedEOF"},
		{Pattern: "return"},
		{Pattern: "func"},
		{Pattern: "}"},
		{Pattern: "."},
		{Pattern: "if|for|switch"},
		{Pattern: "todo|fixme", IgnoreCase: true},
		{Pattern: "return", IgnoreCase: true},
		{Pattern: "err", Word: true},
		{Pattern: `^func [A-Z]`},
		{Pattern: `\w+\s*:=\s*range`},
		{Pattern: `[A-Z]{12,}_[0-9]{3}`},
		{Pattern: `[0-9]+\.[0-9]+e[+-]?[0-9]+`},
		{Pattern: `^\s*//.*\d{4}$`},
		{Pattern: `\b\w{30,}\b`},
		{Pattern: `\p{Greek}`},
	}
}

// BenchmarkBesideRipgrep asks questions about a copy of Go's source, which is indexed, and has ripgrep answer each of them in turn. The figure
// rg/op says how many times as long ripgrep takes. An answer has the usual room; "whole" is one of 10 MB.
func BenchmarkBesideRipgrep(b *testing.B) {
	oracle(b)
	if build.Default.GOROOT == "" {
		b.Skip("built with -trimpath: where Go is is not known")
	}
	dir := b.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(build.Default.GOROOT, "src"))); err != nil {
		b.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		b.Fatal(err)
	}
	env := toolstest.Workspace(b, &txtar.Archive{})
	env.Paths = &sandbox.Paths{Cwd: dir, Read: []string{dir}}
	env.Limits.ToolTimeout = 5 * time.Minute
	built := make(chan struct{}, 100)
	env.Searches.Indexes = &index.Indexes{
		Now: func() time.Time { return time.Now().Add(time.Minute) }, // long after the copy was made
		RunInBackground: func(f func(context.Context)) {
			go func() { f(context.WithoutCancel(b.Context())); built <- struct{}{} }()
		},
	}
	ask := func(q input, env *tools.Env) {
		js, err := json.Marshal(q)
		if err != nil {
			b.Fatal(err)
		}
		if r, _ := toolstest.Call(b.Context(), New(), env, string(js)); !r.Success {
			b.Fatal(r.Data)
		}
	}
	ask(input{Pattern: "nothing has this", Path: ".", OutputMode: content, HeadLimit: 1}, env)
	<-built
	wide := *env
	wide.Limits.MaxToolOutputChars = 10_000_000
	for _, q := range questions() {
		q.Path, q.HeadLimit = ".", 1<<30
		for _, way := range []struct {
			name, mode, flag string
			env              *tools.Env
		}{{content, content, "-n", env}, {counts, counts, "-c", env}, {names, names, "-l", env}, {"whole", content, "-n", &wide}} {
			q.OutputMode = way.mode
			args := []string{"--no-config", "--hidden", way.flag, "-e", q.Pattern}
			if q.IgnoreCase {
				args = append(args, "-i")
			}
			if q.Word {
				args = append(args, "-w")
			}
			b.Run(q.Pattern+"/"+way.name, func(b *testing.B) {
				var theirs time.Duration
				for b.Loop() {
					ask(q, way.env)
					b.StopTimer()
					began := time.Now()
					rg := exec.Command("rg", append(args, ".")...)
					rg.Dir = dir
					_, _ = rg.Output()
					theirs += time.Since(began)
					b.StartTimer()
				}
				b.ReportMetric(float64(theirs)/float64(b.Elapsed()), "rg/op")
			})
		}
	}
}
