package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// ProbeName is the first argument of this program where it tries, as a command, what a sandbox
// ought to keep it from. The others are the folder of the trial and the process id of the server.
// Its standard output lists the restrictions that it got past; empty output is success.
const ProbeName = "tandem-sandbox-probe"

// probe is the command of a trial. full says that there are namespaces.
func probe(dir, server string, full bool) int {
	at := func(name string) string { return filepath.Join(dir, name) }
	could := func(what string, err error) {
		if err == nil {
			fmt.Println(what)
		}
	}
	if err := os.WriteFile(at(ProbeInside+"/x"), nil, 0o600); err != nil {
		fmt.Println("not even what is allowed can be written: " + err.Error())
	}
	could("a file outside can be written", os.WriteFile(at(ProbeOutside+"/x"), nil, 0o600))
	_, err := os.ReadFile(at(ProbeKey))
	could("a hidden file can be read", err)
	port, err := os.ReadFile(at(ProbePort))
	if err != nil {
		fmt.Println("not even what is allowed can be read: " + err.Error())
	}
	for what, address := range map[string][2]string{
		"the network of the host can be reached":   {"tcp", "127.0.0.1:" + string(port)},
		"an abstract socket can be reached":        {"unix", "@" + at(ProbeSocket)},
		"a socket of the file system is reachable": {"unix", at(ProbeSocket)},
	} {
		c, err := net.DialTimeout(address[0], address[1], time.Second)
		could(what, err)
		if err == nil {
			_ = c.Close()
		}
	}
	pid, err := strconv.Atoi(server)
	could("the server can be sent signals", errors.Join(err, syscall.Kill(pid, 0)))
	_, err = os.ReadFile("/proc/" + server + "/environ")
	could("the server can be looked into", err)
	status, err := os.ReadFile("/proc/self/status")
	lines := []string{"NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"}
	if full {
		lines = append(lines, "CapBnd:\t0000000000000000")
	}
	for _, line := range lines {
		if !bytes.Contains(status, []byte("\n"+line+"\n")) {
			fmt.Printf("it is not %q: %v\n", line, err)
		}
	}
	if full {
		_, err := os.ReadDir("/proc/1/root") // the keeper, which sees what the server does
		could("the files of the host can be reached", err)
		could("what is protected can be written", os.WriteFile(at(ProbeHooks+"/x"), nil, 0o600))
		could("what is protected can be renamed", os.Rename(at(ProbeInside+"/.git"), at(ProbeInside+"/git")))
		could("modes outside can be changed", os.Chmod(at(ProbePort), 0o644))
	}
	return 0
}
