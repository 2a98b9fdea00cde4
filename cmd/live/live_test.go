package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"tandem/sandbox"
)

// server is the program, built once.
var server = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "tandem-live-test-")
	if err != nil {
		return "", err
	}
	built = dir
	program := filepath.Join(dir, "tandem")
	return program, build(context.Background(), program)
})

// built is where server has built it.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// scripted is a model on loopback that speaks Chat Completions. What it answers is the line of script whose number is that of the
// answers that the conversation has already: a call, or "end". After the last one it ends each turn.
func scripted(t *testing.T, script func(task) []string) string {
	all, err := tasks()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&asked) != nil {
			http.NotFound(w, r)
			return
		}
		answers, line := 0, "end"
		var said string
		for _, m := range asked.Messages {
			switch m.Role {
			case "assistant":
				answers++
			case "user":
				said += string(m.Content)
			}
		}
		for _, task := range all {
			first, _ := json.Marshal(task.prompts[0])
			if lines := script(task); strings.Contains(said, strings.Trim(string(first), `"`)) && answers < len(lines) {
				line = lines[answers]
			}
		}
		delta, finish := map[string]any{"content": "Done."}, "stop"
		if tool, arguments, ok := strings.Cut(line, " "); ok {
			delta, finish = map[string]any{"tool_calls": []any{map[string]any{
				"index": 0, "id": fmt.Sprintf("call_%d", answers), "type": "function",
				"function": map[string]any{"name": tool, "arguments": arguments},
			}}}, "tool_calls"
		}
		chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
		fmt.Fprintf(w, "data: %s\n\n", chunk)
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7}}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// environment chooses a model on loopback.
func environment(t *testing.T, url string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TANDEM_MODEL=ollama/m", "OLLAMA_BASE_URL=" + url}
}

// over runs the command over a scripted model and gives its report.
func over(t *testing.T, script func(task) []string, args ...string) string {
	t.Helper()
	program, err := server()
	if err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	if code := run(t.Context(), append(args, "-program", program), environment(t, scripted(t, script)), &out, &log); code != 0 {
		t.Fatalf("code %d:\n%s%s", code, out.String(), log.String())
	}
	return out.String()
}

// wantRow wants the row of a task, blanks as one.
func wantRow(t *testing.T, report, row string) {
	t.Helper()
	if !strings.Contains(strings.Join(strings.Fields(report), " ")+" ", row) {
		t.Errorf("there is no row %q:\n%s", row, report)
	}
}

// confined is for tests whose tasks run commands, which mode auto does in a sandbox alone; docs/security.md says how its absence is
// declared.
func confined(t *testing.T) {
	t.Helper()
	if declared := os.Getenv("TANDEM_TEST_LEVEL"); declared == sandbox.LevelNone || runtime.GOOS != "linux" {
		t.Skipf("commands are not confined on %s: TANDEM_TEST_LEVEL=%s", runtime.GOOS, declared)
	}
}

// TestSolutions tries each task with one way to do it, so that no check is one that nobody can meet, and counts what was refused.
func TestSolutions(t *testing.T) {
	confined(t)
	report := over(t, func(t task) []string { return t.solution })
	wantRow(t, report, " all 20 of 20 ")
	wantRow(t, report, " 01_edit yes 2 0 0 3 300 0 21 ")
	wantRow(t, report, " 12_ambiguous_text yes 3 1 1 4 400 0 28 ")
	wantRow(t, report, " 1 TEXT_MULTIPLE_MATCHES edit_file ")
	wantRow(t, report, " 1 EXIT_CODE_1 bash ") // the test that fails, and was not refused
	wantRow(t, report, " 09_fix_a_failing_test yes 4 0 0 5 ")
}

// TestNothingDone wants no task to be done where the model does nothing, so that each check can fail.
func TestNothingDone(t *testing.T) {
	confined(t)
	report := over(t, func(task) []string { return nil })
	wantRow(t, report, " all 0 of 20 0 0 0 21 ") // one has two turns
	wantRow(t, report, "01_edit: server.conf: line 2 is \"timeout = 30\\n\", not \"timeout = 45\\n\"")
	wantRow(t, report, "08_move_and_delete: gone old.txt: it is there")
	wantRow(t, report, "09_fix_a_failing_test: exits 0 sh test.sh: the code is 1")
	wantRow(t, report, "15_undo: called undo_file: it was not")
	wantRow(t, report, "17_new_file: checks/fr/hello.txt is not there")
}

// TestRefused counts calls that were refused, by their codes, and those that came again.
func TestRefused(t *testing.T) {
	report := over(t, func(task) []string {
		return []string{
			`edit_file {"path": "server.conf", "old_text": "timeout = 30", "new_text": "timeout = 45"}`,
			`edit_file {"path": "server.conf", "new_text": "timeout = 45"}`,
			`read_file {"path": "server.conf"}`,
			`edit_file {"path": "server.conf", "old_text": "timeout = 31", "new_text": "timeout = 45"}`,
			`edit_file {"path": "server.conf", "old_text": "timeout = 30", "new_text": "timeout = 46"}`,
			`no_tool {}`,
		}
	}, "-only", "^01_")
	wantRow(t, report, " 01_edit NO 6 4 3 7 700 0 49 ")
	wantRow(t, report, " all 0 of 1 6 4 3 7 ")
	for _, failed := range []string{"NOT_READ edit_file", "INVALID_ARGS edit_file", "TEXT_NOT_FOUND edit_file", "TOOL_NOT_FOUND no_tool"} {
		wantRow(t, report, " 1 "+failed+" ")
	}
	wantRow(t, report, "01_edit: server.conf: line 2 is")
}

