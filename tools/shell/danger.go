package shell

import (
	"path"
	"slices"
	"strings"
)

var (
	// users take the rights of another user. stops end the system. disks make or destroy file
	// systems.
	users = wordSet{list: "sudo sudoedit su doas pkexec run0 runuser"}
	stops = wordSet{list: "shutdown reboot halt poweroff telinit"}
	disks = wordSet{list: "mkswap wipefs blkdiscard fdisk sfdisk cfdisk gdisk sgdisk cgdisk parted mke2fs"}
	// shells run a line that is given with -c, or what they read.
	shells = wordSet{list: "sh bash dash ash zsh ksh mksh fish"}
	// changes are builtins after which a later command may be another one, and what runs what it is
	// given.
	changes = wordSet{list: "alias unalias set shopt enable hash bind complete compopt compgen unset read readarray mapfile getopts eval exec " +
		"source . trap export declare typeset local readonly let umask ulimit pushd popd coproc disown fc history"}
	reserved = wordSet{list: "if then elif else fi time for in until while do done case esac coproc select function { } [[ ]] !"}
	// interpreters run what they read, whatever their version.
	interpreters = []string{"python", "perl", "ruby", "node", "php", "lua", "deno", "bun", "osascript"}
	// system are folders that a system consists of, by their first name.
	system = wordSet{list: "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /opt /proc /root /run /sbin /srv /sys /usr /var /mnt /media " +
		"/usr/bin /usr/lib /usr/local /usr/share /usr/sbin /var/lib /Users /System /Library /Applications /Volumes /private"}
)

// judge says what is forbidden and dangerous of a command as such, without what it runs.
func (s *search) judge(name string, words []word, many bool) {
	args := words[1:]
	switch {
	case users.has(name):
		s.forbid("it takes the rights of another user (" + name + ")")
	case stops.has(name),
		name == "init" && len(args) > 0 && (args[0].text == "0" || args[0].text == "6"),
		name == "systemctl" && slices.ContainsFunc(args, func(w word) bool { return stops.has(w.text) || w.text == "kexec" }):
		s.forbid("it ends the system (" + name + ")")
	case disks.has(name), strings.HasPrefix(name, "mkfs"):
		s.forbid("it makes or destroys file systems (" + name + ")")
	case writers.has(name) && slices.ContainsFunc(args, func(w word) bool { return device(strings.TrimPrefix(w.text, "of=")) }):
		s.forbid("it writes to a device that holds a file system")
	case name == "kill" && len(args) > 1 && args[len(args)-1].text == "-1":
		s.forbid("it ends every process of the user")
	}
	recursive := false
	switch name {
	case "rm":
		if recursive = flag(args, "rR", "recursive"); recursive {
			s.spare(name, args, false)
		}
	case "mv":
		s.spare(name, args[:max(0, len(args)-1)], false)
	case "chmod", "chown", "chgrp":
		if recursive = flag(args, "R", "recursive"); recursive {
			s.spare(name, args, true)
		}
	case "find":
		if slices.ContainsFunc(args, func(w word) bool { return w.text == "-delete" || destroyers.has(base(w)) }) {
			s.spare(name, args, true)
		}
	}
	if !dangerous(name, args, recursive, many) {
		return
	}
	if paths := s.operandsOf(args); name == "rm" && !many && paths != nil {
		s.removed = append(s.removed, paths...)
		s.risky(source(words))
	} else {
		s.endanger(source(words))
	}
}

// operandsOf are the operands of a command as absolute paths, nil where they are not all known.
func (s *search) operandsOf(args []word) (paths []string) {
	if len(s.dirs) != 1 || s.lost {
		return nil
	}
	options := true
	for _, w := range args {
		if options && w.exact && strings.HasPrefix(w.text, "-") {
			options = w.text != "--"
			continue
		}
		p := under(s.dirs[0], w.text)
		if !w.exact || !path.IsAbs(p) || upAfterName(w.text) {
			return nil
		}
		paths = append(paths, p)
	}
	return paths
}

// writers are programs that write to their operands.
var writers = wordSet{list: "dd tee cp mv install shred cat truncate sponge badblocks hdparm"}

// destroyers are what find must not run for everything.
var destroyers = wordSet{list: "rm rmdir unlink mv shred chmod chown chgrp truncate"}

// device says that a path is of a device that holds a file system, or the memory.
func device(p string) bool {
	rest, ok := strings.CutPrefix(path.Clean(p), "/dev/")
	if !ok {
		return false
	}
	return slices.ContainsFunc([]string{
		"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "dm-", "md", "loop", "nbd", "mem", "kmem", "port",
	}, func(prefix string) bool { return strings.HasPrefix(rest, prefix) })
}

