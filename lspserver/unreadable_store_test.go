package lspserver_test

import (
	"fmt"
	"strings"
	"testing"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/lspserver/conformance"
)

// If the store cannot be read, a request for a stored session says so, and not that there is no such session.
func TestSessionsThatCannotBeRead(t *testing.T) {
	o := options(nil)
	o.Store = func(config.Config) (store.Store, error) {
		return nil, fmt.Errorf("sessions.db: %w", store.ErrNewer)
	}
	r := start(t, conformance.Options{}, o)
	for _, method := range []string{"load", "delete", "export"} {
		e := r.refused("tandem/session/"+method, map[string]any{"sessionId": "s-of-before", "format": "markdown"})
		if e.Code != -32011 || !strings.Contains(e.Message, store.ErrNewer.Error()) {
			t.Errorf("%s: %+v", method, e)
		}
	}
	r.end()
}