// TestService tells a turn that the service ended from a task that the model did badly.
func TestService(t *testing.T) {
	report := over(t, func(task) []string { return []string{"read_file {\"path\": \"server.conf\""} }, "-only", "^01_")
	wantRow(t, report, " 01_edit NO 1 1 0 2 ") // the arguments are not valid JSON
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, `{"error": {"message": "no such model"}}`, map[string]int{"GET": 405, "POST": 404}[r.Method])
	}))
	defer down.Close()
	program, err := server()
	if err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	code := run(t.Context(), []string{"-only", "^01_", "-program", program}, environment(t, down.URL), &out, &log)
	if code != 0 || !regexp.MustCompile(`(?s)01_edit +NO +0 .*01_edit: the turn ended with error: .*no such model`).MatchString(out.String()) {
		t.Errorf("code %d:\n%s%s", code, out.String(), log.String())
	}
}

// TestSilence gives up a task whose model says nothing, and goes on with the next.
func TestSilence(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		}
	}))
	defer silent.Close()
	program, err := server()
	if err != nil {
		t.Fatal(err)
	}
	var out, log bytes.Buffer
	code := run(t.Context(), []string{"-only", "^0[12]_", "-limit", "50ms", "-program", program}, environment(t, silent.URL), &out, &log)
	wantRow(t, out.String(), " all 0 of 2 0 0 0 0 ")
	if code != 0 || strings.Count(out.String(), ": it was given up after 50ms\n") != 2 {
		t.Errorf("code %d:\n%s%s", code, out.String(), log.String())
	}
}

// TestNoModel wants it to refuse where nobody has chosen a real model.
func TestNoModel(t *testing.T) {
	for environ, want := range map[string]string{
		"":                             "set ANTHROPIC_API_KEY, OPENAI_API_KEY, DEEPSEEK_API_KEY or OPENROUTER_API_KEY to a key",
		"TANDEM_MODEL=":                "no real model is chosen: set ANTHROPIC_API_KEY",
		"TANDEM_MODEL=script/embedded": "cannot do tasks here",
		"TANDEM_MODEL=editor":          "cannot do tasks here",
		"TANDEM_MODEL=anthropic/m":     "The provider anthropic needs a key: set the environment variable ANTHROPIC_API_KEY",
		"TANDEM_MODEL=m":               "names no provider",
	} {
		var out, log bytes.Buffer
		if code := run(t.Context(), nil, []string{environ}, &out, &log); code != 2 || out.Len() > 0 || !strings.Contains(log.String(), want) {
			t.Errorf("%q: code %d, %s%s", environ, code, out.String(), log.String())
		}
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-only=(":     "missing closing )",
		"-only=^none": "no task has a name that matches ^none",
		"now":         "there are no arguments, only flags",
		"-cheap":      "flag provided but not defined: -cheap",
	} {
		var out, log bytes.Buffer
		code := run(t.Context(), []string{args}, environment(t, scripted(t, func(task) []string { return nil })), &out, &log)
		if code != 2 || !strings.Contains(log.String(), want) {
			t.Errorf("%s: code %d, %s%s", args, code, out.String(), log.String())
		}
	}
}

// TestChoose takes the first service that has a key, and asks it whether it takes it.
func TestChoose(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer right" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer s.Close()
	for key, want := range map[string]string{"right": "<nil>", "wrong": "deepseek refused the key"} {
		name, err := choose(t.Context(), []string{"DEEPSEEK_API_KEY=" + key, "DEEPSEEK_BASE_URL=" + s.URL})
		if !strings.HasPrefix(name, "deepseek/") || !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%s: %s, %v", key, name, err)
		}
	}
}

func TestParse(t *testing.T) {
	const good = "-- prompt --\nGo.\n-- want/a --\na\n"
	for text, want := range map[string]string{
		"-- prompt --\nGo.\n":              "nothing to check",
		"-- want/a --\na\n":                "there is no prompt",
		good + "-- wont/a --\n":            `"wont/a" is no part of a task`,
		good + "-- checks --\nhas a\n":     "is none of has PATH REGEXP",
		good + "-- checks --\nhas a (\n":   "missing closing )",
		good + "-- checks --\nexits x y\n": "invalid syntax",
		good + "-- checks --\nis a\n":      "is none of has PATH REGEXP",
		good + "-- setup --\ncrlf b\n":     "there is no file b",
		good + "-- setup --\ngrow a x\n":   "invalid syntax",
		good + "-- setup --\nshrink a\n":   "neither crlf PATH nor grow PATH LINES",
	} {
		if _, err := parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	got, err := parse("x", []byte(good+"-- work/a --\nb\n-- setup --\ncrlf a\ngrow a 1\n"))
	if err != nil || got.want["a"] != "entry 0 = 0\na\r\nentry 0 = 0\n" || got.work["a"] != "entry 0 = 0\nb\r\nentry 0 = 0\n" {
		t.Errorf("%+v, %v", got, err)
	}
}
