// Package outputs keeps answers of a session that were too long for its model, so that the model
// can read on where they were cut. They end with the session.
package outputs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Prefix is what the path of an output begins with, before its id.
const Prefix = "output:"

const (
	// Width is how many characters a line has at most: a longer one becomes several, so that all of
	// it can be shown.
	Width = 2000
	// maxMemory is how many bytes of outputs are held in memory where there is no file, maxSpilled
	// how many in files, and fullFile the size from which on a file takes no further one.
	maxMemory, maxSpilled, fullFile = 2 << 20, 64 << 20, 8 << 20
)

// ErrGone is the error for an output that was dropped after later ones, or that an earlier process
// kept and Recall does not find.
var ErrGone = errors.New("the output is not kept any more")

// File is a temporary file without a name. Its content is gone once it is closed.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
}

// Outputs are those of one session. The zero value keeps them in memory alone. All methods may be
// called concurrently.
type Outputs struct {
	// Spill makes a file for outputs, so that a session at rest holds none of them in memory. Where
	// it is nil or fails, memory has the latest ones.
	Spill func() (File, error)
	// Recall finds an answer that is not here in what is kept of the session elsewhere; may be nil.
	Recall func(id string) (text string, ok bool)

	mu     sync.Mutex
	list   []*output // the oldest first
	files  []*spill  // the oldest first; the last one is appended to
	closed bool
}

type output struct {
	id   string
	text string // where file is nil
	file *spill
	at   int64 // in the file
	size int
}

// spill is a file with outputs, one behind the other.
type spill struct {
	File
	size int64
}

// ID is the id for the answer to a call: that of the call, where a path can have it as it is, else
// a hash of it.
func ID(call string) string {
	plain := call != "" && len(call) <= 64 && strings.Trim(call, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
	if plain {
		return call
	}
	return fmt.Sprintf("call_%x", sha256.Sum256([]byte(call)))[:16]
}

// Lines is the form in which a text is kept: lines of at most Width characters.
func Lines(s string) string {
	var b strings.Builder
	from, n := 0, 0
	for i, r := range s {
		switch {
		case r == '\n':
			n = -1
		case n == Width:
			if from == 0 {
				b.Grow(len(s) + len(s)/Width + 1) // a line end after every Width bytes or more
			}
			b.WriteString(s[from:i])
			b.WriteByte('\n')
			from, n = i, 0
		}
		n++
	}
	if from == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// Keep keeps the Lines of a text under an id, the latest where the id was used before. It drops the
// oldest ones if there are too many.
func (o *Outputs) Keep(id, text string) {
	text = Lines(text)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.drop(func(p *output) bool { return p.id == id })
	p := &output{id: id, size: len(text)}
	if !o.spill(p, text) {
		p.text = text
	}
	o.list = append(o.list, p)
	for o.spilled() > maxSpilled {
		oldest := o.files[0]
		o.drop(func(p *output) bool { return p.file == oldest })
	}
	memory, much := 0, map[*output]bool{}
	for _, p := range slices.Backward(o.list) {
		if much[p] = memory+len(p.text) > maxMemory; !much[p] {
			memory += len(p.text)
		}
	}
	o.drop(func(p *output) bool { return much[p] })
}

// spill writes an output to the last file, or to a new one if that is full. o.mu is held.
func (o *Outputs) spill(p *output, text string) bool {
	if o.Spill == nil || len(text) > maxSpilled {
		return false
	}
	if n := len(o.files); n == 0 || o.files[n-1].size > 0 && o.files[n-1].size+int64(len(text)) > fullFile {
		f, err := o.Spill()
		if err != nil {
			return false
		}
		o.files = append(o.files, &spill{File: f})
	}
	f := o.files[len(o.files)-1]
	n, err := io.WriteString(f.File, text)
	p.at, f.size = f.size, f.size+int64(n)
	if err != nil {
		return false
	}
	p.file = f
	return true
}

// spilled is how many bytes the files have. o.mu is held.
func (o *Outputs) spilled() (n int64) {
	for _, f := range o.files {
		n += f.size
	}
	return n
}

// drop forgets outputs, and closes the files that have none any more. o.mu is held.
func (o *Outputs) drop(which func(*output) bool) {
	o.list = slices.DeleteFunc(o.list, which)
	o.files = slices.DeleteFunc(o.files, func(f *spill) bool {
		if slices.ContainsFunc(o.list, func(p *output) bool { return p.file == f }) {
			return false
		}
		_ = f.Close()
		return true
	})
}

// Get gives the text of an output. The error is ErrGone, or that of its file.
func (o *Outputs) Get(id string) (string, error) {
	text, err := o.get(id)
	if errors.Is(err, ErrGone) && o.Recall != nil {
		if old, ok := o.Recall(id); ok {
			return Lines(old), nil
		}
	}
	return text, err
}

func (o *Outputs) get(id string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.list, func(p *output) bool { return p.id == id })
	switch {
	case i < 0:
		return "", ErrGone
	case o.list[i].file == nil:
		return o.list[i].text, nil
	}
	p := o.list[i]
	var b strings.Builder
	b.Grow(p.size)
	if _, err := io.Copy(&b, io.NewSectionReader(p.file, p.at, int64(p.size))); err != nil {
		return "", err
	}
	return b.String(), nil
}

// Has reports whether an output is kept here.
func (o *Outputs) Has(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.ContainsFunc(o.list, func(p *output) bool { return p.id == id })
}

// Close forgets all outputs. None is kept any more.
func (o *Outputs) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.drop(func(*output) bool { return true })
}
