// Package outputs keeps answers of a session that were too long for its model, so that the model can read on where they were cut. They
// end with the session.
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
	// Width is how many characters a line has at most: a longer one becomes several, so that all of it can be shown.
	Width = 2000
	// maxMemory is how many bytes of outputs are held in memory, maxSpilled how many in files, and maxFiles how many files.
	maxMemory, maxSpilled, maxFiles = 2 << 20, 64 << 20, 32
)

// ErrGone is the error for an output that was dropped after later ones, or that an earlier process kept.
var ErrGone = errors.New("the output is not kept any more")

// File is a temporary file without a name. Its content is gone once it is closed.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
}

// Outputs are those of one session. The zero value keeps them in memory alone. All methods may be called concurrently.
type Outputs struct {
	// Spill makes a file for what is too much for memory. Where it is nil or fails, the oldest outputs are dropped instead.
	Spill func() (File, error)

	mu     sync.Mutex
	list   []*output // the oldest first
	closed bool
}

type output struct {
	id   string
	text string // "" once it is in file
	file File
	size int
}

// ID is the id for the answer to a call: that of the call, where a path can have it as it is, else a hash of it.
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

// Keep keeps the Lines of a text under an id, the latest where the id was used before. It drops the oldest ones if there are too many.
func (o *Outputs) Keep(id, text string) {
	text = Lines(text)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.drop(func(p *output) bool { return p.id == id })
	o.list = append(o.list, &output{id: id, text: text, size: len(text)})
	memory, spilled, files := 0, 0, 0
	much := map[*output]bool{}
	for _, p := range slices.Backward(o.list) {
		switch {
		case p.file == nil && memory+p.size <= maxMemory:
			memory += p.size
		case (p.file != nil || o.spill(p)) && spilled+p.size <= maxSpilled && files < maxFiles:
			spilled, files = spilled+p.size, files+1
		default:
			much[p] = true
		}
	}
	o.drop(func(p *output) bool { return much[p] })
}

// spill moves an output into a file. o.mu is held.
func (o *Outputs) spill(p *output) bool {
	if o.Spill == nil {
		return false
	}
	f, err := o.Spill()
	if err != nil {
		return false
	}
	if _, err := io.WriteString(f, p.text); err != nil {
		_ = f.Close()
		return false
	}
	p.file, p.text = f, ""
	return true
}

// drop forgets outputs. o.mu is held.
func (o *Outputs) drop(which func(*output) bool) {
	o.list = slices.DeleteFunc(o.list, func(p *output) bool {
		if !which(p) {
			return false
		}
		if p.file != nil {
			_ = p.file.Close()
		}
		return true
	})
}

// Get gives the text of an output. The error is ErrGone, or that of its file.
func (o *Outputs) Get(id string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.list, func(p *output) bool { return p.id == id })
	switch {
	case i < 0:
		return "", ErrGone
	case o.list[i].file == nil:
		return o.list[i].text, nil
	}
	b := make([]byte, o.list[i].size)
	if _, err := o.list[i].file.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return string(b), nil
}

// Close forgets all outputs. None is kept any more.
func (o *Outputs) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.drop(func(*output) bool { return true })
}
