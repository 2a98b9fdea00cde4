package tree

import (
	"context"
	"fmt"
	"io/fs"

	"tandem/sandbox"
)

// Outlook is what a look at a root says of the index that searches of it would have. None is built for it.
type Outlook struct {
	// Files and Folders are how many a search comes by, Most how many files an index may have.
	Files, Folders, Most int
	// Reason is why there can be no index, "" where there can be one.
	Reason string
	// Few says that the root has too few files for one.
	Few bool
	// Watched is how many folders the system can watch for an index. Where the root has more, each search compares all files with
	// the file system.
	Watched int
}

const (
	remoteReason = gaveUpError("the folder is on a file system that does not tell of changes")
	keysReason   = gaveUpError("keys are kept in the folder")
)

// tooMany is why a root with more files than that has no index.
func tooMany(most int) gaveUpError {
	return gaveUpError(fmt.Sprintf("it has more than %d files", most))
}

// Foresee looks at a root, with the limits that Indexes have by default. The error is the cause of ctx, or one of os.
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
