package backend

import (
	"context"
	"sync"

	"tandem/sandbox"
)

// consent is what a person has said about wide folders, each of which is asked about once. The zero value knows no answer.
type consent struct {
	asking  sync.Mutex // held while a person is asked: one question at a time
	allowed map[string]bool
}

// add makes folders roots. About each one that is wide a person is asked; without a yes it is none, and the error is an *Error. A nil
// ask is a no.
func (c *consent) add(ctx context.Context, roots *sandbox.Roots, ask func(context.Context, string) bool, folders ...string) error {
	for _, folder := range folders {
		if roots.Wide(folder) && !c.given(ctx, ask, folder) {
			return refuse(NotPermitted, "%s is a folder as wide as your home folder, or holds Tandem's own configuration, and nobody has "+
				"allowed to work in it. Open the folder of a project.", folder)
		}
		roots.Add(folder)
	}
	return nil
}

// given asks about a wide folder unless the answer was yes before. Folders that need no question never wait for one.
func (c *consent) given(ctx context.Context, ask func(context.Context, string) bool, folder string) bool {
	c.asking.Lock()
	defer c.asking.Unlock()
	if !c.allowed[folder] && ask != nil && ask(ctx, folder) {
		if c.allowed == nil {
			c.allowed = map[string]bool{}
		}
		c.allowed[folder] = true
	}
	return c.allowed[folder]
}
