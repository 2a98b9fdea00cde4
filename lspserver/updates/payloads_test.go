package updates

import (
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/tools"
)

// The parts of a result are shown beside the diffs of what it changed, as beside its text.
func TestPartsBesideDiffs(t *testing.T) {
	parts := []tools.Part{{Kind: tools.ImagePart, MIMEType: "image/png", Data: []byte("x")}}
	landed := &filetime.Landed{Files: []filetime.LandedFile{{Path: "/w/a", Before: text.New("a"), After: text.New("b"), Applied: true}}}
	for name, r := range map[string]*tools.Result{
		"diff":    {Success: true, Data: "Done.", Landed: landed, Parts: parts},
		"content": {Success: true, Data: "Done.", Parts: parts},
	} {
		got := resultContent(r, tools.Edit, 1<<20)
		if len(got) != 2 || got[0].Type != name || got[1].Content == nil || got[1].Content.Type != "image" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
