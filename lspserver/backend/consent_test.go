package backend

import (
	"context"
	"testing"

	"tandem/sandbox"
)

// A folder that needs no question is added while a question about another one waits for its answer.
func TestConsentWaitsAlone(t *testing.T) {
	var c consent
	roots := &sandbox.Roots{}
	asked, answer, done := make(chan string), make(chan bool), make(chan error)
	ask := func(_ context.Context, folder string) bool {
		asked <- folder
		return <-answer
	}
	go func() { done <- c.add(t.Context(), roots, ask, "/") }()
	if folder := <-asked; folder != "/" {
		t.Fatal(folder)
	}
	if err := c.add(t.Context(), roots, ask, t.TempDir()); err != nil {
		t.Error(err)
	}
	answer <- true
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := c.add(t.Context(), roots, nil, "/"); err != nil { // asked about once
		t.Error(err)
	}
}
