package updates

import (
	"slices"
	"strings"
	"testing"

	"tandem/filetime"
	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
	"tandem/tools"
	"tandem/tools/run"
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

// TestF094SpansGoOut: a diff that a person is shown or asked about has the changed parts of its lines.
func TestF094SpansGoOut(t *testing.T) {
	d := show.Diff("f", text.New("x := one()\n"), text.New("x := two()\n"), show.Options{})
	preview := run.DiffPreview{Path: "/f", Old: "x := one()\n", New: "x := two()\n", Unified: d.Unified, Spans: d.Spans()}
	got := diffContent(preview, false, 1000).Meta.Tandem.(protocol.DiffMeta)
	lines := strings.Split(got.Unified, "\n")
	var parts []string
	for _, s := range got.Spans {
		parts = append(parts, lines[s.Line][:1]+lines[s.Line][1+s.Start:1+s.End])
	}
	if want := []string{"-one", "+two"}; !slices.Equal(parts, want) {
		t.Errorf("%q instead of %q: %+v", parts, want, got)
	}
}
