package index

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"sync"

	"tandem/sandbox"
	"tandem/sandbox/tree"
)

// Head is how many bytes of a file are read at once; what a file has beyond comes by a Reader.
const Head = 8 << 20

// File is a regular file that a scan reads. Its content is valid during one call.
type File struct {
	// Path is relative to the tree's directory.
	Path string
	// Head is the beginning of the file, Rest what follows, nil where that is all.
	Head []byte
	Rest io.Reader
}

// Sniffed is how much of a file is looked at for a NUL: one that has one there is binary, and a
// scan may leave it out.
const Sniffed = 64 << 10

// Options say what a scan is about.
type Options struct {
	// Wants says which files are read, by their paths relative to the tree's directory.
	Wants func(path string) bool
	// Need are texts that a file must have to be of use: one of each list, whatever the case of
	// ASCII letters. Each of them lies within one line, or the part of it that does counts. Files
	// without may be left out.
	Need [][]string
	// OneLine says that all that is needed has to be in the same line.
	OneLine bool
	// Indexes may know which files have them; may be nil.
	Indexes *Indexes
	// Narrowed is called before the first file if files without them are left out; may be nil.
	Narrowed func()
}

// Scan reads the regular files that a walk comes by and that are wanted, several at a time. Each
// goroutine has a worker of its own, which is called for one file after the other; its answers go
// to deliver one at a time in the order of the walk, until that answers false. Files that cannot be
// read are left out. The only error is the cause of ctx: then what was found up to a file that was
// not looked at has been delivered. A worker is done with a file soon after ctx has ended.
func Scan[T any](
	ctx context.Context, t *tree.Tree, o Options, worker func() func(File) (T, bool), deliver func(path string, found T) bool,
) error {
	defer o.Indexes.Search()()
	s := &scan[T]{deliver: deliver, tasks: make(chan *batch[T], 2*runtime.GOMAXPROCS(0))}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var working sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		working.Go(func() {
			work, buf := worker(), o.Indexes.buffer()
			defer func() { o.Indexes.reuse(buf) }()
			for b := range s.tasks {
				if ctx.Err() == nil {
					buf = b.read(ctx, t, work, buf)
				}
				close(b.done)
				b.release()
			}
		})
	}
	order := make(chan *batch[T], 16)
	ended := make(chan bool, 1)
	go func() { ended <- s.collect(order, stop) }()
	b, size := &batch[T]{done: make(chan struct{})}, 1
	flush := func() {
		if len(b.files) == 0 {
			return
		}
		select {
		case order <- b:
		case <-ctx.Done():
			b.release()
			b = &batch[T]{done: make(chan struct{})}
			return
		}
		s.tasks <- b
		b, size = &batch[T]{done: make(chan struct{})}, min(2*size, 64)
	}
	visit := func(d *sandbox.Dir, name, path string) error {
		if len(b.files) == 0 || b.files[len(b.files)-1].dir != d {
			b.dirs++
		}
		d.Hold()
		b.files = append(b.files, found[T]{dir: d, name: name, path: path})
		if len(b.files) >= size || b.dirs >= 8 {
			flush()
		}
		return nil
	}
	err := o.walk(ctx, t, visit)
	flush()
	close(s.tasks)
	close(order)
	enough := <-ended
	working.Wait()
	if missing := t.Incomplete(); missing != nil {
		return missing
	}
	if enough {
		return nil
	}
	return err
}

// walk visits the files that are wanted, with the help of an index where there is one.
func (o Options) walk(ctx context.Context, t *tree.Tree, visit func(d *sandbox.Dir, name, path string) error) error {
	x := o.Indexes.indexFor(t)
	if ok, err := x.scan(ctx, t, o, visit); ok {
		return err
	}
	_, err := x.walkDisk(ctx, t, 0, func(e tree.Entry) error {
		if !e.Type.IsRegular() || !o.Wants(e.Path) {
			return nil
		}
		dir, name := e.In()
		return visit(dir, name, e.Path)
	})
	return err
}

// scan is one run of Scan.
type scan[T any] struct {
	deliver func(string, T) bool
	tasks   chan *batch[T]
}

// batch is some files of a walk in a row.
type batch[T any] struct {
	files []found[T]
	dirs  int // folders that it holds open
	done  chan struct{}
}

type found[T any] struct {
	dir        *sandbox.Dir
	name, path string
	result     T
	// looked says that it was read, or cannot be, ok that the worker has an answer.
	looked, ok bool
}

// collect delivers what was found in order, and ends the scan where that is enough.
func (s *scan[T]) collect(order <-chan *batch[T], stop context.CancelCauseFunc) (enough bool) {
	gap := false
	for b := range order {
		<-b.done
		for i := range b.files {
			f := &b.files[i]
			gap = gap || !f.looked
			if f.ok && !enough && !gap && !s.deliver(f.path, f.result) {
				enough = true
				stop(fs.SkipAll)
			}
		}
	}
	return enough
}

// read reads the files of a batch into buf, which grows where one has no room in it.
func (b *batch[T]) read(ctx context.Context, t *tree.Tree, work func(File) (T, bool), buf []byte) []byte {
	for i := range b.files {
		f := &b.files[i]
		if ctx.Err() != nil {
			return buf
		}
		f.looked = true
		n, rest, err := f.dir.Read(f.name, buf)
		if err != nil {
			_ = t.Note(err)
			continue
		}
		if rest != nil && len(buf) < Head {
			if buf, n, rest, err = more(buf, n, rest); err != nil {
				continue
			}
		}
		file := File{Path: f.path, Head: buf[:n]}
		if rest != nil {
			file.Rest = rest
		}
		f.result, f.ok = work(file)
		if rest != nil {
			_ = rest.Close()
		}
	}
	return buf
}

// more reads on into a larger buffer, up to Head. With an error there is no rest.
func more(buf []byte, n int, rest io.ReadCloser) (_ []byte, _ int, _ io.ReadCloser, err error) {
	for n == len(buf) && n < Head {
		room := 4 * len(buf)
		if f, is := rest.(*os.File); is {
			if info, err := f.Stat(); err == nil { // one more byte has the end noticed
				room = int(min(max(info.Size(), int64(n))+1, Head))
			}
		}
		room = min(max(room, 2*len(buf)), Head)
		buf = append(make([]byte, 0, room), buf[:n]...)
		buf = buf[:cap(buf)]
		got, err := io.ReadFull(rest, buf[n:])
		if n += got; err != nil {
			_ = rest.Close()
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				err = nil
			}
			return buf, n, nil, err
		}
	}
	return buf, n, rest, nil
}

func (b *batch[T]) release() {
	for i := range b.files {
		b.files[i].dir.Close()
	}
}

// Read reads the beginning of a file by its path relative to a tree's directory. rest is nil, or
// what follows, until it is closed.
func Read(t *tree.Tree, name string) (head []byte, rest io.ReadCloser, err error) {
	dir, base := path.Split(name)
	d, err := t.OpenDir(dir)
	if err != nil {
		return nil, nil, cmp.Or(t.Note(err), err)
	}
	defer d.Close()
	buf := make([]byte, 64<<10)
	n, rest, err := d.Read(base, buf)
	if err == nil && rest != nil {
		buf, n, rest, err = more(buf, n, rest)
	}
	if err != nil {
		err = cmp.Or(t.Note(err), err)
	}
	return buf[:n], rest, err
}
