package backend

import (
	"context"
	"sync"

	"tandem/sandbox"
)

// consent is what a person has said about wide folders, each of which is asked about once. The zero value knows no answer.
type consent struct {
	mu      sync.Mutex // held while a person is asked
	allowed map[string]bool
}

// add makes folders roots. About each one that is wide a person is asked; without a yes it is none, and the error is an *Error. A nil
// ask is a no.
func (c *consent) add(ctx context.Context, roots *sandbox.Roots, ask func(context.Context, string) bool, folders ...string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, folder := range folders {
		if roots.Wide(folder) && !c.allowed[folder] {
			if ask == nil || !ask(ctx, folder) {
				return refuse(NotPermitted, "%s is a folder as wide as your home folder, or holds Tandem's own configuration, and nobody has "+
					"allowed to work in it. Open the folder of a project.", folder)
			}
			if c.allowed == nil {
				c.allowed = map[string]bool{}
			}
			c.allowed[folder] = true
		}
		roots.Add(folder)
	}
	return nil
}
