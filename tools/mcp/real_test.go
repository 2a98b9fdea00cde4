package mcp_test

import (
	"bufio"
	"cmp"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/tools/mcp"
)

// typescriptSDK is a folder with the servers of testdata and the packages that they need, which editors/test/run.sh installs.
func typescriptSDK(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip(err)
	}
	packages := filepath.Join(cmp.Or(os.Getenv("TANDEM_EDITORS"), filepath.Join(cache, "tandem-editors")), "mcp", "node_modules")
	if _, err := os.Stat(filepath.Join(packages, "@modelcontextprotocol", "server")); err != nil {
		t.Skip("the TypeScript SDK is missing: npm install @modelcontextprotocol/server zod")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"server.mjs", "older.mjs"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// listening starts the server at a port, 0 is any free one, and gives its address.
func listening(t *testing.T, dir, name, port string, more ...string) (address string, stop func()) {
	t.Helper()
	c := exec.Command("node", append([]string{name, port}, more...)...)
	c.Dir, c.Stderr = dir, os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strings.TrimSpace(line)), stop
}

// A server of the TypeScript SDK, over HTTP without a session and as a process, that speaks both eras or the newer one alone: it asks, its
// tools change, and over HTTP it goes away in the middle and comes again.
func TestFaultW11TypeScriptSDK(t *testing.T) {
	for _, way := range []string{"http both", "http newer", "stdio both", "stdio newer"} {
		t.Run(way, func(t *testing.T) {
			dir := typescriptSDK(t)
			transport, eras, _ := strings.Cut(way, " ")
			e := mcp.Entry{Name: "real", Command: "node", Args: []string{filepath.Join(dir, "server.mjs"), "stdio", eras}, Own: true, Source: "the test"}
			address, stop := "", func() {}
			if transport == "http" {
				address, stop = listening(t, dir, "server.mjs", "0", eras)
				e = mcp.Entry{Name: "real", URL: "http://" + address + "/mcp", Own: true, Source: "the test"}
			}
			b := begin(t, mcp.Options{}, e)
			b.reply = "red"
			b.prepare(t)
			call := func(tool, want string) {
				t.Helper()
				if r := b.call("mcp__real__"+tool, `{}`); !strings.Contains(r.Data, want) {
					t.Errorf("%s: %s\nwants %s\n%+v", tool, r.Data, want, b.States())
				}
			}
			call("plain", "plain is done")
			call("ask", "the colour is red")
			call("roots", "file://"+b.Root)
			call("sample", "ampling")
			if way == "stdio both" {
				call("push", "red")
			} else {
				call("push", "'elicitation/create' cannot be sent while serving a request on that revision")
			}
			if transport == "http" {
				stop()
				_, port, _ := net.SplitHostPort(address)
				listening(t, dir, "server.mjs", port, eras)
				call("plain", "plain is done")
				call("ask", "the colour is red")
			}
			call("alter", "altered")
			for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if b.set().Get("mcp__real__later") != nil {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("the new tool is not there: %+v", b.States())
				}
			}
			call("later", "later is done")
		})
	}
}

// A server of the older era without a session cannot be told what it has asked: the call fails, and it is said why.
func TestFaultW11WithoutASession(t *testing.T) {
	address, _ := listening(t, typescriptSDK(t), "older.mjs", "0")
	b := begin(t, mcp.Options{}, mcp.Entry{Name: "older", URL: "http://" + address + "/mcp", Own: true, Source: "the test"})
	b.reply = "red"
	b.prepare(t)
	if r := b.call("mcp__older__plain", `{}`); !r.Success {
		t.Error(r.Data)
	}
	if r := b.call("mcp__older__push", `{}`); r.Success || !strings.Contains(r.Data, "keeps no session") {
		t.Error(r.Data)
	}
}
