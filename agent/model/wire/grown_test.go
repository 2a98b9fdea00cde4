package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// counted tells when it is encoded.
type counted struct {
	Text string
	told *int
}

func (c counted) MarshalJSON() ([]byte, error) {
	*c.told++
	return json.Marshal(map[string]string{"text": c.Text})
}

func TestGrownEncodesWhatIsNew(t *testing.T) {
	n := 0
	var g Grown[counted]
	items := func(texts ...string) (out []counted) {
		for _, s := range texts {
			out = append(out, counted{s, &n})
		}
		return out
	}
	mark := items("here")[0]
	for _, step := range []struct {
		texts []string
		most  int // of them that are encoded
	}{
		{[]string{"a", "b"}, 2},
		{[]string{"a", "b", "c"}, 1},
		{[]string{"a", "b", "c"}, 0},
		{[]string{"a", "x", "c"}, 1},
		{[]string{"a"}, 0},
		{nil, 0},
		{[]string{"a", strings.Repeat("long ", keep/4), "c"}, 3},
		{[]string{"a", strings.Repeat("long ", keep/4), "c"}, 1},
	} {
		n = 0
		got, err := fill(&g, `{"before":"[{\"text\":\"here\"}]","list":[{"text":"here"}],"after":1}`, mark, items(step.texts...))
		if err != nil {
			t.Fatal(err)
		}
		if n-1 != step.most { // the mark is encoded too
			t.Errorf("%.20q: %d were encoded, not %d", step.texts, n-1, step.most)
		}
		var back struct {
			Before string
			List   []struct{ Text string }
			After  int
		}
		if err := json.Unmarshal(got, &back); err != nil || back.After != 1 || back.Before != `[{"text":"here"}]` {
			t.Fatalf("%.200s: %v", got, err)
		}
		if len(back.List) != len(step.texts) {
			t.Fatalf("%d items, not %d", len(back.List), len(step.texts))
		}
		for i, s := range step.texts {
			if back.List[i].Text != s {
				t.Errorf("item %d is %.20q, not %.20q", i, back.List[i].Text, s)
			}
		}
	}
	if _, err := fill(&g, `{"list":[]}`, mark, nil); err == nil {
		t.Error("a list without the mark was filled")
	}
}

func TestGrownIsWhatMarshalSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Grown[map[string]any]
		var items []map[string]any
		text := rapid.StringOfN(rapid.RuneFrom([]rune("a<\"\\é\n")), 0, 8, -1)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			if n := len(items); n > 0 && rapid.Bool().Draw(t, "shrinks") {
				items = append([]map[string]any(nil), items[:rapid.IntRange(0, n-1).Draw(t, "to")]...)
			}
			for range rapid.IntRange(0, 3).Draw(t, "more") {
				items = append(items, map[string]any{"role": text.Draw(t, "role"), "n": rapid.Int().Draw(t, "n")})
			}
			want, err := json.Marshal(append([]map[string]any{}, items...))
			if err != nil {
				t.Fatal(err)
			}
			got, err := fill(&g, `{"x":[{"mark":1}]}`, map[string]any{"mark": 1}, items)
			if err != nil || string(got) != `{"x":`+string(want)+`}` {
				t.Fatalf("%s instead of %s: %v", got, want, err)
			}
		}
	})
}

// fill gives the whole of what Fill makes, as it is sent.
func fill[T any](g *Grown[T], body string, mark T, items []T) ([]byte, error) {
	made, err := g.Fill(Body{[]byte(body)}, mark, items)
	if err != nil {
		return nil, err
	}
	sent, err := io.ReadAll(made.Reader())
	if err == nil && int64(len(sent)) != made.Len() {
		err = fmt.Errorf("%d bytes are sent of %d", len(sent), made.Len())
	}
	return sent, err
}
