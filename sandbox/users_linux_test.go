package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeMachine lays a machine's folders out below the suite's, and has the suite's Paths know it as theirs.
func (s *suite) fakeMachine(t *testing.T, files ...string) machine {
	t.Helper()
	for _, name := range append(files, "etc/passwd") {
		path := filepath.Join(s.dir, "machine", name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("text of "+name), 0o644))
	}
	top := s.dir + "/machine"
	must(t, os.MkdirAll(top+"/root", 0o755), os.MkdirAll(top+"/home", 0o755))
	m := machine{etc: top + "/etc", homes: []string{top + "/home"}, administrator: top + "/root", withheld: []string{top + "/var"}}
	s.in.Paths.Roots.machine = m
	s.in.Paths.Read = append(s.in.Paths.Read, top) // /tmp itself is each command's own
	return m
}

// TestCaseS06System: a command reads of the system what every user may read, also if the server runs as root. What it needs for
// its work is there.
func TestCaseS06System(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		secrets := strings.Fields(`etc/shadow etc/shadow- etc/gshadow etc/gshadow- etc/ssh/ssh_host_ed25519_key etc/ssh/ssh_host_rsa_key
			etc/ssl/private/server.key etc/krb5.keytab etc/sudoers etc/sudoers.d/me etc/.git/objects/x var/kept home/other/notes root/notes`)
		open := strings.Fields("etc/ssh/ssh_host_rsa_key.pub etc/ssh/ssh_config etc/ssl/certs/ca.pem etc/resolv.conf var/open")
		s.fakeMachine(t, append(secrets, open...)...)
		top := s.dir + "/machine/"
		must(t, os.Chmod(top+"var/kept", 0o600), os.MkdirAll(top+"etc/pki/tls", 0o755), os.Symlink(top+"elsewhere", top+"etc/pki/tls/private"),
			os.Mkdir(top+"elsewhere", 0o755), os.WriteFile(top+"elsewhere/key", []byte("key"), 0o644))
		secrets = append(secrets, "etc/pki/tls/private/key", "elsewhere/key")
		for _, name := range secrets {
			s.blocked(t, "cat "+top+name)
		}
		s.blocked(t, "ls "+top+"home/other | grep .", "cp -r "+top+"etc/ssl/private copy && cat copy/*")
		for _, name := range append(open, "etc/passwd") {
			s.may(t, "cat "+top+name)
		}
		s.may(t, "cat /etc/passwd", "cat "+s.home+"/notes")
		if s.full() { // Landlock alone cannot list a folder with something hidden in it
			s.may(t, "ls "+top+"etc | grep -q shadow", "ls "+top+"home | grep -q other")
		}
		if o := s.does(t, ReadOnly, "cat "+top+"etc/shadow"); o.ExitCode == 0 {
			t.Errorf("%+v", o)
		}
	})
}

// TestCaseS06ThisSystem is the same on this very machine. As an ordinary user the system itself keeps them.
func TestCaseS06ThisSystem(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		s.blocked(t, "head -c 100 /etc/shadow", "cat /etc/shadow", "cat /etc/gshadow", "ls -A /root | grep -Fvx "+onPath("/root"))
		s.may(t, "cat /etc/passwd /etc/resolv.conf /etc/ld.so.cache", "getent passwd root", "ls /etc/ssl/certs | grep -q .")
	})
}

// onPath are options of grep for the names in a folder that hold a folder of PATH.
func onPath(folder string) (options string) {
	options = "-e ''"
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if rest, ok := strings.CutPrefix(dir, folder+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			options += " -e " + name
		}
	}
	return options
}

