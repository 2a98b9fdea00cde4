package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// largeFiles measures a search that finds nothing where most of the text is in ten files of 14 MiB,
// such as lists of registers, beside ripgrep in turn.
func (b *bench) largeFiles(ctx context.Context) error {
	rg, err := b.ripgrep(ctx)
	if err != nil {
		return err
	}
	t := &tree{name: "files", dir: filepath.Join(b.dir, "largefiles")}
	if err := os.MkdirAll(filepath.Join(t.dir, ".git"), 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(t.dir)
	for n := range 2100 {
		if err := os.WriteFile(filepath.Join(t.dir, fmt.Sprintf("f%04d.h", n)), []byte(lines(20, n)), 0o600); err != nil {
			return err
		}
	}
	for n := range 10 {
		var s strings.Builder
		for line := 0; s.Len() < 14<<20; line++ {
			fmt.Fprintf(&s, "#define REGISTER_%d_%X__FIELD_MASK 0x%08X\n", n, line, line*2654435761%(1<<32))
		}
		if err := os.WriteFile(filepath.Join(t.dir, fmt.Sprintf("large%d.h", n)), []byte(s.String()), 0o600); err != nil {
			return err
		}
	}
	time.Sleep(3 * time.Second) // a file that was changed just now is in no index yet
	s, err := b.searching(t)
	if err != nil {
		return err
	}
	q := queries()[0]
	if _, _, _, err = s.ask(q, 0); err == nil {
		err = s.ready(ctx)
	}
	rounds := b.rounds(24)
	var c compared
	for range rounds {
		if err != nil {
			break
		}
		var found []string
		out, theirs, theirCPU, err1 := rg.run(ctx, t.dir, q)
		found, ours, cpu, err2 := s.ask(q, 0)
		if err = errors.Join(err1, err2); len(found)+len(out) > 0 {
			err = errors.Join(err, fmt.Errorf("%s finds something", q.name))
		}
		c.add(ours, cpu, theirs, theirCPU)
	}
	if err := errors.Join(err, s.process.kill()); err != nil {
		return err
	}
	b.add("LargeFiles/tandem", rounds, median(c.ours), "ns/op")
	b.add("LargeFiles/rg", rounds, median(c.rg), "ns/op")
	return nil
}
