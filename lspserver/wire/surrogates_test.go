package wire

import "testing"

func TestMend(t *testing.T) {
	for in, want := range map[string]string{
		`"\ud83d new"`:         `"\ufffd new"`,
		`"\ude00"`:             `"\ufffd"`,
		`"\ud83d\ude00"`:       `"\ud83d\ude00"`,
		`"\ud83d\ud83d\ude00"`: `"\ufffd\ud83d\ude00"`,
		`"\\ud83d"`:            `"\\ud83d"`,
		`"\\\ud83d"`:           `"\\\ufffd"`,
		`"\u00e4\n\"\ud83d\""`: `"\u00e4\n\"\ufffd\""`,
		`"\ud83`:               `"\ud83`,
	} {
		b := []byte(in)
		if mended := replaceLoneSurrogates(b); string(b) != want || mended != (in != want) {
			t.Errorf("%s: %s, mended %v; want %s", in, b, mended, want)
		}
	}
}

// Half a character that somebody typed must not make the document fall out of step.
func TestLoneSurrogateInADocument(t *testing.T) {
	var s stream
	body := []byte(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"text":"\ud83d new"}}`)
	if _, bad := s.parser.parse(body); bad == nil {
		t.Fatal("half a character passes for whole JSON")
	}
	if !replaceLoneSurrogates(body) {
		t.Fatal("nothing to mend")
	}
	if _, bad := s.parser.parse(body); bad != nil {
		t.Errorf("mended: %v", bad)
	}
}
