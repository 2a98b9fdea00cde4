package logs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

var secrets = []string{
	"sk-ant-api03-AbCdEf0123456789AbCdEf", "sk-proj-0123456789abcdefABCDEF", "AKIAIOSFODNN7EXAMPLE",
	"ghp_0123456789abcdefghijklmnopqrstuvwxyz", "github_pat_11ABCDEFG0123456789_abc", "glpat-0123456789abcdefgh",
	"xoxb-1234567890-abcdef", "AIzaSyA1b2C3d4E5f6G7h8I9j0KlMnOpQrStUv", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
	"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
	"-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\\n-----END RSA PRIVATE KEY-----",
	"correct horse battery", "of-the-config-123", `quo"ted\secret`,
}

func newLogs(w io.Writer) *Logs {
	l := New(w, Options{Version: "1.2.3", Now: time.Now, Environ: []string{
		"MY_SERVICE_KEY=correct horse battery", "PATH=/usr/bin:/bin", "SSH_AUTH_SOCK=/run/agent.sock", "HOME_TOKEN=short", "PASSWORD=" + `quo"ted\secret`,
	}})
	l.Hide("of-the-config-123")
	return l
}

// What looks like a key, and what is known to be one, is nowhere: not in the log, its file, the trace, a report.
func TestCaseE03NoKeyIsWritten(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	l := newLogs(&out)
	l.Configure("debug", filepath.Join(dir, "tandem.log"), filepath.Join(dir, "crashes"))
	record, closeTrace, err := l.Trace(filepath.Join(dir, "trace"))
	if err != nil {
		t.Fatal(err)
	}
	log := l.Logger().With("of", "the test")
	for _, s := range secrets {
		raw := strings.ReplaceAll(s, `\n`, "\n")
		log.Info("a message with "+raw, "key", raw, "error", errors.New("refused: "+raw))
		log.WithGroup("headers").Debug("sent", "values", map[string][]string{"X": {raw}})
		log.Error("it panicked", "panic", raw, "stack", "goroutine 1: "+raw)
		body, err := json.Marshal(map[string]any{"method": "x", "params": map[string]any{"text": "before " + raw + " after"}})
		if err != nil {
			t.Fatal(err)
		}
		record(true, body)
		for _, before := range []string{"\n", "\t", "<b>", "\x01"} {
			if body, err = json.Marshal(map[string]any{"text": before + raw}); err != nil {
				t.Fatal(err)
			}
			record(true, body)
		}
		record(false, append(bytes.Repeat([]byte("x"), mostTraced-len(raw)/2), raw...))
	}
	for _, field := range []string{
		`Authorization: Bearer %s`, `authorization=Basic %s`, `x-api-key: %s`, `map[X-Api-Key:[%s]]`, `{"apiKey":"%s"}`,
		`AWS_SECRET_ACCESS_KEY=%s`, `{"text":"a\nTOKEN=%s\nb"}`, `export GITHUB_TOKEN=%s`,
		`https://x/?api_key=%s&a=b`, `Cookie: %s`, `{"client_secret": "%s"}`, `password = '%s'`, `"{\"access_token\":\"%s\"}"`,
	} {
		const secret = "plainWord7"
		secrets = append(secrets, secret)
		text := fmt.Sprintf(field, secret)
		log.Info("field", "text", text)
		record(true, []byte(text))
	}
	l.Close()
	closeTrace()
	all := out.String()
	if err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		info, err2 := d.Info()
		if err = errors.Join(err, err2); err != nil {
			return err
		}
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]; path != dir && info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if !d.IsDir() {
			raw, err := os.ReadFile(path)
			all += string(raw)
			return err
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets {
		for _, part := range []string{s, strings.Trim(fmt.Sprintf("%q", s), `"`), s[len(s)/2:]} {
			if at := strings.Index(all, part); at >= 0 {
				t.Errorf("%q is written: %.100q", part, all[max(0, at-40):])
			}
		}
	}
	for _, kept := range []string{"a message with [redacted]", "before [redacted] after", `\"apiKey\":\"[redacted]\"`} {
		if !strings.Contains(all, kept) {
			t.Errorf("%q is not written", kept)
		}
	}
	if n := strings.Count(all, "[redacted]"); n < 100 {
		t.Errorf("%d places", n)
	}
}

