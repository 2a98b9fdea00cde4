package fileuri_test

import (
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tandem/lspserver/fileuri"
)

func TestFaultW5Path(t *testing.T) {
	for u, want := range map[string]string{
		"file:///a/b.txt":              "/a/b.txt",
		"file://localhost/a/b.txt":     "/a/b.txt",
		"file://LOCALHOST/a/b.txt":     "/a/b.txt",
		"FILE:///a/b.txt":              "/a/b.txt",
		"File:/a/b.txt":                "/a/b.txt",
		"file:///a//b.txt":             "/a/b.txt",
		"file:///a/./c/../b.txt":       "/a/b.txt",
		"file:///%61/b%2Etxt":          "/a/b.txt",
		"file:///(g)/[id].ts":          "/(g)/[id].ts",
		"file:///%28g%29/%5bid%5D.ts":  "/(g)/[id].ts",
		"file:///ü/ö":                  "/ü/ö",
		"file:///%C3%BC/%c3%b6":        "/ü/ö",
		"file:///100%/%zz/%4":          "/100%/%zz/%4",
		"file:///a%23b%3Fc":            "/a#b?c",
		"file:///a?q#f":                "/a",
		"file:///a+b c":                "/a+b c",
		"file://host/a":                "",
		"file://localhost.example/a":   "",
		"file:a":                       "",
		"file:":                        "",
		"file:///a%00b":                "",
		"untitled:Untitled-1":          "",
		"vscode-remote://file/a":       "",
		"zipfile:///x.zip::a":          "",
		"jdt://contents/a.class?=file": "",
		"/a/b":                         "",
		"":                             "",
	} {
		if got, ok := fileuri.Path(u); got != want || ok != (want != "") {
			t.Errorf("%s: %q %v, want %q", u, got, ok, want)
		}
	}
}

func TestFaultW5Of(t *testing.T) {
	for path, want := range map[string]string{
		"/a/b.txt": "file:///a/b.txt", "/A:/b": "file:///A%3A/b", "/(g)/[id] +~.ts": "file:///%28g%29/%5Bid%5D%20%2B~.ts", "/ü#?%": "file:///%C3%BC%23%3F%25",
		"/": "file:///",
	} {
		if got := fileuri.Of(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// Every spelling of a path gives the path.
func TestFaultW5Spellings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Clean("/" + rapid.StringMatching(`[ -~ü漢/]{1,20}`).Draw(t, "path"))
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"file://", "FILE://", "file:", "file://localhost", "File://LocalHost"}).Draw(t, "head"))
		for i := range len(path) {
			c := path[i]
			must := strings.IndexByte("%?#", c) >= 0
			switch {
			case c != '/' && (must || rapid.Bool().Draw(t, "escape")):
				digits := rapid.SampledFrom([]string{"0123456789abcdef", "0123456789ABCDEF"}).Draw(t, "digits")
				b.Write([]byte{'%', digits[c>>4], digits[c&15]})
			default:
				b.WriteByte(c)
			}
		}
		if got, ok := fileuri.Path(b.String()); !ok || got != path {
			t.Fatalf("%s: %q %v, want %q", b.String(), got, ok, path)
		}
		if got, ok := fileuri.Path(fileuri.Of(path)); !ok || got != path {
			t.Fatalf("%s: %q %v, want %q", fileuri.Of(path), got, ok, path)
		}
	})
}