// spare forbids to delete or change all of the system, the home folder, or a folder that is kept.
// Some is said where the command may mean a part of a folder.
func (s *search) spare(name string, args []word, some bool) {
	for _, w := range args {
		if strings.HasPrefix(w.text, "-") || strings.Contains(w.text, unknown) {
			continue
		}
		if s.lost {
			s.forbid("it changes the folder too often to tell what it deletes or changes (" + name + ")")
		}
		for _, dir := range s.dirs {
			if p := under(dir, w.text); p != "" && s.kept(p, some) {
				s.forbid("it deletes or changes all of " + strings.ReplaceAll(w.text, "~", "the home folder ~") + " (" + name + ")")
				return
			}
		}
	}
}

// kept says that a path, or a pattern of everything in it, is of a folder that is kept. Of what is
// in one of keep a part may be meant.
func (s *search) kept(p string, some bool) bool {
	for {
		dir, last := path.Split(p)
		if strings.Trim(last, "*.{},?") != "" || last == "" {
			break
		}
		p, some = path.Clean(dir), true
	}
	if system.has(p) || p == "~" {
		return true
	}
	return slices.ContainsFunc(s.keep, func(k string) bool {
		return !some && p == k || strings.HasPrefix(k, strings.TrimSuffix(p, "/")+"/")
	})
}

// dangerous tells the commands that destroy without a way back, or run what nobody has seen. It is
// for the person who is asked.
func dangerous(name string, args []word, recursive, many bool) bool {
	has := func(list ...string) bool {
		return slices.ContainsFunc(args, func(w word) bool { return slices.Contains(list, w.text) })
	}
	first := ""
	if len(args) > 0 {
		first = args[0].text
	}
	switch name {
	case "dd":
		return !slices.ContainsFunc(args, func(w word) bool {
			return w.exact && strings.HasPrefix(w.text, "of=") && !strings.HasPrefix(w.text, "of=/dev/")
		})
	case "eval", "shred", "truncate", "mkswap", "killall", "pkill", "crontab", "iptables", "nft", "mount", "umount":
		return name != "crontab" || has("-r")
	case "rm":
		return recursive || many
	case "rmdir", "unlink", "mv":
		return many
	case "chmod", "chown", "chgrp":
		return recursive
	case "find":
		return has("-delete")
	case "source", ".":
		return strings.Contains(first, unknown)
	case "git":
		return gitDanger(args, has)
	case "docker", "podman":
		return has("prune", "-f", "--force") || has("rm") && has("volume")
	case "terraform", "tofu", "pulumi":
		return has("apply", "destroy", "up")
	case "kubectl", "helm":
		return has("delete", "uninstall", "drain")
	case "npm", "pnpm", "yarn", "cargo":
		return first == "publish" || first == "unpublish"
	case "gh":
		return has("delete")
	}
	return false
}

// gitDanger is dangerous for git.
func gitDanger(args []word, has func(...string) bool) bool {
	switch {
	case has("push"):
		return flag(args, "fd", "force", "force-with-lease", "delete", "mirror", "prune", "force-if-includes") ||
			slices.ContainsFunc(args, func(w word) bool { return strings.HasPrefix(w.text, "+") || strings.HasPrefix(w.text, ":") })
	case has("reset"):
		return flag(args, "", "hard", "merge", "keep")
	case has("clean"):
		return flag(args, "f", "force")
	case has("restore") && !has("checkout", "switch") && onlyIndex(args):
		return false
	case has("checkout", "switch", "restore"):
		return flag(args, "f", "force", "discard-changes") || has("--", ".", "restore")
	case has("branch", "tag", "worktree"):
		return flag(args, "D", "force")
	case has("stash"):
		return has("drop", "clear")
	case has("reflog"):
		return has("expire", "delete")
	}
	return has("filter-branch", "filter-repo", "update-ref") || has("gc") && flag(args, "", "prune")
}

// onlyIndex says that a git restore changes the index alone, as git reset PATH does: each word in
// front of -- is known, and so is each option.
func onlyIndex(args []word) (staged bool) {
	for _, w := range args[slices.IndexFunc(args, func(w word) bool { return w.text == "restore" })+1:] {
		switch {
		case w.text == "--" && w.exact:
			return staged
		case !w.exact:
			return false
		case w.text == "-S", w.text == "--staged":
			staged = true
		case strings.HasPrefix(w.text, "-") && w.text != "-q" && w.text != "--quiet" && !strings.HasPrefix(w.text, "--source="):
			return false
		}
	}
	return staged
}

// flag tells whether an option is among the arguments: one of the letters, or a long one, also
// shortened.
func flag(args []word, letters string, long ...string) bool {
	return slices.ContainsFunc(args, func(w word) bool {
		a := w.text
		if name, ok := strings.CutPrefix(a, "--"); ok {
			name, _, _ = strings.Cut(name, "=")
			return name != "" && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) })
		}
		return letters != "" && strings.HasPrefix(a, "-") && strings.ContainsAny(a, letters)
	})
}
