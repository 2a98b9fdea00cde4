package main

import (
	"os"
	"reflect"
	"testing"

	"tandem/cmd/commandline"
)

// TestPlainStart wants the short way to give what the parser gives, and to leave to it everything else.
func TestPlainStart(t *testing.T) {
	unset := func(string) (string, bool) { return "", false }
	for _, args := range [][]string{{"--stdio"}, {"serve", "--stdio"}} {
		var got, want cli
		if !got.fillFromPlainArgs(args, unset) {
			t.Fatalf("%q: not the short way", args)
		}
		t.Setenv("TANDEM_MODEL", "")
		parsed := args
		if args[0] != "serve" {
			parsed = append([]string{"serve"}, args...)
		}
		if _, err := (commandline.Program{Getenv: os.LookupEnv}).Parse(&want, parsed); err != nil {
			t.Fatal(err)
		}
		for i, typ := 0, reflect.TypeFor[cli](); i < typ.NumField(); i++ {
			f := typ.Field(i)
			if _, command := f.Tag.Lookup("cmd"); command && f.Name != "Serve" {
				continue
			}
			g, w := reflect.ValueOf(got).Field(i).Interface(), reflect.ValueOf(want).Field(i).Interface()
			if !reflect.DeepEqual(g, w) {
				t.Errorf("%q: %s is %v, the parser says %v", args, f.Name, g, w)
			}
		}
	}
	for _, args := range [][]string{nil, {"serve"}, {"--stdio", "--mode=auto"}, {"--stdio", "--help"}, {"--stdio", "--bad"}} {
		if (&cli{}).fillFromPlainArgs(args, unset) {
			t.Errorf("%q: the short way", args)
		}
	}
	if (&cli{}).fillFromPlainArgs([]string{"--stdio"}, func(name string) (string, bool) { return "x", name == "TANDEM_MODEL" }) {
		t.Error("TANDEM_MODEL is not looked at")
	}
}
