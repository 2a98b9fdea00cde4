package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tandem/lspserver/client"
	"tandem/lspserver/protocol"
)

// searchedKeys measures the answer to a request right behind a key in an open document of 10 MB, by
// itself and while the document is searched without a pause, and the memory before and after.
func (b *bench) searchedKeys(ctx context.Context) error {
	path := filepath.Join(b.work, "searched.txt")
	var s strings.Builder
	for n := 0; s.Len() < 10<<20; n++ {
		fmt.Fprintf(&s, "line %06d of a long document, which nobody reads to its end\n", n)
	}
	doc := client.NewBuffer(path, s.String())
	e, err := b.edit(ctx, doc, object{"mode": "auto"})
	if err != nil {
		return err
	}
	session, err := e.session(ctx)
	if err != nil {
		return errors.Join(err, e.end(ctx))
	}
	keys := func(name string) error {
		const warm = 20 // the document is being opened
		var took []float64
		for n := range warm + b.rounds(400) {
			if err := doc.Insert(ctx, "x", func(now string) int { return n * 25_000 % len(now) }); err != nil {
				return err
			}
			began := time.Now()
			if err := e.Call(ctx, "tandem/status", protocol.None{}, nil); err != nil {
				return err
			}
			took = append(took, float64(time.Since(began)))
		}
		took = took[warm:]
		slices.Sort(took)
		b.add("Searching/"+name, len(took), took[len(took)*99/100], "ns/op")
		return nil
	}
	memory := func(name string) error {
		sum, _, err := e.process.resident()
		b.add("Memory/"+name, 1, sum, "B")
		return err
	}
	if err = errors.Join(keys("alone"), memory("unsearched")); err != nil {
		return errors.Join(err, e.end(ctx))
	}
	search, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		for search.Err() == nil {
			if err := e.call(ctx, session, "grep", object{"pattern": "zz_no_such_text_zz", "path": path}); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	err = keys("key")
	stop()
	return errors.Join(err, <-ended, memory("searched"), e.end(ctx))
}
