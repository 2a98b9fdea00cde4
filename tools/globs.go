package tools

import (
	"path"
	"path/filepath"
	"strings"
)

// Narrow gives the folder that a pattern of file names starts from and what of the pattern is below it. Names that are there are taken
// literally, whatever signs they have, and a folder stands for all that is below it. A list is separated by commas.
func Narrow(env *Env, folder, pattern string) (dir, rest string) {
	if pattern == "" {
		return folder, pattern
	}
	if pattern[0] == '!' && !env.Paths.Literal(path.Join(folder, pattern)) {
		return folder, pattern
	}
	if dir, rest, ok := existing(env, folder, pattern); ok && len(listed(rest)) < 2 {
		return dir, rest
	}
	if parts := listed(pattern); len(parts) > 1 {
		for i, p := range parts {
			switch dir, rest, ok := existing(env, folder, p); {
			case ok && rest == "" && dir != "": // a folder
				parts[i] = escape(strings.Trim(path.Clean(p), "/")) + "/**"
			case !strings.Contains(strings.TrimSuffix(p, "/"), "/"):
				parts[i] = "**/" + p
			default:
				parts[i] = strings.TrimPrefix(strings.TrimPrefix(p, "./"), "/")
			}
		}
		return folder, "{" + strings.Join(parts, ",") + "}"
	}
	return folder, pattern
}

// existing finds the longest beginning of a pattern that is there.
func existing(env *Env, folder, pattern string) (dir, rest string, ok bool) {
	names := strings.Split(strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/"), "/")
	start := folder
	if filepath.IsAbs(pattern) {
		start, names = "/", names[1:]
	}
	for n := len(names); n > 0; n-- {
		if stars(names[n-1]) {
			continue
		}
		at := strings.TrimSuffix(start, "/") + "/" + strings.Join(names[:n], "/")
		place, err := env.Paths.ReadableName(at)
		if err != nil {
			continue
		}
		info, err := place.Stat()
		switch {
		case err != nil:
		case info.IsDir() && n == len(names):
			return at, "", true
		case info.IsDir():
			return at, "/" + strings.Join(names[n:], "/"), true
		case n == len(names) && n == 1 && !filepath.IsAbs(pattern):
			return folder, escape(names[0]), true // a name alone fits at any depth
		case n == len(names):
			return path.Dir(at), "/" + escape(names[n-1]), true
		}
	}
	return "", "", false
}

// stars says that a name is a pattern that fits every name.
func stars(name string) bool { return strings.Trim(name, "*") == "" }

// escape makes a name a pattern that fits it alone.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		if strings.IndexByte(`*?[]{}\!#, `, name[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// listed are the parts of a pattern between commas that stand in no bracket.
func listed(pattern string) (parts []string) {
	depth, from := 0, 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				parts, from = append(parts, strings.TrimSpace(pattern[from:i])), i+1
			}
		}
	}
	parts = append(parts, strings.TrimSpace(pattern[from:]))
	for _, p := range parts {
		if p == "" || p[0] == '!' {
			return nil
		}
	}
	return parts
}

// NothingFits says what a pattern that fits no file may have missed: ignored entries that were passed over, a list with blanks.
func NothingFits(pattern string, ignored int) string {
	hint := ""
	if words := strings.Fields(pattern); len(words) > 1 && strings.ContainsAny(words[0], "*?") && strings.ContainsAny(words[1], "*?") {
		hint = "\nA list of patterns is separated by commas."
	}
	if strings.Contains(pattern, ",!") || strings.Contains(pattern, ", !") {
		hint = "\nA list of patterns has none that begins with !."
	}
	if ignored > 0 {
		hint += "\n" + Count(ignored, "path") + " that git ignores not searched: an exact name, or path, finds them."
	}
	return hint
}
