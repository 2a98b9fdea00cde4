package backend

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestFaultT9ListingIsRenewed: a listing is kept for listingLasts, so that typing does not list again, and is made anew after that, or where
// the clock has been put back. One that could not be made is no listing.
func TestFaultT9ListingIsRenewed(t *testing.T) {
	dir := t.TempDir()
	made := time.Unix(1_000_000, 0)
	var l listing
	has := func(folder string, now time.Time) (n int, err error) {
		all, err := l.of(t.Context(), []string{folder}, now)
		return len(all), err
	}
	put := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := has(filepath.Join(dir, "none"), made); n != 0 || err == nil {
		t.Fatalf("%d of a folder that is not there, %v", n, err)
	}
	put("a")
	for _, c := range []struct {
		name  string
		after time.Duration
		want  int
		new   string // what is made before
	}{
		{"first", 0, 1, ""},
		{"at once", 0, 1, "b"},
		{"as long as it lasts", listingLasts - 1, 1, ""},
		{"no longer", listingLasts, 2, ""},
		{"from then on", 2*listingLasts - 1, 2, "c"},
		{"once more", 2 * listingLasts, 3, ""},
		{"with the clock put back", listingLasts, 4, "d"},
	} {
		if c.new != "" {
			put(c.new)
		}
		if n, err := has(dir, made.Add(c.after)); n != c.want || err != nil {
			t.Errorf("%s: %d files, want %d; %v", c.name, n, c.want, err)
		}
	}
}
