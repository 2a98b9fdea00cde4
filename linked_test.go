package tandem

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestLinkedProgram links the program. No function that looks up methods by name is reachable, for
// which the linker would keep every exported method. Package initialisers make few allocations:
// they run before the answer to initialize, and again in the keeper of each command.
func TestLinkedProgram(t *testing.T) {
	const maxAllocations = 100
	program := filepath.Join(t.TempDir(), "tandem")
	link := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-dumpdep", "-o", program, "./cmd/tandem")
	graph, err := link.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, graph)
	}
	if !bytes.Contains(graph, []byte("main.main -> ")) {
		t.Fatal("the linker prints no graph")
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(graph) {
		function, _, found := bytes.Cut(line, []byte(" <ReflectMethod> -> "))
		if found && !seen[string(function)] {
			seen[string(function)] = true
			t.Errorf("%s looks up methods by name", function)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	start := exec.CommandContext(t.Context(), program, "version")
	start.Env = append(start.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	start.Stderr = &trace
	if err := start.Run(); err != nil {
		t.Fatalf("%v: %s", err, &trace)
	}
	initialiser := regexp.MustCompile(`^init (\S+) .* (\d+) allocs$`)
	ours, packages := 0, []string(nil)
	for s := bufio.NewScanner(&trace); s.Scan(); {
		m := initialiser.FindStringSubmatch(s.Text())
		if m == nil || m[1] != "main" && !strings.HasPrefix(m[1], "tandem/") {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if ours += n; n > 0 {
			packages = append(packages, m[1]+" "+m[2])
		}
	}
	if len(packages) == 0 {
		t.Errorf("no initialisers are listed:\n%s", trace.String())
	}
	if ours > maxAllocations {
		t.Errorf("package initialisers make %d allocations, more than %d: %s", ours, maxAllocations, strings.Join(packages, ", "))
	}
}
