//go:build unix

package grep

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/toolstest"
)

// TestFindingS11CostlyPatterns refuses patterns that are too long or repeat too much, and ends a search with one that is
// dear soon after it was cancelled.
func TestFindingS11CostlyPatterns(t *testing.T) {
	one := strings.Repeat("abcdefgh", 1<<18) // 2 MiB in one line
	many := strings.Repeat(strings.Repeat("ab", 40)+"\n", 1<<15)
	tool := New()
	env := workspace(t, txtar.File{Name: "disk/one.txt", Data: []byte(one)}, txtar.File{Name: "disk/many.txt", Data: []byte(many)})
	for _, pattern := range []string{
		strings.Repeat("a", 1<<20), strings.Repeat(`\pL`, 2000), strings.Repeat("[a-z]{1000}", 30),
	} {
		if r := call(t, tool, env, `{"pattern":`+quoted(pattern)+`}`); r.Error != tools.InvalidArgs || len(r.Issues) != 1 ||
			r.Issues[0].Path != "$.pattern" || len(r.Data) > 500 {
			t.Errorf("%.20s…: %s %.200s", pattern, r.Error, r.Data)
		}
	}
	for _, args := range []string{
		`{"pattern":"([a-h]{1,900}x|[a-h]{1,800}y){1}q","path":"one.txt"}`,
		`{"pattern":"([ab]{1,900}x|[ab]{1,800}y){1}q","path":"many.txt"}`,
		`{"pattern":"([ab\\s]{1,900}x|[ab\\s]{1,800}y){1}q","path":"many.txt","multiline":true}`,
	} {
		plan, err := toolstest.Plan(t.Context(), tool, env, []byte(args))
		if err != nil {
			t.Fatal(args, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		begun := time.Now()
		_, err = plan.Run(ctx)
		cancel()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s: took %v, %v", args, took, err)
		}
	}
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `\`, `\\`) + `"` }

// TestFindingS13Pipes searches where pipes and other things lie that nobody may wait for: it finds what is in files.
func TestFindingS13Pipes(t *testing.T) {
	for _, name := range []string{"pipe", ".gitignore", ".ignore", ".rgignore", "sub/.gitignore", "sub/.rgignore", "sub/.git/info/exclude"} {
		t.Run(name, func(t *testing.T) {
			{
				tool := New()
				env := workspace(t, txtar.File{Name: "disk/a.txt", Data: []byte("needle\n")}, txtar.File{Name: "disk/sub/b.txt", Data: []byte("needle\n")})
				path := filepath.Join(env.Paths.Cwd, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := syscall.Mkfifo(path, 0o600); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				r := call(t, tool, env, `{"pattern":"needle"}`)
				if took := time.Since(begun); took > 10*time.Second || !r.Success || !strings.Contains(r.Data, "Found 2 matches in 2 files") {
					t.Errorf("after %v: %+v", took, r)
				}
				if r := call(t, tool, env, `{"pattern":"needle","path":"`+name+`"}`); r.Error != filetime.ReadError || r.Reason != "not_regular" {
					t.Errorf("%+v", r)
				}
			}
		})
	}
}
