package mcp

import (
	"sync"
	"testing"

	"tandem/tools"
)

// Servers are started at the same time, and each makes the layers anew: the last ones made must be those that are kept.
func TestLayersOfServersThatStartAtOnce(t *testing.T) {
	for range 2000 {
		s := New(Options{Changed: func() {}})
		var wg sync.WaitGroup
		for range 4 {
			s.list = append(s.list, newServer(s, Entry{Name: "x"}))
		}
		for _, v := range s.list {
			wg.Go(func() {
				v.mu.Lock()
				v.listed = true
				v.mu.Unlock()
				s.changed()
			})
		}
		wg.Wait()
		if n := len(s.Layers()); n != len(s.list) {
			t.Fatalf("%d servers have told their tools and there are %d layers", len(s.list), n)
		}
	}
}

// A server that says that its tools have changed, and tells the same ones, takes none away: a call that answers an earlier request finds
// its tool in the later set.
func TestToolsThatAreToldAgainStayTheSame(t *testing.T) {
	s := New(Options{Changed: func() {}})
	v := newServer(s, Entry{Name: "x"})
	s.list = []*server{v}
	same := toolDescriptor{Name: "same", InputSchema: []byte(`{"type":"object"}`)}
	v.compare([]toolDescriptor{same, {Name: "goes", InputSchema: []byte(`{"type":"object"}`)}})
	base := tools.NewSet()
	before := s.Over(base)
	v.compare([]toolDescriptor{same})
	after := s.Over(base)
	for name, holds := range map[string]bool{"mcp__x__same": true, "mcp__x__goes": false} {
		tool := before.Get(name)
		if tool == nil {
			t.Fatalf("there is no %s", name)
		}
		if after.Holds(tool) != holds {
			t.Errorf("the later set holds %s: %v, want %v", name, !holds, holds)
		}
	}
}
