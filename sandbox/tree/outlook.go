package tree

import (
	"context"
	"fmt"
	"io/fs"

	"tandem/sandbox"
)

// Outlook is a forecast of a root's index. No index is built for it.
type Outlook struct {
	// Files and Folders count what a search visits, Most is the limit of files in an index.
	Files, Folders, Most int
	// Reason is why there can be no index, "" if there can be one.
	Reason string
	// Few is set if the root has too few files for an index.
	Few bool
	// Watched is the number of folders that the system can watch. With more folders, each search
	// compares all files with the file system.
	Watched int
}

const (
	remoteReason = gaveUpError("the folder is on a file system that does not tell of changes")
	keysReason   = gaveUpError("keys are kept in the folder")
)

// tooMany is the reason for a root with too many files.
func tooMany(most int) gaveUpError {
	return gaveUpError(fmt.Sprintf("it has more than %d files", most))
}

// Foresee forecasts the index of a root with the default limits. The error is the cause of ctx, or
// one of os.
func Foresee(ctx context.Context, root sandbox.Place) (Outlook, error) {
	return foresee(ctx, root, defaultMinFiles, defaultMaxFiles)
}

func foresee(ctx context.Context, root sandbox.Place, least, most int) (Outlook, error) {
	o := Outlook{Folders: 1, Most: most, Watched: maxWatches()}
	t, err := Open(root)
	if err != nil {
		return o, err
	}
	d, err := t.open(".")
	if err != nil {
		return o, err
	}
	remote := d.Remote()
	d.Close()
	if _, err = t.Walk(ctx, 0, func(e Entry) error {
		switch {
		case e.Type.IsDir():
			o.Folders++
		case e.Type.IsRegular():
			o.Files++
		}
		if o.Files > most {
			return fs.SkipAll
		}
		return nil
	}); err != nil {
		return o, err
	}
	switch {
	case root.Class().Unlisted():
		o.Reason = string(keysReason)
	case remote:
		o.Reason = string(remoteReason)
	case o.Files > most:
		o.Reason = string(tooMany(most))
	}
	o.Few = o.Files < least
	return o, nil
}
