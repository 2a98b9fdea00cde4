package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"tandem/agent/model"
	"tandem/tools"
)

// TestFaultS7Loaded: a session that is loaded again knows the keys that its history shows, and asks when one of them is to leave.
func TestFaultS7Loaded(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".env", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("TOKEN=zQ9vK2mX7pL4\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{".env": true, "./.env": true, filepath.Join(dir, ".env"): true, "notes.txt": false} {
		args, err := json.Marshal(map[string]string{"path": name})
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, &client{}, opener{"main": play(t, "say One.\n")}, func(o *setup) {
			o.Cwd = dir
			o.History = []model.Message{
				{Role: model.User, Text: "Read it."},
				{Role: model.Assistant, Calls: []model.Call{{ID: "1", Name: "read_file", Arguments: string(args)}}},
				{Role: model.Tool, CallID: "1", Name: "read_file", Text: "   1 | TOKEN=zQ9vK2mX7pL4\n"},
			}
		})
		if got := s.keys.Leave(json.RawMessage(`{"url":"https://h/?q=zQ9vK2mX7pL4"}`), []tools.Need{{Act: tools.Reaches}}); got != want {
			t.Errorf("%s: %v", name, got)
		}
		s.Close()
	}
}
