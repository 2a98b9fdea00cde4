package planted

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// runs are the keys of a repository's configuration whose value git executes, or that make it read more configuration, each as
// section.key; the names between the two do not matter.
var runs = regexp.MustCompile(`^(core\.(fsmonitor|hookspath|sshcommand|pager|editor|askpass|gitproxy|alternaterefscommand)|` +
	`sequence\.editor|pager\..*|diff\.(external|command|textconv)|merge\.driver|(merge|diff)tool\.(cmd|path)|` +
	`filter\.(clean|smudge|process)|credential\.helper|gpg\.program|remote\.(uploadpack|receivepack|vcs)|` +
	`uploadpack\.packobjectshook|includeif?\.path|include\.path|interactive\.difffilter|(browser|man)\.(cmd|path)|` +
	`trailer\.(command|cmd)|protocol\.allow|sendemail\..*|ssh\.variant|hook\..*|tar\.command|gui\..*|guitool\..*|instaweb\..*|` +
	`submodule\.update|alias\..*|url\..*|init\.templatedir|credential\.usehttppath)$`)

var keyName = regexp.MustCompile(`^[a-z][-a-z0-9]*$`)

// settings are the entries of a configuration that execute something, each as it is compared and shown. What may be read in two
// ways counts as one: a line that cannot be parsed, and one that goes on in the next.
func settings(text string) (found []string) {
	section := ""
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, `\`) {
			found = append(found, line)
			continue
		}
		if strings.HasPrefix(line, "[") {
			name, rest, ok := header(line)
			if !ok {
				found = append(found, line)
				continue
			}
			section, line = name, rest
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if name, _, commented := strings.Cut(key, "#"); commented {
			key = strings.TrimSpace(name)
		}
		if !keyName.MatchString(key) {
			found = append(found, line)
			continue
		}
		if runs.MatchString(section+"."+key) && !harmless(section, key, value) {
			found = append(found, section+"."+key+"="+value)
		}
	}
	return found
}

// harmless says by the value that an entry executes nothing after all.
func harmless(section, key, value string) bool {
	switch section + "." + key {
	case "core.fsmonitor":
		return slices.Contains([]string{"true", "false", "0", "1", "yes", "no", "on", "off"}, strings.ToLower(value))
	case "submodule.update":
		return !strings.ContainsAny(value, `!"\`)
	}
	return section == "alias" && !strings.ContainsAny(value, `!"\`)
}

// header parses the head of a section, and gives its name without what stands in quotes or behind a dot, and what follows.
func header(line string) (section, rest string, ok bool) {
	quoted := false
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			section = strings.ToLower(line[1:i])
			if at := strings.IndexAny(section, " \t\"."); at >= 0 {
				section = section[:at]
			}
			return section, strings.TrimSpace(line[i+1:]), true
		}
	}
	return "", "", false
}

// leads says that what a .git file or a commondir says leads where git itself has it lead: into a repository that was found below the
// write roots, which is examined too.
func leads(at string, e Entry, now *Listing) bool {
	if !e.Mode.IsRegular() || !e.Whole {
		return false
	}
	text := strings.TrimRight(e.Text, "\r\n")
	if strings.Contains(text, "\n") {
		return false
	}
	dir := path.Dir(at)
	if path.Base(at) == "commondir" {
		return text == "." || text == "../.." && path.Base(path.Dir(dir)) == "worktrees"
	}
	target, ok := strings.CutPrefix(text, "gitdir: ")
	if !path.IsAbs(target) {
		target = path.Join(dir, target)
	}
	return ok && now.Repositories[path.Clean(target)]
}
