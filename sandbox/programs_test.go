package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// plant makes a program that says where it lies.
func plant(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+path+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// named finds a program and runs it.
func named(t *testing.T, l *Local, dir string, in Surroundings, argv ...string) (Outcome, error) {
	t.Helper()
	t.Cleanup(l.Close)
	program, err := l.Find(argv[0], in)
	if err != nil {
		return Outcome{}, err
	}
	folder := OpenFolder(dir)
	defer folder.Close()
	return Run(t.Context(), l, Command{
		Argv: append([]string{program}, argv[1:]...), Dir: folder, Profile: Unconfined, Surroundings: in, Timeout: 20 * time.Second,
	})
}

// TestFindingS5PlantedPrograms looks for a program on a PATH that leads into a workspace in many ways: none of them counts.
func TestFindingS5PlantedPrograms(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, all := filepath.Join(top, "w"), filepath.Join(top, "all")
	evil := plant(t, filepath.Join(root, ".venv", "bin", "tool"))
	plant(t, filepath.Join(all, "sub", "bin", "tool"))
	good := plant(t, filepath.Join(top, "good", "tool"))
	if err := os.Chmod(all, 0o777); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"into": filepath.Dir(evil), "linked/tool": evil} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Dir(evil))
	fine, in := filepath.Dir(good), Surroundings{Roots: []string{root}}
	for name, dir := range map[string]string{
		"in the workspace": filepath.Dir(evil), "a link into it": filepath.Join(top, "into"), "linked program": filepath.Join(top, "linked"),
		"relative": ".", "empty": "", "below what everybody may write": filepath.Join(all, "sub", "bin"), "spelled oddly": top + "//w/./.venv/bin/",
	} {
		l := Local{Environ: []string{"PATH=" + dir + ":" + fine + ":/usr/bin:/bin"}}
		o, err := named(t, &l, root, in, "tool")
		if err != nil || o.Stdout != good+"\n" {
			t.Errorf("%s: %q, %v", name, o.Stdout, err)
		}
		o, err = named(t, &l, root, in, "sh", "-c", "echo $PATH")
		if want := fine + ":/usr/bin:/bin\n"; err != nil || name != "linked program" && o.Stdout != want {
			t.Errorf("%s: PATH %q, %v", name, o.Stdout, err)
		}
	}
	l := Local{Environ: []string{"PATH=" + filepath.Dir(evil)}}
	if o, err := named(t, &l, root, in, "tool"); err == nil {
		t.Errorf("the planted program ran: %+v", o)
	}
	if o, err := named(t, &l, filepath.Dir(evil), Surroundings{}, "./tool"); err == nil {
		t.Errorf("a relative program ran: %+v", o)
	}
	// What a person has named counts, wherever it lies.
	o, err := named(t, &l, root, Surroundings{Roots: []string{root}, Path: []string{filepath.Dir(evil)}}, "tool")
	if err != nil || o.Stdout != evil+"\n" {
		t.Errorf("named: %q, %v", o.Stdout, err)
	}
}

// TestFindingS20Surroundings hands no folder of the workspace on, unless a person has named it.
func TestFindingS20Surroundings(t *testing.T) {
	root := t.TempDir()
	l := Local{Environ: []string{"PATH=" + root + "/bin:/usr/bin:rel:/bin", "TMPDIR=" + root + "/tmp", "HOME=/h"}}
	c := Surroundings{Roots: []string{root}}
	got := l.environment(c)
	slices.Sort(got)
	if want := []string{"HOME=/h", "PATH=/usr/bin:/bin"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	c.Path, c.Pass = []string{root + "/bin"}, []string{"TMPDIR=" + root + "/tmp"}
	got = l.environment(c)
	slices.Sort(got)
	if want := []string{"HOME=/h", "PATH=" + root + "/bin:/usr/bin:/bin", "TMPDIR=" + root + "/tmp"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	c.Pass = []string{"PATH=/mine"}
	if got := l.environment(c); !slices.Contains(got, "PATH=/mine") {
		t.Errorf("%q", got)
	}
	c = Surroundings{Roots: []string{"/"}}
	if got := l.environment(c); !slices.Contains(got, "PATH="+root+"/bin:/usr/bin:/bin") {
		t.Errorf("a workspace that is everything: %q", got)
	}
}

func TestSearchPath(t *testing.T) {
	dir := t.TempDir()
	entries := SearchPath("/usr/bin::rel:/usr/bin:"+dir+":/tmp:/nowhere/at/all:/repository/bin", []string{"/repository"})
	why := []string{"", "it is relative", "", "everybody may write /tmp", "", "it is in the workspace"}
	for i, e := range entries {
		if i >= len(why) || e.Why != why[i] {
			t.Errorf("%+v", entries)
			break
		}
	}
}

func BenchmarkPrograms(b *testing.B) {
	for b.Loop() {
		l := Local{}
		if _, err := l.Find("sh", Surroundings{Roots: []string{"/nowhere"}}); err != nil {
			b.Fatal(err)
		}
	}
}
