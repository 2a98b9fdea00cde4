package bash

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"tandem/tools"
)

// danger tells the command lines that are dangerous at a glance: those that take another user's rights, destroy without
// a way back, or run what they fetch. It is for the person who is asked, and no protection.
func danger(command string) tools.Danger {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return tools.Dangerous // nobody can say what it does
	}
	found := tools.Moderate
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if dangerous(words(n.Args)) {
				found = tools.Dangerous
			}
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && runs(n.Y) {
				found = tools.Dangerous
			}
		}
		return true
	})
	return found
}

// words are the arguments of a call as they are written; one that is made up at run time is "?".
func words(args []*syntax.Word) []string {
	out := make([]string, len(args))
	for i, w := range args {
		if out[i] = literal(w.Parts); out[i] == "" {
			out[i] = "?"
		}
	}
	return out
}

func literal(parts []syntax.WordPart) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			b.WriteString(literal(p.Parts))
		default:
			return ""
		}
	}
	return b.String()
}

// carriers run the command that follows their own arguments.
var carriers = []string{
	"env", "exec", "command", "builtin", "nohup", "time", "timeout", "nice", "xargs",
	"busybox", "setsid",
}

func dangerous(argv []string) bool {
	carried := false
	for i := range argv {
		if i > 0 && !carried {
			break
		}
		if alone(argv[i:]) {
			return true
		}
		carried = carried || slices.Contains(carriers, path.Base(argv[i]))
	}
	return false
}

// alone judges a call without what it carries.
func alone(argv []string) bool {
	name, args := path.Base(argv[0]), argv[1:]
	switch {
	case name == "?" || name == "eval":
		return true
	case slices.Contains([]string{
		"sudo", "doas", "su", "pkexec", "dd", "shred", "shutdown", "reboot", "halt", "poweroff", "fdisk", "parted",
	}, name) || strings.HasPrefix(name, "mkfs"):
		return true
	case name == "rm":
		return flag(args, "r", "recursive") || flag(args, "R", "recursive")
	case name == "chmod" || name == "chown":
		return flag(args, "R", "recursive")
	case name == "find":
		return slices.Contains(args, "-delete") || slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "-exec") || strings.HasPrefix(a, "-ok")
		})
	case name == "git":
		return slices.Contains(args, "push") && (flag(args, "f", "force") || flag(args, "", "force-with-lease")) ||
			slices.Contains(args, "reset") && flag(args, "", "hard") ||
			slices.Contains(args, "clean") && flag(args, "f", "force")
	}
	return false
}

// flag tells whether a short or a long flag is among the arguments.
func flag(args []string, short, long string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		if name, ok := strings.CutPrefix(a, "--"); ok {
			return name == long
		}
		return short != "" && strings.HasPrefix(a, "-") && strings.Contains(a, short)
	})
}

// runs tells whether the end of a pipe is a program that runs what it reads.
func runs(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	return slices.Contains([]string{"sh", "bash", "zsh", "dash", "python", "python3", "perl", "ruby", "node"},
		path.Base(words(call.Args[:1])[0]))
}
