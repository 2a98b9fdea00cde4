package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/agent/config"
)

// TestStateWithoutHome wants nothing to be kept where anybody may have made the folder before.
func TestStateWithoutHome(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("TMPDIR", t.TempDir())
	for _, home := range []string{"", "relative"} {
		t.Setenv("HOME", home)
		if dir := Dir(config.Default()); !filepath.IsAbs(dir) || strings.HasPrefix(dir, os.TempDir()) {
			t.Errorf("HOME=%s: %s", home, dir)
		}
	}
}

func TestSizeAndAge(t *testing.T) {
	for text, want := range map[string]string{
		"512MiB": "512.0 MiB", "0": "0 B", "7": "7 B", "1 KiB": "1.0 KiB", "3B": "3 B", "2GiB": "2.0 GiB",
		"": "no", "x": "no", "-1": "no", "MiB": "no", "9999999999GiB": "no", "1.5MiB": "no",
	} {
		var s Size
		got := "no"
		if s.UnmarshalText([]byte(text)) == nil {
			got = s.String()
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "36h": 36 * time.Hour, "0d": 0, "": -1, "d": -1, "-1d": -1, "-1h": -1, "99999999d": -1,
	} {
		var a Age
		got := time.Duration(-1)
		if a.UnmarshalText([]byte(text)) == nil {
			got = time.Duration(a)
		}
		if got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}