// Any header that a configuration names may be a key, whatever it is called.
func TestCaseE03HeadersOfAConfiguration(t *testing.T) {
	l := newLogs(io.Discard)
	text := `{"headers": {"X-Team" : "canary","X-\"Other": "can\"ary"},"url":"x","headers":{"b":""},"a":"headers"}`
	want := `{"headers": {"X-Team" : "[redacted]","X-\"Other": "[redacted]"},"url":"x","headers":{"b":""},"a":"headers"}`
	if got := l.hidden.redact([]byte(text)); string(got) != want {
		t.Errorf("%s", got)
	}
}

// A password in an address is one, whatever it looks like.
func TestCaseE03Addresses(t *testing.T) {
	l := newLogs(io.Discard)
	text := `"https://ann:hunter22@example.org/a?b=c@d" http://ann@example.org:80/x@y postgres://:pw@db/x https://example.org:443/a:b@c`
	want := `"https://ann:[redacted]@example.org/a?b=c@d" http://ann@example.org:80/x@y postgres://:[redacted]@db/x https://example.org:443/a:b@c`
	if got := l.hidden.redact([]byte(text)); string(got) != want {
		t.Errorf("%s", got)
	}
}

// What is no key stays as it is.
func TestCaseE03NoTextIsLost(t *testing.T) {
	l := newLogs(io.Discard)
	for _, text := range []string{
		`{"inputTokens":12,"token":"tandem-abc","apiKeyEnv":"OPENAI_API_KEY","apiKey":null}`, "the key is in the lock", "sk-1 is short",
		`{"headers":{},"b":"c"}`, `{"headers":["a","b"]}`, `{"primary_key":"id","page_token":5,"maxKey":"z"}`, "KEYS=all KEYBOARD=de key=value",
		"task-0123456789abcdefgh", `C:\task-0123456789abcdefgh`,
		`{"secret":true,"cookie":[],"password":{},"passwd":[1]}`, "PATH=/usr/bin:/bin /run/agent.sock", "short", "",
	} {
		if got := l.hidden.redact([]byte(text)); string(got) != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// Whatever stands beside a key, the key goes, and what stands beside a word stays.
func FuzzRedact(f *testing.F) {
	f.Add(`{"apiKey":"`, `","a":"b"}`)
	f.Add(`{"password":null,"x-api-key":[1,"Bearer `, `"]}`)
	f.Add("Authorization: Basic \\\"", "\\\"")
	f.Fuzz(func(t *testing.T, before, after string) {
		l := newLogs(io.Discard)
		for _, secret := range []string{"correct horse battery", " sk-0123456789abcdefABCD"} {
			if got := l.hidden.redact([]byte(before + secret + after)); strings.Contains(string(got), secret) != strings.Contains(before+after, secret) {
				t.Errorf("%q became %q", before+secret+after, got)
			}
		}
	})
}

func TestCrashReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "crashes")
	var out strings.Builder
	l := newLogs(&out)
	log := l.Logger()
	log.Info("prompt of a person", "text", "a most private thought", "turn", 7, "session", "s-abc", "took", 3*time.Second)
	crash := func(panics func()) {
		defer func() {
			v := recover()
			log.Error("handler panicked", "method", "tandem/session/prompt", "panic", v, "stack", string(debug.Stack()))
		}()
		panics()
	}
	crash(func() { panic("a private word") })
	l.Configure("info", filepath.Join(filepath.Dir(dir), "tandem.log"), dir)
	var none []int
	crash(func() { none[len(none)] = 1 })
	all := ""
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	for _, path := range found {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all += string(raw)
	}
	for _, want := range []string{
		"Tandem 1.2.3", "where  handler panicked", "method tandem/session/prompt", "panic  a string; what it says is in the log file",
		"panic  runtime error: index out of range [0] with length 0", "logs.TestCrashReport", "text=(22 bytes) turn=7 session=s-abc took=3s",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "private") {
		t.Error("the reports quote a person")
	}
	if path := <-l.Crashes(); path != found[0] || !strings.Contains(out.String(), path) {
		t.Errorf("told of %s", path)
	}
	for range 50 {
		crash(func() { panic(1) })
	}
	if found, err = filepath.Glob(filepath.Join(dir, "*")); err != nil || len(found) != mostReports {
		t.Errorf("%d reports are kept; %v", len(found), err)
	}
	l.Close()
}

