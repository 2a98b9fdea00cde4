package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// shell measures what the tool gains over ripgrep in a command of the agent. Where there is no
// ripgrep nothing is compared.
func (b *bench) shell(ctx context.Context) error {
	if _, err := exec.LookPath("rg"); err != nil {
		fmt.Fprint(os.Stderr, " no ripgrep,")
		return nil
	}
	const text = "// here is the needle\n"
	dir := filepath.Join(b.work, "shell")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i := range 400 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", i)), []byte(lines(100, i)+text), 0o600); err != nil {
			return err
		}
	}
	e, err := b.edit(ctx, nil, object{"mode": "auto"})
	if err != nil {
		return err
	}
	session, err := e.session(ctx)
	if err != nil {
		return errors.Join(err, e.end(ctx))
	}
	rounds := b.rounds(24)
	took, err := timed(rounds,
		func() error {
			return e.call(ctx, session, "grep", object{"pattern": "the needle", "path": "shell", "head_limit": 400})
		},
		func() error {
			return e.call(ctx, session, "bash", object{"command": "rg --line-number 'the needle' shell"})
		},
	)
	if err != nil {
		return errors.Join(err, e.end(ctx))
	}
	b.add("Shell/grep", rounds, took[0], "ns/op")
	b.add("Shell/rg", rounds, took[1], "ns/op")
	return e.end(ctx)
}
