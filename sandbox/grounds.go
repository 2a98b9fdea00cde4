//go:build linux || darwin

package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"tandem/sandbox/keeper"
)

// grounds are where a trial of the sandbox takes place: a folder with the names that keeper has for
// it, and servers of this process.
type grounds struct {
	dir     string
	folder  *Folder // that the command begins in
	paths   *Paths  // what it may reach
	port    string  // of a server of this process
	reached atomic.Bool

	servers []net.Listener
}

// newGrounds makes them. They must be closed.
func newGrounds() (made *grounds, err error) {
	dir, err := os.MkdirTemp("", "tandem-probe-")
	if err != nil {
		return nil, err
	}
	g := &grounds{dir: Canonical(dir)}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if err := errors.Join(
		os.MkdirAll(g.at(keeper.ProbeHooks), 0o700), os.Mkdir(g.at(keeper.ProbeOutside), 0o700), os.MkdirAll(filepath.Dir(g.at(keeper.ProbeKey)), 0o700),
		os.WriteFile(g.at(keeper.ProbeKey), []byte("key\n"), 0o600),
	); err != nil {
		return nil, err
	}
	for _, address := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", g.at(keeper.ProbeSocket)}, {"unix", "@" + g.at(keeper.ProbeSocket)}} {
		listener, err := net.Listen(address[0], address[1])
		if err != nil {
			continue // then nobody can reach it
		}
		g.servers = append(g.servers, listener)
		if tcp, ok := listener.Addr().(*net.TCPAddr); ok {
			g.port = strconv.Itoa(tcp.Port)
		}
		go func() {
			if c, err := listener.Accept(); err == nil {
				g.reached.Store(true)
				_ = c.Close()
			}
		}()
	}
	home := g.at("home")
	g.folder = OpenFolder(g.at(keeper.ProbeInside))
	g.paths = &Paths{
		Cwd: g.folder.path, Write: []string{g.folder.path}, Read: []string{g.at(keeper.ProbeOutside), home}, Home: home,
	}
	return g, os.WriteFile(g.at(keeper.ProbePort), []byte(g.port), 0o600)
}

// at is the path of a name in the folder.
func (g *grounds) at(name string) string { return filepath.Join(g.dir, name) }

func (g *grounds) close() {
	for _, s := range g.servers {
		_ = s.Close()
	}
	if g.folder != nil {
		g.folder.Close()
		g.paths.Close()
	}
	_ = os.RemoveAll(g.dir)
}
