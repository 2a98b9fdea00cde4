package backend

import (
	"context"
	"fmt"
	"log/slog"

	"tandem/filetime/disk"
)

// recover judges and cleans up the interrupted changes of crashed processes.
func (b *Backend) recover() {
	b.keeper.judging.Lock()
	defer b.keeper.judging.Unlock()
	found, err := b.ws.Recover()
	if err != nil {
		b.log.Error("what earlier processes left cannot be judged", "error", err)
	}
	for _, r := range found {
		level := slog.LevelWarn
		switch r.Outcome {
		case disk.Landed:
			level = slog.LevelDebug
		case disk.NotLanded:
			level = slog.LevelInfo
		}
		for i, f := range r.Files {
			path := r.Intent.Files[i].Path
			b.log.Log(context.Background(), level, "a change was on its way when its process ended",
				"session", r.Session, "call", r.Call, "path", path, "outcome", f.Outcome, "kept", f.Kept)
			if len(f.Kept) > 0 && !f.Merged {
				last := f.Kept[len(f.Kept)-1]
				b.face.Warn(fmt.Sprintf("%s was being saved by another program when Tandem exited. Its text is not in the file; "+
					"a copy is kept: tandem session kept --show %.12s", path, last))
			}
		}
	}
}
