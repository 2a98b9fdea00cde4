package bash

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
)

// maxErrors is how much of the end of stderr is searched for paths.
const maxErrors = 4 << 10

var (
	// denials are the system's words for EROFS, and EBUSY, which a mount point gives that is to be replaced, and for EACCES and EPERM.
	denials = regexp.MustCompile(`(?i)(Read-only file system|Device or resource busy)|Permission denied|Operation not permitted`)
	// absolutePath and quotedName are what an error message names.
	absolutePath = regexp.MustCompile("(?:^|[\\s'\"`‘:(\\[])(/[^\\s'\"`‘’:,;()\\[\\]]+)")
	quotedName   = regexp.MustCompile("['\"`‘]([^'\"`‘’]+)['\"`’]")
)

// restrictions are sentences about what the sandbox refused to a command that failed, each with what changes it. The words of an error
// message prove nothing: a path is named only if the policy itself refuses it. known are hidden files that the answer names already.
func restrictions(env *tools.Env, need tools.Need, o sandbox.Outcome, known []string) (said []string) {
	if o.ExitCode == 0 || !need.Confined || o.Level != sandbox.LevelFull {
		return nil
	}
	names := map[sandbox.Refusal][]string{}
	for _, d := range denied(o.Stderr) {
		path := d.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(need.Place.Path(), path)
		}
		why := env.Paths.Refuses(need.Profile, need.Place.Path(), path)
		if why != sandbox.Hidden && !d.readOnly { // permissions of the file itself give the same words
			continue
		}
		name := env.Name(path)
		if why == sandbox.Hidden && slices.Contains(known, name) {
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
	if o.Unreachable {
		said = append(said, "The sandbox gives commands no network: a host could not be reached. The setting `sandbox.network` names hosts that they may reach.")
	}
	return said
}

// denial is a path beside the words of the system for a refusal; readOnly says that they are those for EROFS and EBUSY.
type denial struct {
	path     string
	readOnly bool
}

// denied finds the paths in error messages that the words for a refusal stand beside.
func denied(stderr string) (all []denial) {
	stderr = plain(stderr[max(0, len(stderr)-maxErrors):])
	for line := range strings.Lines(stderr) {
		at := denials.FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		var names []string
		for _, m := range slices.Concat(absolutePath.FindAllStringSubmatch(line, -1), quotedName.FindAllStringSubmatch(line, -1)) {
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
