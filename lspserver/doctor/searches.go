package doctor

import (
	"context"
	"fmt"
	"time"

	"tandem/sandbox"
	"tandem/sandbox/search/index"
	"tandem/tools"
)

// searches looks whether searches of the workspace would have an index. A running server says in
// tandem/status which have one.
func (x *Examination) searches(ctx context.Context) {
	home := x.Getenv("HOME")
	for _, dir := range x.Roots {
		roots := &sandbox.Roots{Home: home}
		roots.Add(dir)
		place, err := roots.Place(sandbox.Canonical(dir))
		var o index.Outlook
		if err == nil {
			looking, cancel := context.WithTimeoutCause(ctx, x.Timeout, late(x.Timeout))
			o, err = index.Foresee(looking, place)
			cancel()
		}
		x.foreseen(dir, o, err)
	}
}

// late is how long a look has taken that was broken off.
type late time.Duration

func (l late) Error() string { return fmt.Sprintf("it took longer than %v", time.Duration(l)) }

// foreseen tells of one root.
func (x *Examination) foreseen(dir string, o index.Outlook, err error) {
	const check = "searches"
	has := fmt.Sprintf("%s: %s in %s", dir, tools.Count(o.Files, "file"), tools.Count(o.Folders, "folder"))
	switch {
	case err != nil:
		x.add(check, note, fmt.Sprintf("%s cannot be scanned: %v", dir, err), "")
	case o.Files > o.Most:
		x.add(check, note, fmt.Sprintf("%s has no index, so each search reads all files: %s", dir, o.Reason),
			"list the folders to skip in .ignore, or open a subfolder")
	case o.Few:
		x.add(check, fine, has+", too few for an index, so each search reads all files", "")
	case o.Reason != "":
		x.add(check, note, fmt.Sprintf("%s, without an index, so each search reads all files: %s", has, o.Reason), "")
	case o.Folders > o.Watched:
		why := fmt.Sprintf("since the system watches at most %d folders", o.Watched)
		x.add(check, note, has+", with an index, but each search checks every file, "+why,
			fmt.Sprintf("sysctl fs.inotify.max_user_watches=%d", 4*o.Folders))
	default:
		x.add(check, fine, has+", indexed after the first search", "")
	}
}