// TestCaseS06OthersHome: programs that are installed in the home folder of another user run, and what is opened there is read; keys
// beside them are not.
func TestCaseS06OthersHome(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		s.fakeMachine(t, "home/other/.tools/bin/tool", "home/other/.tools/lib/part", "home/other/.npmrc", "home/other/notes", "root/.cargo/bin/x",
			"root/.cargo/credentials.toml", "root/.cargo/env", "home/third/app/a", "home/third/b")
		top := s.dir + "/machine/"
		must(t, os.WriteFile(top+"home/other/.tools/bin/tool", []byte("#!/bin/sh\ncat "+top+"home/other/.tools/lib/part\n"), 0o755), os.Chmod(top+"home/other/.tools/bin/tool", 0o755))
		s.in.Path = []string{top + "home/other/.tools/bin", top + "root/.cargo/bin"}
		s.in.Paths.Read = append(s.in.Paths.Read, top+"home/third/app")
		s.may(t, "tool", "cat "+top+"root/.cargo/env", "cat "+top+"home/third/app/a")
		s.blocked(t, "cat "+top+"home/other/notes", "cat "+top+"home/other/.npmrc", "cat "+top+"root/.cargo/credentials.toml", "cat "+top+"home/third/b")
	})
}

// TestCaseS06OwnHome: the person's own home folder is read wherever it lies, and a link to it is no other one.
func TestCaseS06OwnHome(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		m := s.fakeMachine(t, "home/other/notes", "elsewhere/users/linked/notes")
		top := s.dir + "/machine/"
		must(t, os.Symlink(s.home, top+"home/me"), os.Symlink("/usr", top+"home/usr"), os.Symlink("/", top+"home/all"),
			os.Symlink(top+"elsewhere/users/linked", top+"home/linked"))
		s.may(t, "cat "+s.home+"/notes", "cat "+top+"home/me/notes", "ls /usr/bin | grep -q .")
		s.blocked(t, "cat "+top+"home/linked/notes", "cat "+top+"elsewhere/users/linked/notes")
		must(t, os.MkdirAll(top+"home/other/deep", 0o755), os.WriteFile(top+"home/other/deep/notes", []byte("n"), 0o644))
		s.in.Paths.Roots.Home = top + "home/other/deep"
		s.in.Paths.Roots.machine = m
		s.may(t, "cat "+top+"home/other/deep/notes")
		s.blocked(t, "cat "+top+"home/other/notes")
	})
}

// TestCaseS06SystemClasses: tools ask before they read such a file, also under another name, and lists leave it out.
func TestCaseS06SystemClasses(t *testing.T) {
	r := &Roots{Home: "/data/me", machine: machine{etc: "/private/etc", homes: []string{"/home"}, administrator: "/admin"}}
	r.look()
	for _, c := range []struct {
		path string
		root int
		want Class
	}{
		{"/private/etc/shadow", 0, Secret},
		{"/private/etc/SHADOW-", 2, Secret},
		{"/private/etc/ssh/ssh_host_ecdsa_key", 0, Secret},
		{"/private/etc/ssh/ssh_host_ecdsa_key.pub", 0, Plain},
		{"/private/etc/ssl/private/x/y.key", 3, Secret},
		{"/private/etc/ssl/certs/y.pem", 0, Plain},
		{"/private/etc/sudoers.d/90-me", 0, Secret},
		{"/private/etc/.git/config", 0, Own | Secret},
		{"/private/etc/passwd", 0, Plain},
		{"/etc/shadow", 0, Plain}, // a link on the way, which no canonical path has
		{"/w/shadow", 0, Plain},
		{"/w/etc/shadow", 0, Plain},
		{"/home/bob", 0, Secret},
		{"/home/bob/x", 1, Secret},
		{"/home/bob/x", 2, Plain},
		{"/home/bob/.npmrc", 2, LaterCode | Secret},
		{"/home/bob/app/x", 3, Plain},
		{"/admin/x", 0, Secret},
		{"/admin/x", 1, Plain},
		{"/homes/x", 0, Plain},
		{"/data/me/x", 0, Plain},
	} {
		if got := r.classOfPath(c.path, c.root); got != c.want {
			t.Errorf("%s below a root of %d names: %v, want %v", c.path, c.root, got, c.want)
		}
	}
	own := &Roots{Home: "/home/me", machine: r.machine}
	own.look()
	if got := own.classOfPath("/home/me/x", 0); got != Plain {
		t.Errorf("the person's own home folder: %v", got)
	}
}
