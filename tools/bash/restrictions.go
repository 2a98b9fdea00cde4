package bash

import (
	"path/filepath"
	"slices"
	"strings"

	"tandem/sandbox"
	"tandem/sandbox/lazy"
	"tandem/tools"
)

// maxErrors is how much of the end of stderr is searched for paths.
const maxErrors = 4 << 10

var (
	// denials are the system's words for EROFS, and EBUSY, which a mount point gives that is to be
	// replaced, and for EACCES and EPERM.
	denials = lazy.Regexp{Text: `(?i)(Read-only file system|Device or resource busy)|Permission denied|Operation not permitted`}
	// absolutePath and quotedName are what an error message names.
	absolutePath = lazy.Regexp{Text: "(?:^|[\\s'\"`‘:(\\[])(/[^\\s'\"`‘’:,;()\\[\\]]+)"}
	quotedName   = lazy.Regexp{Text: "['\"`‘]([^'\"`‘’]+)['\"`’]"}
)

// ran is what a command has printed and wanted, as far as it is looked at for what the sandbox refused.
type ran struct {
	profile    sandbox.Profile
	level, dir string
	errors     string
	refused    sandbox.Refused
}

// restrictions are sentences about what the sandbox refused to a command, each with what changes it. Connections are those that the kernel
// has seen. The words of an error message prove nothing: a path is named only if the policy itself refuses it.
func restrictions(env *tools.Env, r ran) (said []string) {
	if r.profile == sandbox.Unconfined || r.level != sandbox.LevelFull && r.level != sandbox.LevelPart {
		return nil
	}
	keys := hidden(env, r)
	names := map[sandbox.Refusal][]string{}
	for _, d := range denied(r.errors) {
		path := d.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.dir, path)
		}
		why := env.Paths.Refuses(r.profile, r.level, r.dir, path)
		switch {
		case why == sandbox.Hidden:
		case r.level == sandbox.LevelFull && !d.readOnly: // permissions of the file itself give the same words
			continue
		case r.level == sandbox.LevelPart && d.readOnly:
			continue
		}
		name := env.Name(path)
		if why == sandbox.Hidden && slices.Contains(keys, name) {
			continue
		}
		if !slices.Contains(names[why], name) && len(names[why]) < 5 {
			names[why] = append(names[why], name)
		}
	}
	for _, s := range []struct {
		why          sandbox.Refusal
		before, then string
	}{
		{sandbox.Outside, "The sandbox lets commands write in the workspace alone, not ", ". The setting `writeRoots` adds folders. sudo, chmod and mount do not help."},
		{sandbox.Protected, "The sandbox keeps commands from changing ", ", which programs of the user execute or read later. The user can change it, or set `sandbox.level`."},
		{sandbox.Still, "This command line only reads, so the workspace was read-only for it, and it could not change ", "."},
		{sandbox.Hidden, "The sandbox hides this from commands: ", ". The setting `sandbox.level` changes that."},
	} {
		if len(names[s.why]) > 0 {
			said = append(said, s.before+strings.Join(names[s.why], ", ")+s.then)
		}
	}
	if r.refused.Network {
		said = append(said, network(r))
	}
	if r.refused.Unix {
		said = append(said, "The sandbox lets commands connect to no Unix socket, such as that of Docker, a database or an SSH agent. "+
			"The user can run the command, or set `sandbox.level`.")
	}
	if len(keys) > 0 {
		said = append(said, "The sandbox hides files with keys or passwords from every command: "+strings.Join(keys, ", ")+
			". They stay hidden; leave them out of the command. The setting `sandbox.level` changes that.")
	}
	return said
}

// network says that a command wanted one.
func network(r ran) string {
	switch {
	case r.level == sandbox.LevelPart:
		return "The sandbox gives commands no network on this system, not even 127.0.0.1: its level is " + r.level +
			". The user can run the command, or set `sandbox.level`."
	case r.profile == sandbox.ReadOnly:
		return "This command line only reads, so it had no network."
	case r.profile == sandbox.Write:
		return "The sandbox gives commands no network: the setting `sandbox.network` is deny."
	case r.profile == sandbox.Proxy:
		return "The sandbox lets commands reach the hosts that the setting `sandbox.network` names, by the proxy of HTTPS_PROXY alone: " +
			"a host could not be reached."
	}
	return "The sandbox gives commands no network: a host could not be reached. The setting `sandbox.network` names hosts that they may reach."
}

// hidden are the names in what a command said of files that the sandbox hides from it: those that hold keys, at the top of a root.
// The level below full does not hide them.
func hidden(env *tools.Env, r ran) (names []string) {
	if r.level != sandbox.LevelFull {
		return nil
	}
	for _, word := range strings.FieldsFunc(r.errors, func(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`()[]:;,", r) }) {
		if !filepath.IsAbs(word) {
			word = filepath.Join(r.dir, word)
		}
		place, err := env.Paths.Readable(word)
		if err != nil || !place.Class().Is(sandbox.Secret) || strings.Contains(place.Rel(), "/") {
			continue
		}
		if _, err := place.Stat(); err != nil {
			continue
		}
		if name := env.Name(place.Path()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// denial is a path beside the words of the system for a refusal; readOnly says that they are those
// for EROFS and EBUSY.
type denial struct {
	path     string
	readOnly bool
}

// denied finds the paths in error messages that the words for a refusal stand beside.
func denied(stderr string) (all []denial) {
	stderr = plain(stderr[max(0, len(stderr)-maxErrors):])
	for line := range strings.Lines(stderr) {
		at := denials.Get().FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		var names []string
		for _, m := range slices.Concat(absolutePath.Get().FindAllStringSubmatch(line, -1), quotedName.Get().FindAllStringSubmatch(line, -1)) {
			names = append(names, m[1])
		}
		// PROGRAM: MESSAGE NAME: Permission denied
		before := strings.TrimRight(line[:at[0]], " :[")
		if words := strings.Fields(before[strings.LastIndex(before, ": ")+1:]); len(words) > 0 {
			names = append(names, words[len(words)-1])
		}
		for _, name := range names {
			if d := (denial{filepath.Clean(name), at[2] >= 0}); !slices.Contains(all, d) {
				all = append(all, d)
			}
		}
	}
	return all
}
