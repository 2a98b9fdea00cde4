package languages_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"tandem/filetime/text"
	"tandem/lspserver/languages"
	"tandem/tools"
)

// TestFaultT11ChangesOnDisk: a language server of our own hears of each file below its project that
// has changed on disk, once and before it is asked the next time, whether the file has a new text
// or is gone, and of the new text of a document that it has open.
func TestFaultT11ChangesOnDisk(t *testing.T) {
	w, pool := world(t, map[string]string{"p/a.x": "a", "p/b.x": "b", "p/project": "", "q/c.x": "c"}, languages.Program{
		Name: "reader", Command: os.Args[0], Args: []string{reading, "nothing"}, ByUser: true, Languages: map[string]string{".x": "x"},
		Roots: []string{"project"},
	})
	server := pool.Session(func() *tools.Env { env := w.Env; return &env })
	heard := func(want ...string) {
		t.Helper()
		replies, err := server.Ask(t.Context(), languages.Request{
			Path: w.Path("p/a.x"), Method: "textDocument/documentSymbol",
			Params: func(_ text.Encoding, uri string) any {
				return map[string]any{"textDocument": map[string]any{"uri": uri}}
			},
		})
		if err != nil || len(replies) != 1 {
			t.Fatalf("%v, %v", replies, err)
		}
		var symbols []struct{ Name string }
		if err := json.Unmarshal(replies[0].Result, &symbols); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range symbols {
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("it has heard %q, want %q", got, want)
		}
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(w.Path(name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		pool.Changed(w.Path(name))
	}
	heard("a.x opens as a")
	heard()
	write("p/b.x", "B")
	write("p/b.x", "BB") // told once
	write("q/c.x", "C")  // of another project
	heard("b.x has 2")
	heard()
	write("p/a.x", "A")
	heard("a.x says A", "a.x has 2")
	if err := os.Remove(w.Path("p/b.x")); err != nil {
		t.Fatal(err)
	}
	pool.Changed(w.Path("p/b.x"))
	heard("b.x has 3")
	if err := os.Remove(w.Path("p/a.x")); err != nil {
		t.Fatal(err)
	}
	heard("a.x is closed")
	write("p/a.x", "again")
	heard("a.x opens as again", "a.x has 2")
	for n := range 3 {
		write(fmt.Sprintf("p/n%d.x", n), "n")
	}
	heard("n0.x has 2", "n1.x has 2", "n2.x has 2")
}
