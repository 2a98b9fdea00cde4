package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// machine says where a system keeps what only some of its users may read. All paths are canonical.
// The zero value is not known yet.
type machine struct {
	etc string
	// homes are folders in which each user has a home folder, and administrator is root's. Where
	// this process is not root's they are empty: then the system itself says who may read a home
	// folder.
	homes         []string
	administrator string
	// withheld are folders in which a command must not read what the system keeps from other users.
	// They are root's alone too.
	withheld []string
}

// thisMachine is the machine that this process runs on.
func thisMachine() machine {
	m := machine{etc: Canonical("/etc")}
	if os.Geteuid() != 0 {
		return m
	}
	m.administrator = Canonical("/root")
	for _, dir := range []string{"/home", "/Users"} {
		m.homes = append(m.homes, Canonical(dir))
	}
	for _, dir := range strings.Fields("/etc /var /var/backups /var/lib /var/spool") {
		m.withheld = append(m.withheld, Canonical(dir))
	}
	return m
}

// home gives the home folder that a canonical path is or lies in, "" for none.
func (m machine) home(path string) string {
	if m.administrator != "" && (path == m.administrator || within(m.administrator, path)) {
		return m.administrator
	}
	for _, dir := range m.homes {
		if within(dir, path) {
			name, _, _ := strings.Cut(path[len(dir)+1:], "/")
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// users are all home folders. A link that leads to a folder of the system is none.
func (m machine) users() (homes []string) {
	if m.administrator != "" {
		homes = append(homes, m.administrator)
	}
	for _, dir := range m.homes {
		for _, at := range filesIn(dir) {
			if real := Canonical(at); real == at || len(namesOf(real)) > 1 && !systems(filepath.Dir(real)) {
				homes = append(homes, real)
			}
		}
	}
	return homes
}

// kept are the files and folders of withheld that the system does not let every user read.
func (m machine) kept() (paths []string) {
	for _, dir := range m.withheld {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || info.Mode()&fs.ModeSymlink != 0 {
				continue
			}
			everybody := fs.FileMode(0o004)
			if info.IsDir() {
				everybody = 0o005
			}
			if info.Mode().Perm()&everybody != everybody {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths
}
