package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// edits measures the edit of a file that no editor has open beside one file that is written,
// flushed to the disk and put in another's place.
func (b *bench) edits(ctx context.Context) error {
	e, err := b.edit(ctx, nil, object{"mode": "auto", "closedFiles": "disk"})
	if err != nil {
		return err
	}
	session, err := e.session(ctx)
	if err != nil {
		return errors.Join(err, e.end(ctx))
	}
	path, other := filepath.Join(b.work, "closed.go"), filepath.Join(b.work, "other.go")
	text := lines(200, 0)
	if err := os.WriteFile(path, []byte("count = 0\n"+text), 0o600); err != nil {
		return err
	}
	n := 0
	rounds := b.rounds(100)
	read := func() error { return e.call(ctx, session, "read_file", object{"path": path}) }
	if err := read(); err != nil {
		return err
	}
	took, err := timed(rounds,
		func() error {
			n++
			return e.call(ctx, session, "edit_file", object{
				"path": path, "old_text": fmt.Sprintf("count = %d\n", n-1), "new_text": fmt.Sprintf("count = %d\n", n),
			})
		},
		func() error { return replace(other, "count = 0\n"+text) },
		read,
	)
	if err != nil {
		return errors.Join(err, e.end(ctx))
	}
	b.add("Disk/edit", rounds, took[0], "ns/op")
	b.add("Disk/fsync", rounds, took[1], "ns/op")
	b.add("Disk/read", rounds, took[2], "ns/op")
	return e.end(ctx)
}

// replace puts text in a file's place, for good.
func replace(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), "replace")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close(), os.Rename(f.Name(), path))
}
