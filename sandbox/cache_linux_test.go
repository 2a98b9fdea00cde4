package sandbox

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCaseS04Caches: build tools work where the home folder cannot be written, and what they keep is in a folder of the workspace.
func TestCaseS04Caches(t *testing.T) {
	levels(t, func(t *testing.T, s *suite) {
		s.Cache = s.dir + "/cache"
		env := func(name string) string {
			return strings.TrimSpace(s.does(t, Loopback, "echo $"+name).Stdout)
		}
		cache := env("XDG_CACHE_HOME")
		if filepath.Dir(cache) != s.Cache || env("GOCACHE") != cache+"/go-build" || env("CARGO_NET_OFFLINE") != "true" || env("HTTPS_PROXY") != "" {
			t.Errorf("%s: %+v", cache, s.does(t, Loopback, "env"))
		}
		for tool, line := range map[string]string{
			"go":   `mkdir g && cd g && printf 'module m\ngo 1.26\n' >go.mod && printf 'package m\nfunc F() {}\n' >x.go && go build . && ls $GOCACHE/README`,
			"npm":  `mkdir -p n/dep && cd n && echo '{"name":"n","version":"1.0.0"}' >package.json && echo '{"name":"dep","version":"1.0.0"}' >dep/package.json && npm install --no-audit --no-fund ./dep && ls node_modules/dep && ls $npm_config_cache`,
			"bash": `mkdir -p $PIP_CACHE_DIR && echo x >$PIP_CACHE_DIR/x && ! touch $HOME/.cache && { touch ` + s.Cache + `/x || true; }`,
		} {
			if _, err := exec.LookPath(tool); err != nil {
				t.Errorf("%s is not there to be tried", tool)
				continue
			}
			s.may(t, "export GOTOOLCHAIN=local; "+line)
		}
		if there(s.Cache + "/x") {
			t.Error("it wrote beside its cache")
		}
		if info, err := os.Stat(cache); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v, %v", info, err)
		}
		if o := s.does(t, ReadOnly, "touch "+cache+"/x"); o.ExitCode == 0 {
			t.Error("a command that only reads writes a cache")
		}
		reads := func(s *suite, keeps, line string) string {
			c := bash(line)
			c.Profile, c.Dir, c.Surroundings, c.Keeps = ReadOnly, s.folder, s.in, keeps
			p, err := s.start(t.Context(), c, s.level)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(p.Wait().Stdout)
		}
		own := reads(s, "a server", "touch $XDG_CACHE_HOME/x && echo $XDG_CACHE_HOME")
		if filepath.Dir(own) != s.Cache || own == cache || !there(own+"/x") {
			t.Errorf("what only reads and keeps something has the cache %q", own)
		}
		if at := reads(s, "a server", "ls $XDG_CACHE_HOME/x; touch "+s.folder.path+"/y "+cache+"/y "+s.Cache+"/y"); at != own+"/x" ||
			there(s.folder.path+"/y") || there(cache+"/y") || there(s.Cache+"/y") {
			t.Errorf("the next of that name finds %q", at)
		}
		if at := reads(s, "another", "touch "+own+"/y; echo $XDG_CACHE_HOME"); at == own || there(own+"/y") {
			t.Errorf("another name has the cache %q", at)
		}
		if at := reads(s, "", "touch "+own+"/y; echo $XDG_CACHE_HOME"); filepath.Dir(at) == s.Cache || there(own+"/y") {
			t.Errorf("without a name it is %q", at)
		}
		s.blocked(t, "touch "+own+"/y")
		s.Cache = "" // then it is among the temporary files
		s.may(t, `mkdir -p $XDG_CACHE_HOME && test $XDG_CACHE_HOME = $TMPDIR/cache`)
		other := newSuite(t, s.level)
		other.Cache = s.dir + "/cache"
		if at := strings.TrimSpace(other.does(t, Loopback, "echo $XDG_CACHE_HOME; ls "+cache).Stdout); at == cache || filepath.Dir(at[:len(cache)]) != other.Cache {
			t.Errorf("another workspace has %s", at)
		}
		other.blocked(t, "touch "+cache+"/x")
	})
}

// TestTidy removes caches that were not used for long.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	must(t, os.MkdirAll(dir+"/old/a", 0o700), os.Mkdir(dir+"/new", 0o700), os.WriteFile(dir+"/file", nil, 0o600),
		os.Chtimes(dir+"/old", now, now.Add(-2*unused)), os.Chtimes(dir+"/file", now, now.Add(-2*unused)))
	tidy(dir, now.Add(-unused))
	if there(dir+"/old") || !there(dir+"/new") || !there(dir+"/file") {
		t.Error("the wrong ones")
	}
	tidy(dir+"/none", now)
}

// TestProxied: commands of the profile Proxy reach the hosts that are named by the proxy of the server, and nothing else.
func TestProxied(t *testing.T) {
	s := newSuite(t, LevelFull)
	s.Cache = s.dir + "/cache"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.Host) }))
	defer server.Close()
	at := server.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	ask := func(line string) string {
		return `exec 3<>/dev/tcp/127.0.0.1/47801; printf '` + line + `\r\nHost: x\r\nConnection: close\r\n\r\n' >&3; cat <&3`
	}
	says := func(hosts []string, line, want string) {
		t.Helper()
		s.in.Hosts = hosts
		if o := s.does(t, Proxy, line); !strings.Contains(o.Stdout, want) {
			t.Errorf("%v: %s: %+v", hosts, line, o)
		}
	}
	named := []string{"localhost:" + port, "127.0.0.1:" + port}
	get := ask(fmt.Sprintf("GET http://localhost:%s/ HTTP/1.1", port))
	says(named, get, "is not connected to: it is this machine")
	says(named, ask("CONNECT example.org:443 HTTP/1.1"), "is none of the hosts")
	s.system.close() // the next keepers have a proxy that may connect to this machine
	s.system.dialer.Judge = func(netip.Addr) error { return nil }
	says(named, get, "page localhost:"+port)
	says(nil, get, "is none of the hosts")
	says(named, get, "page localhost:"+port)
	says(named, "exec 3<>/dev/tcp/127.0.0.1/"+port+" || echo refused", "refused")
	says(named, "echo $https_proxy $HTTP_PROXY $GOMODCACHE $CARGO_HOME", "http://127.0.0.1:47801 http://127.0.0.1:47801 "+s.Cache)
	if o := s.does(t, Loopback, get); o.ExitCode == 0 {
		t.Errorf("another profile has a proxy: %+v", o)
	}
	part := newSuite(t, LevelPart)
	part.in.Hosts = named
	if o := part.does(t, Proxy, "echo $https_proxy; "+get); o.ExitCode == 0 || strings.Contains(o.Stdout, "http://") {
		t.Errorf("without a network namespace: %+v", o)
	}
	s.in.Hosts = []string{"*.example.org"}
	c := bash("true")
	c.Profile, c.Dir, c.Surroundings = Proxy, s.folder, s.in
	if _, err := s.start(t.Context(), c, LevelFull); err == nil {
		t.Error("it runs with hosts that make no sense")
	}
}
