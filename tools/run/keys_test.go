package run

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"testing"
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
