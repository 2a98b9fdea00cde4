package languages

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"tandem/filetime/text"
)

// Which version a publication is about. A step is "told" (a new version), "said" (a publication
// without a version), "said N" (with one), or "later" (a second without news).
// LuaLS/lua-language-server#746, python-lsp/python-lsp-server#566 and facebook/pyrefly#794 say no
// version.
func TestFaultW14Publications(t *testing.T) {
	for _, row := range []struct {
		steps   []string
		about   string
		pending bool
	}{
		{[]string{"told"}, "nothing", true},
		{[]string{"told", "said"}, "1", false},
		{[]string{"told", "said", "said"}, "1", false},
		{[]string{"told", "said", "told"}, "1", true},
		{[]string{"told", "said", "told", "said"}, "2", false},
		{[]string{"told", "told", "said"}, "unknown", true},
		{[]string{"told", "told", "said", "said"}, "2", false},
		{[]string{"told", "told", "said", "later"}, "2", false},
		{[]string{"told", "said 1", "told", "said 1"}, "1", true},
		{[]string{"told", "said 1", "told", "said 2"}, "2", false},
	} {
		s := &process{open: map[string]*document{}, published: map[string]publication{}}
		for _, step := range row.steps {
			switch step {
			case "told":
				if d := s.open["a"]; d != nil {
					d.version, d.unpublished = d.version+1, d.unpublished+1
				} else {
					s.open["a"] = &document{version: 1, text: text.New("a"), unpublished: 1}
				}
			case "said":
				s.storePublication("a", nil, json.RawMessage("[]"))
			case "later":
				p := s.published["a"]
				p.at = p.at.Add(-publishSettleTime - time.Millisecond)
				s.published["a"] = p
			default:
				var v int32
				if _, err := fmt.Sscanf(step, "said %d", &v); err != nil {
					t.Fatal(err)
				}
				s.storePublication("a", &v, json.RawMessage("[]"))
			}
		}
		p, _ := s.publicationOf("a")
		about := "nothing"
		switch {
		case p.version != nil:
			about = fmt.Sprint(*p.version)
		case p.items != nil:
			about = "unknown"
		}
		if about != row.about || s.isPending("a") != row.pending {
			t.Errorf("%q: about %s, pending %v; want %s, %v", row.steps, about, s.isPending("a"), row.about, row.pending)
		}
	}
}

// diagnostics of a folder names no file clean that an answer is still due for.
func TestFaultW14PendingIsNotClean(t *testing.T) {
	s := &process{open: map[string]*document{"/w/a": {version: 2, unpublished: 1}}, published: map[string]publication{}}
	one := int32(1)
	s.published["/w/a"] = publication{version: &one, at: time.Now(), items: json.RawMessage(`[{"message":"old"}]`)}
	raw, err := s.publishedReport()
	if want := `{"items":[{"items":[],"pending":true,"uri":"file:///w/a"}]}`; err != nil || string(raw) != want {
		t.Errorf("%s %v, want %s", raw, err, want)
	}
}
