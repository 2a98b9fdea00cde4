package workspace

import "context"

// Lock implements filetime.Files. Files that are written on disk are locked against other processes, too.
func (w *Workspace) Lock(ctx context.Context, paths ...string) (unlock func(), err error) {
	return w.locks.Lock(ctx, paths...)
}

// inBuffer reports that a change of a path goes to the editor's buffer, which no other process has.
func (w *Workspace) inBuffer(path string) bool {
	if !w.o.Features.Apply {
		return false
	}
	w.mu.Lock()
	f := w.files[path]
	w.mu.Unlock()
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open()
}
