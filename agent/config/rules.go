package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"tandem/sandbox"
)

// ByEffect are the lists of rules by their keys.
func (p Permissions) ByEffect() map[string][]Rule {
	return map[string][]Rule{"allow": p.Allow, "ask": p.Ask, "deny": p.Deny}
}

// SourceKey is the key of a rule in Loaded.Sources.
func SourceKey(effect string, r Rule) string {
	raw, _ := json.Marshal(r) // strings alone
	return effect + " " + string(raw)
}

// RulesFile is the path of the rules that were answered with "always": beside the user's own file, which no program writes.
func RulesFile(userFile string) string {
	if userFile == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(userFile), "permissions.json")
}

const rulesHead = `// Rules that were answered with "always" or set in an editor. Tandem writes this file anew; "tandem permissions" lists
// the rules and takes them back. What you write yourself belongs into config.json.
`

// EditRules changes a file of rules, under a lock that other processes respect, and replaces it at once. A file that cannot be
// understood, or that others may write, is left as it is, with an error.
func EditRules(path string, edit func(p *Permissions)) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	unlock, err := lockFile(path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	var kept struct {
		Permissions Permissions `json:"permissions"`
	}
	text, foreign, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case foreign != "":
		return fmt.Errorf("%s: %s", path, foreign)
	case !blank(text):
		std, err := hujson.Standardize(text)
		if err != nil {
			return fmt.Errorf("%s: not valid JSON: %w", path, err)
		}
		dec := json.NewDecoder(bytes.NewReader(std))
		dec.DisallowUnknownFields() // nothing that is not understood is lost
		if err := dec.Decode(&kept); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	edit(&kept.Permissions)
	lists := map[string][]map[string]any{}
	for effect, rules := range kept.Permissions.ByEffect() {
		for _, r := range rules {
			if c := r.Compact(); !slices.ContainsFunc(lists[effect], func(o map[string]any) bool { return same(o, c) }) {
				lists[effect] = append(lists[effect], c)
			}
		}
	}
	var out bytes.Buffer
	out.WriteString(rulesHead)
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(map[string]any{"permissions": lists}); err != nil {
		return err
	}
	if real, err := sandbox.Resolved(path); err == nil {
		path = real // a link into a folder of dotfiles stays one
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".permissions-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(out.Bytes())
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func same(a, b map[string]any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// onlyRules refuses all keys but the rules.
func (d *decoder) onlyRules(base, next *Config) {
	rules := next.Permissions
	*next = *base
	next.Permissions = rules
	for key := range d.set {
		if key != "permissions" && !strings.HasPrefix(key, "permissions.") {
			d.report(true, d.at[key], key, "%q has no effect here: this file holds rules alone", key)
			delete(d.set, key)
		}
	}
}
