package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files of what is printed anew")

// TestConformancePrints compares what is printed with testdata/conformance, with "go test -update" to write it anew.
// How often an edit had to be sent is a matter of luck, so numbers that follow from that are left out.
func TestConformancePrints(t *testing.T) {
	luck := regexp.MustCompile(`\d+ (of|sent|put|edits|scenarios)\b`)
	all := regexp.MustCompile(`(nothing-lost.*\n.*\n +Tandem:).*`) // every scenario that is added changes it
	for name, c := range map[string]struct {
		code int
		args []string
	}{
		"strict":      {0, []string{"--client=fake:strict"}},
		"race":        {1, []string{"--client=fake:race"}},
		"lying":       {1, []string{"--client=fake:lying"}},
		"without":     {0, []string{"--client=fake:strict,without=save+resync", "--run=^(save|resync|closed|undo)$"}},
		"list":        {0, []string{"--list"}},
		"list-run":    {0, []string{"--list", "--run=line"}},
		"unknown":     {2, []string{"--client=nvim:"}},
		"option":      {2, []string{"--client=fake:strict,speed=9"}},
		"no-client":   {2, nil},
		"bad-run":     {2, []string{"--client=fake:strict", "--run=("}},
		"nothing-run": {2, []string{"--client=fake:strict", "--run=^x$"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, code := examine(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			got := all.ReplaceAllString(luck.ReplaceAllString(out, "N $1"), "$1 …")
			golden := filepath.Join("testdata", "conformance", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s has\n%s\nprinted was\n%s", golden, want, got)
			}
		})
	}
}

// conformance runs the program and gives both of its streams and its exit code.
func examine(t *testing.T, args ...string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, append([]string{"conformance"}, args...)...)
	dir := t.TempDir()
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "COLUMNS=100")
	out, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestFaultE14NothingLost: with clients that hold their changes back and tell of several in one range, every key and every edit that landed is in
// the text once, also where the client checks no version, or answers long before it tells.
func TestFaultE14NothingLost(t *testing.T) {
	for _, client := range []string{
		"fake:race,hold=150ms,merge", "fake:strict,hold=300ms,merge,reply-first", "fake:lying,hold=insert,merge,reply-first",
		"fake:race,hold=150ms,merge,widen", "fake:lying,reorder,widen",
	} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			if out, code := examine(t, "--client="+client, "--run=^nothing-lost$", "--verbose"); code != 0 {
				begin := append(regexp.MustCompile(`(?m)^\S+, \d+ ms$`).FindAllStringIndex(out, -1), []int{len(out)})
				t.Errorf("exit code %d and\n%s", code, out[:begin[0][0]])
				for i, at := range begin[1:] {
					if play := out[begin[i][0]:at[0]]; strings.Contains(play, "(- should be, + is)") {
						t.Log(play)
					}
				}
			}
		})
	}
}

func TestConformanceJSON(t *testing.T) {
	out, code := examine(t, "--client=fake:race,window=100ms", "--json", "--run=^(version-check|same-tick)$")
	var got struct {
		Client, Name, PositionEncoding string
		Honoured, Not, Unsupported     int
		Rows                           []struct {
			Name, What, Verdict, Reason, Tandem string
			Scenarios                           []string
		}
		Plays []struct {
			Scenario string
			Ms       int
		}
	}
	dec := json.NewDecoder(strings.NewReader(out))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if code != 1 || got.Honoured != 1 || got.Not != 1 || got.Unsupported != 0 || len(got.Plays) != 3 {
		t.Errorf("exit code %d and\n%s", code, out)
	}
	if len(got.Rows) != 2 {
		t.Fatalf("%d rows", len(got.Rows))
	}
	if r := got.Rows[1]; r.Name != "same-tick" || r.Verdict != "fail" || r.Reason == "" || r.Tandem == "" {
		t.Errorf("%+v", r)
	}
	if got.Client != "fake:race,window=100ms" || got.Name != "lsptest race 1" || got.PositionEncoding != "utf-16" {
		t.Errorf("%+v", got)
	}
}

func TestConformanceShowsTheWire(t *testing.T) {
	out, code := examine(t, "--client=fake:strict", "--verbose", "--run=^echo$")
	for _, want := range []string{
		"edit/F155_replace_all, ", `ms -> {"jsonrpc":"2.0","id":1,"method":"initialize"`,
		`ms <- {"jsonrpc":"2.0","method":"workspace/applyEdit"`, `"uri":"file://$ROOT/calc.go"`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
	if code != 0 || strings.Contains(out, `"method":"tandem/status"`) {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
