package main

import (
	"strings"
	"testing"
)

func TestPrinted(t *testing.T) {
	t.Setenv("TANDEM_TEST_SECRET_KEY", "k-1")
	if got, err := printed([]string{"sh", "-c", "printf %s $TANDEM_TEST_SECRET_KEY"}); got != "k-1" || err != nil {
		t.Errorf("a key of the environment: %q, %v", got, err)
	}
	if _, err := printed([]string{"sh", "-c", "echo locked >&2; exit 3"}); err == nil || !strings.Contains(err.Error(), "3: locked") {
		t.Errorf("a command that fails: %v", err)
	}
	if _, err := printed([]string{"/nowhere/at/all"}); err == nil {
		t.Error("a command that is not there gives no error")
	}
}
