package shell

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed scripts.txt
var scriptsText string

// scripts are the rows of scripts.txt.
var scripts = sync.OnceValue(func() map[string][]string {
	rows := map[string][]string{}
	text := strings.ReplaceAll(scriptsText, "\n ", " ")
	for line := range strings.Lines(text) {
		names, files, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for name := range strings.SplitSeq(names, ", ") {
			rows[name] = strings.Fields(files)
		}
	}
	return rows
})

// Scripts says where it stands what a command does, if not in its words alone: in files of the
// names manifests, and in those of its words that name a file. ok is false where its words say it
// all.
func Scripts(argv []string) (manifests, words []string, ok bool) {
	if len(argv) == 0 {
		return nil, nil, false
	}
	name := path.Base(argv[0])
	manifests, ok = scripts()[name]
	if plain := strings.TrimRight(name, "0123456789."); !ok && plain != "" {
		manifests, ok = scripts()[plain]
	}
	if strings.Contains(argv[0], "/") {
		ok, words = true, []string{argv[0]}
	}
	if !ok {
		return nil, nil, false
	}
	for _, a := range argv[1:] {
		words = append(words, a)
		if _, value, joined := strings.Cut(a, "="); joined {
			words = append(words, value)
		}
	}
	return manifests, slices.DeleteFunc(words, func(w string) bool { return w == "" }), true
}
