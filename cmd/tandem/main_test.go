package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tandem/lspserver/wire/wiretest"
	"tandem/sandbox"
	"tandem/tools/mcp/mcptest"
)

// testLevel names the variable that declares which level of the sandbox this machine can do. A script begins with [!full] or [!part]
// where it needs that level or a higher one. Without a declaration Linux has to be able to do all.
const testLevel = "TANDEM_TEST_LEVEL"

// program is the built binary that all tests here run.
var program string

// servesAt names the variable by which this test's own binary becomes a server of HTTP at the port that it has.
const servesAt = "TANDEM_TEST_SERVES"

// serves answers each request with its path, until it is ended.
func serves(port string) error {
	l, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
}

func TestMain(m *testing.M) {
	mcptest.Main()
	if way := os.Getenv("TANDEM_TEST_BESIDE"); way != "" {
		if err := besides(way, os.Getenv("TANDEM_TEST_PATH")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(underFilter) != "" {
		fmt.Fprintln(os.Stderr, filtered(os.Getenv(underFilter), os.Args[1:]))
		os.Exit(1)
	}
	if port := os.Getenv(servesAt); port != "" {
		fmt.Fprintln(os.Stderr, serves(port))
		os.Exit(1)
	}
	apart()
	dir, err := os.MkdirTemp("", "tandem-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // some tests run it as another user
	}
	if err == nil {
		program = filepath.Join(dir, "tandem")
		args := []string{"build", "-o", program}
		if wiretest.Raced() { // then the program runs under the race detector too
			args = append(args, "-race")
		}
		build := exec.Command("go", append(args, ".")...)
		build.Stderr = os.Stderr
		err = build.Run()
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestScripts plays testdata/*.txtar, command lines with what they print and how they end.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
			home := e.WorkDir + "-home" // a folder that holds the home folder would be asked about
			e.Setenv("HOME", home)
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Condition: func(condition string) (bool, error) {
			level, known := map[string]string{"full": sandbox.LevelFull, "part": sandbox.LevelPart}[condition]
			if !known {
				return false, fmt.Errorf("there is no condition %q", condition)
			}
			levels := []string{sandbox.LevelNone, sandbox.LevelPart, sandbox.LevelFull}
			declared := slices.Index(levels, cmp.Or(os.Getenv(testLevel), sandbox.LevelFull))
			return runtime.GOOS == "linux" && slices.Index(levels, level) <= declared, nil
		},
	})
}

// exits runs a program that must end with a given code: exits 2 tandem --nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program args")
	}
	err := ts.Exec(args[1], args[2:]...)
	var ended *exec.ExitError
	if got := 0; errors.As(err, &ended) || err == nil {
		if ended != nil {
			got = ended.ExitCode()
		}
		if fmt.Sprint(got) != args[0] {
			ts.Fatalf("%s: exit code %d, want %s", strings.Join(args[1:], " "), got, args[0])
		}
		return
	}
	ts.Fatalf("%v", err)
}
