// Command empty is the least that a Go program can do to answer an editor: it reads one framed message after another,
// looks for its id and says that it has no capabilities.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	for {
		var n int
		if _, err := fmt.Fscanf(in, "Content-Length: %d\r\n\r\n", &n); err != nil {
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal(body, &m) != nil {
			return
		}
		answer, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"capabilities": map[string]any{}},
		})
		if err != nil {
			return
		}
		fmt.Printf("Content-Length: %d\r\n\r\n%s", len(answer), answer)
	}
}