// A file that is full begins anew, also under the hands of a second process, and a link is not followed.
func TestFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	const most = 100 << 10
	var both sync.WaitGroup
	for n := range 2 {
		f, err := openFile(path, most)
		if err != nil {
			t.Fatal(err)
		}
		both.Go(func() {
			line := []byte(strings.Repeat(fmt.Sprint(n), 99) + "\n")
			for range 5000 {
				f.write(line)
			}
			f.close()
		})
	}
	both.Wait()
	for _, name := range []string{path, path + suffix} {
		info, err := os.Stat(name)
		if err != nil || info.Size() > most+most/16 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if found, err := os.ReadDir(dir); len(found) != 2 || err != nil {
		t.Errorf("%v %v", found, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := openFile(link, most); err == nil {
		t.Error("a link was followed")
	}
}

func TestLevelAndFileChange(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	var out strings.Builder
	l := newLogs(&out)
	log := l.Logger()
	for _, step := range []struct{ level, path, says string }{
		{"info", one, "first"}, {"debug", one, "second"}, {"error", two, "third"}, {"no level", two, "fourth"},
	} {
		l.Configure(step.level, step.path, filepath.Join(dir, "crashes"))
		log.Debug("debug " + step.says)
		log.Error("error " + step.says)
	}
	l.Configure("info", filepath.Join(one, "no folder"), "")
	l.Close()
	log.Error("at the end")
	for path, want := range map[string]string{one: "error first,debug second,error second", two: "error third,error fourth"} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for line := range strings.Lines(string(raw)) {
			_, message, _ := strings.Cut(line, `msg="`)
			message, _, _ = strings.Cut(message, `"`)
			if message != "" {
				said = append(said, message)
			}
		}
		if got := strings.Join(said, ","); !strings.HasPrefix(got, want) {
			t.Errorf("%s says %q, want %q", path, got, want)
		}
	}
	for _, want := range []string{"no level", "no log file", "at the end"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, out.String())
		}
	}
}

func TestTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	l := newLogs(io.Discard)
	record, closeFile, err := l.Trace(path)
	if err != nil {
		t.Fatal(err)
	}
	record(true, []byte(`{"method":"x"}`))
	record(false, []byte("no json \xff"))
	record(false, []byte(`"`+strings.Repeat("y", 1<<20)+`"`))
	closeFile()
	record(true, []byte("too late"))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []string
	s := bufio.NewScanner(f)
	for s.Buffer(nil, 1<<20); s.Scan(); {
		var line traced
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if at, err := time.Parse(time.RFC3339Nano, line.Time); err != nil || time.Since(at) > time.Minute {
			t.Errorf("%s %v", line.Time, err)
		}
		got = append(got, fmt.Sprintf("%s %d %s %.10s %d", line.Direction, line.Bytes, line.Message, line.Text, len(line.Text)))
	}
	want := `in 14 {"method":"x"}  0
out 9  no json ` + "\ufffd" + ` 11
out 1048578  "yyyyyyyyy 65536`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// A trace is where its person wants it or nowhere: a mistyped path makes no folders.
func TestTraceMakesNoFolders(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "nope")
	_, _, err := newLogs(io.Discard).Trace(filepath.Join(folder, "deep", "x"))
	if err == nil || !strings.Contains(err.Error(), "there is no folder "+filepath.Join(folder, "deep")) {
		t.Errorf("a trace in a folder that is not there: %v", err)
	}
	if _, err := os.Lstat(folder); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", folder, err)
	}
	if _, _, err := newLogs(io.Discard).Trace(dir); err == nil {
		t.Error("a folder is no trace")
	}
}

var _ slog.Handler = (*handler)(nil)
