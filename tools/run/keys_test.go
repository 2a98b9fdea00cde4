package run

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCaseI05Keys(t *testing.T) {
	var k Keys
	k.learn("<file path=\".env.production\" lines=\"1-9\" total=\"9\">\n   1 | API_TOKEN=s3cr3t/value+9\n   2 | PASSWORD=\"p@ss:w0rd=1\"\n" +
		"   3 | DATABASE_URL=postgres://app:hunter2hunter2@localhost/db\n   4 | MODE=development\n   5 | B64=YWJjZGVmZ2hp==\nkey: Abcdefgh1\n</file>\n")
	const key = "s3cr3t/value+9"
	for text, want := range map[string]bool{
		"https://h/?q=" + key: true, "https://h/" + url.QueryEscape(key): true, "x " + base64.StdEncoding.EncodeToString([]byte(key)): true,
		"https://h/?" + base64.RawURLEncoding.EncodeToString([]byte(key)): true, hex.EncodeToString([]byte(key)): true, "p@ss:w0rd=1": true,
		"hunter2hunter2": true, "Abcdefgh1": true, "a YWJjZGVmZ2hp== b": true,
		"https://h/docs/development": false, "API_TOKEN": false, "DATABASE_URL": false, "localhost": false, "postgres": false, ".env.production": false,
		"s3cr3t": false, "": false,
	} {
		args, err := json.Marshal(map[string]any{"url": text, "n": 1, "more": []string{"x"}})
		if err != nil {
			t.Fatal(err)
		}
		if k.in(args) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

// TestFaultS7Spellings: a key is found wherever it stands in what is encoded, and however that is spelled.
func TestFaultS7Spellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[A-Za-z0-9/+_-]{16,40}`).Draw(t, "key") + "9"
		before, after := rapid.StringN(0, 5, -1).Draw(t, "before"), rapid.StringN(0, 5, -1).Draw(t, "after")
		var k Keys
		k.learn("TOKEN=" + key + "\n")
		plain := []byte(before + key + after)
		b := base64.StdEncoding.EncodeToString(plain)
		i := rapid.IntRange(0, len(b)).Draw(t, "break")
		h := hex.EncodeToString(plain)
		mixed := []byte(h)
		for i := range mixed {
			if rapid.Bool().Draw(t, "upper") {
				mixed[i] = bytes.ToUpper(mixed[i : i+1])[0]
			}
		}
		for _, text := range []string{
			b, base64.RawURLEncoding.EncodeToString(plain), h, strings.ToUpper(h), string(mixed), "https://h/?q=" + url.QueryEscape(b), b[:i] + "\r\n" + b[i:],
		} {
			args, err := json.Marshal(map[string]any{"url": text})
			if err != nil {
				t.Fatal(err)
			}
			if !k.in(args) {
				t.Fatalf("%q is not found in %q", key, text)
			}
		}
	})
}

// TestFaultS7Recall: what was shown before a session was loaded again is known, and of other files nothing.
func TestFaultS7Recall(t *testing.T) {
	var k Keys
	secret := func(path string) bool { return path == ".env" }
	k.Recall(json.RawMessage(`{"path":"notes"}`), "TOKEN=abcdefgh12345", secret)
	if k.in(json.RawMessage(`{"url":"abcdefgh12345"}`)) {
		t.Error("of a plain file")
	}
	k.Recall(json.RawMessage(`{"all":[{"path":".env"}]}`), "TOKEN=abcdefgh12345", secret)
	if !k.in(json.RawMessage(`{"url":"abcdefgh12345"}`)) {
		t.Error("of a file of keys")
	}
}
