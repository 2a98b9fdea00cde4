package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
	shellparse "tandem/tools/shell"
)

// lineOf is a command line as the tool bash judges it in a folder.
func lineOf(t testing.TB, text string) tools.Need {
	t.Helper()
	return tools.Need{Act: tools.Runs, Confined: true, Profile: sandbox.Loopback, Shell: shellparse.Parse(t.Context(), text, "/w/app", "/w/app")}
}

// TestFaultS4OtherNamesOfACommand: a deny rule is about what a command does: under an alias, by plumbing, and with words that a runner
// adds.
func TestFaultS4OtherNamesOfACommand(t *testing.T) {
	for verdict, lines := range map[string][]string{
		"deny": {
			"git push", "/usr/lib/git-core/git-push origin", "git-push", "git -C sub push", "git --no-pager -c a=b push -q", "env git push", "xargs git push",
			"git --git-dir x --work-tree y push", "find . -exec git push {} +", "echo x | xargs -I% git push %",
		},
		"ask": {
			"git p", "git -c alias.x=push x", "git send-pack ./remote HEAD:m", "git http-push x", "git-p", "echo push | xargs git", "echo push | xargs -n1 git",
			"echo push | xargs git -C .", "echo push | xargs -I{} git {}", "echo push | xargs -I % git %", "echo git | xargs -I% % push", "echo push | xargs -0i git {}",
			"echo push | xargs --replace=@ git @", "echo push | xargs -I{} sh -c 'git {}'", "echo push | xargs sh -c 'git $0'", "parallel git ::: push", "parallel git {} ::: push",
			"parallel -j2 {} push ::: git", "echo git push | xargs env", "find push -exec git {} \\;", "find . -name push -exec git {} +", "fd -x git", "fd push -x git {/}",
			"echo 'git push' | parallel", "ls | entr git /_", "echo push | xargs busybox git", "xargs xargs git", "git $x", "$x push",
		},
		"allow": {
			"git status", "git log -p", "git ls-files", "git commit -m push", "git add push", "xargs grep push", "find . -exec grep push {} +", "ls | xargs",
			"echo a | xargs -I{} touch {}", "git stash push", "git fetch origin", "git merge-base a b",
		},
	} {
		for _, text := range lines {
			d := command(gate.ModeAuto, lineOf(t, text), rules("deny bash command=git push *")...)
			if d.Verdict.String() != verdict || verdict == "ask" && !d.Once {
				t.Errorf("%s: %v, want %s: %q", text, d, verdict, lineOf(t, text).Shell.Calls)
			}
		}
	}
}

// TestFaultS5OptionsThatRunPrograms: an allow rule with * covers no option that is not in a table, whatever its spelling.
func TestFaultS5OptionsThatRunPrograms(t *testing.T) {
	for pattern, lines := range map[string][]string{
		"go **": {
			"go test ./...", "go test -run X -v ./a", "go test --run=X", "go build -o x ./cmd/x", "go vet ./...", "go list ./...",
			"- go test -exec=./x", "- go test --exec=./x ./...", "- go test -exec ./x", "- go build -toolexec=./x", "- go build --toolexec ./x", "- go vet -vettool=./x",
			"- go vet --vettool=./x", "- go build -ldflags=-extld=./x", "- go build -overlay x", "- go run x@latest", "- go tool x", "- go -C x test", "- go test -C x",
			"- go test -args --x", "- go env -w GOFLAGS=-toolexec=./x", "- go test -vet=off -- -exec=x",
		},
		"gcc **": {
			"gcc -c f.c", "gcc -O2 -Wall -Wno-unused -std=c11 -g -I include -DX=1 -fPIC -march=native -o f f.c -lm",
			"- gcc -wrapper ./x -c f.c", "- gcc --wrapper ./x f.c", "- gcc -fplugin=./x.so f.c", "- gcc -B. f.c", "- gcc -Bx f.c", "- gcc -specs=x f.c", "- gcc --specs=x f.c",
			"- gcc -Wl,-plugin,./x.so f.c", "- gcc -Xlinker -plugin f.c", "- gcc @x", "- gcc -fuse-ld=x f.c", "- gcc -no-integrated-cpp f.c", "- gcc -mllvm -load=./x.so f.c",
		},
		"clang **":  {"- clang -mllvm -load=./x.so f.c", "- clang -Xclang -load f.c", "- clang --config x f.c", "- clang -fpass-plugin=./x f.c"},
		"make **":   {"make", "make all", "make -j4 test", "- make --eval=x", "- make --eval x", "- make -f x", "- make -C x", "- make SHELL=./x", "- make CC=./x all", "- make -E x", "- make --file=x", "- make '$(shell x)'", "- make -I x"},
		"npm **":    {"npm", "npm test", "npm run build", "- npm test -- --reporter ./x", "- npm test --script-shell ./x", "- npm exec x", "- npm install x", "- npm --prefix x test", "- npm run x --node-options=-r=./x"},
		"cargo **":  {"cargo test", "cargo build --release -p x", "- cargo --config x build", "- cargo build --config=x", "- cargo +x build", "- cargo test --manifest-path x", "- cargo evil", "- cargo build -Z x"},
		"pytest **": {"pytest", "pytest -q tests/a.py -k x", "- pytest -p x", "- pytest -c x", "- pytest --rootdir=x", "- pytest -o x=y", "- pytest --pdbcls=x:y"},
		"git **": {
			"git status", "git add a.go", "git commit -m x", "git push origin main", "git push", "- git push ext::sh main", "- git push ./repo main", "- git push --receive-pack=./x origin",
			"- git push --rece=./x origin", "- git fetch --upload-pack ./x origin", "- git rebase -x ./x", "- git rebase --exec=./x a", "- git bisect run ./x", "- git submodule foreach x", "- git p",
			"- git -c core.pager=x log", "- git log --ext-diff", "- git diff --textconv", "- git grep -O x", "- git grep --open-files-in-pager=./x x", "- git merge -s x a", "- git commit -S", "- git add -p",
			"- git difftool -x ./x", "- git config a b", "- git clone ext::x", "- git archive --exec=x", "- git help -m", "- git send-email x", "- git commit --template=x",
		},
		"sort **":   {"sort a", "- sort --compress-program=./x a", "- sort --comp=./x a", "- sort -S 1 --compress-prog ./x a", "- sort -o x a"},
		"rg **":     {"rg x", "- rg --pre ./x y", "- rg --pre=./x y", "- rg --hostname-bin ./x y", "- rg -z y"},
		"find **":   {"find . -name x", "- find . -exec touch x", "- find . -delete", "- find . -fprint x", "- find . -okdir x"},
		"tar **":    {"- tar -xf a", "- tar xf a", "- tar -I ./x -xf a", "- tar --to-command=./x -xf a"},
		"python3 *": {"- python3 x.py", "- python3 -c x"},
		"curl **":   {"curl -sS https://x", "- curl -K x", "- curl --config x", "- curl -o .envrc https://x", "- curl --engine ./x https://x"},
		"ssh *":     {"- ssh x"}, "vim *": {"- vim x"}, "less *": {"- less x"}, "man *": {"- man -P ./x y"}, "zip *": {"- zip -TT ./x a b"}, "rsync *": {"- rsync -e ./x a b"},
		"awk *": {"- awk 'BEGIN{system(\"x\")}'", "- awk -f x"}, "sed *": {"sed -n 1p f", "- sed 1e f", "- sed s/a/b/e f", "- sed -n w f", "- sed -i s/a/b/ f"},
		"eslint **": {"eslint .", "eslint --fix src", "- eslint --rulesdir x .", "- eslint -c x .", "- eslint --resolve-plugins-relative-to x .", "- eslint -f ./x ."},
		"**":        {"ls -la", "go test ./...", "- bash x.sh", "- ./x", "- evil a", "- docker run x", "- env x", "- nice x", "- eval x", "- mvn x"},
	} {
		for _, text := range lines {
			text, refused := strings.CutPrefix(text, "- ")
			want := gate.Allow
			if refused {
				want = gate.Ask
			}
			need := lineOf(t, text)
			need.Danger, need.Shell.ReadOnly = tools.Moderate, false
			if d := command(gate.ModeAsk, need, rules("allow bash command="+pattern)...); d.Verdict != want {
				t.Errorf("%s: %s: %v", pattern, text, d)
			}
		}
	}
	for _, exact := range []string{"bash x.sh", "go test -exec=./x ./...", "make CC=gcc"} { // a person has written each word
		need := lineOf(t, exact)
		need.Shell.Literal = true
		if d := command(gate.ModeAsk, need, rules("allow bash command="+exact)...); d.Verdict != gate.Allow {
			t.Errorf("%s: %v", exact, d)
		}
	}
}

// TestFaultV13PortsAsk: a command whose ports others reach asks each time where the mode lets anybody allow it, whatever rule allows the
// line, and belongs to the class of the network for a deny rule.
func TestFaultV13PortsAsk(t *testing.T) {
	for _, c := range []struct {
		mode  gate.Mode
		rule  string
		ports []int
		want  gate.Verdict
	}{
		{gate.ModeAuto, "", []int{3000}, gate.Ask},
		{gate.ModeAuto, "", nil, gate.Allow},
		{gate.ModeAsk, "allow bash command=npm **", []int{3000}, gate.Ask},
		{gate.ModeAsk, "allow bash command=npm **", nil, gate.Allow},
		{gate.ModePlan, "", []int{3000}, gate.Queue},
		{gate.ModeReadOnly, "", []int{3000}, gate.Deny},
	} {
		need := lineOf(t, "npm start")
		need.Ports = c.ports
		var list []gate.Rule
		if c.rule != "" {
			list = rules(c.rule)
		}
		d := command(c.mode, need, list...)
		asks := d.Verdict == gate.Ask
		if d.Verdict != c.want || asks && (!d.Once || d.Allows != nil || !strings.Contains(d.Reason, "port 3000")) {
			t.Errorf("%+v: %+v", c, d)
		}
	}
	network := []gate.Rule{{Effect: gate.Deny, Tool: "*", Class: tools.ClassNetwork}}
	need := lineOf(t, "npm start")
	if d := command(gate.ModeAuto, need, network...); d.Verdict != gate.Allow {
		t.Errorf("without ports: %+v", d)
	}
	if need.Ports = []int{1, 2}; command(gate.ModeAuto, need, network...).Verdict != gate.Deny {
		t.Error("a deny rule for the network")
	}
	network[0].Effect = gate.Allow
	if d := command(gate.ModeAsk, lineOf(t, "npm start"), network...); d.Verdict != gate.Ask {
		t.Errorf("an allow rule for the network: %+v", d)
	}
}

// TestFaultS9LinesThatAreNotLookedInto: of a line that is too long nobody can tell whether a deny rule is about it, and none allows it.
func TestFaultS9LinesThatAreNotLookedInto(t *testing.T) {
	long := lineOf(t, "ls "+strings.Repeat("a ", 9000))
	long.Danger = tools.Danger(long.Shell.Danger.String())
	for _, c := range []struct{ rule, want string }{
		{"allow bash", "ask"}, {"allow bash command=**", "ask"}, {"deny bash command=git push *", "ask"}, {"ask bash command=git push *", "ask"}, {"deny bash", "deny"},
	} {
		if d := command(gate.ModeAuto, long, rules(c.rule)...); d.Verdict.String() != c.want || c.want == "ask" && !d.Once {
			t.Errorf("%s: %+v", c.rule, d)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	d := gate.New(gate.Options{Mode: gate.ModeAuto}).Judge(gate.Call{Tool: shell, Needs: []tools.Need{line("ls")}, Context: ended})
	if d.Verdict != gate.Deny || !strings.Contains(d.Reason, "ended") {
		t.Errorf("nobody waits for it: %+v", d)
	}
}

// BenchmarkFaultS10ManyRules judges two calls by ten thousand rules of a kind: no more of them are compared than can fit, so that it takes
// about a millisecond at most.
func BenchmarkFaultS10ManyRules(b *testing.B) {
	root := sandbox.Canonical(b.TempDir())
	for name, c := range manyRules(b, root) {
		for _, call := range c.calls {
			b.Run(strings.ReplaceAll(name, " ", "-")+"/"+call.Tool.Spec().Name, func(b *testing.B) {
				for b.Loop() {
					if d := c.policy.Judge(call); d.Verdict != gate.Deny {
						b.Fatalf("%+v", d)
					}
				}
			})
		}
	}
}

// TestFaultS10ManyRules: the one rule that fits is found among ten thousand, whatever they are about.
func TestFaultS10ManyRules(t *testing.T) {
	for name, c := range manyRules(t, sandbox.Canonical(t.TempDir())) {
		for _, call := range c.calls {
			if d := c.policy.Judge(call); d.Verdict != gate.Deny {
				t.Errorf("%s, %s: %+v", name, call.Tool.Spec().Name, d)
			}
		}
	}
}

type judging struct {
	policy *gate.Policy
	calls  []gate.Call
}

// manyRules are policies of ten thousand rules of one kind each, and of two that fit the calls.
func manyRules(t testing.TB, root string) map[string]judging {
	t.Helper()
	at, err := (&sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}).Readable("src/a/b/c/d.go")
	if err != nil {
		t.Fatal(err)
	}
	args, _ := json.Marshal(map[string]string{"path": "src/a/b/c/d.go", "command": "go test ./... && ls"})
	edit := gate.Call{Tool: edits, Args: args, Needs: []tools.Need{{Act: tools.Edits, Place: at, Arg: "path"}}}
	run := gate.Call{Tool: shell, Args: args, Needs: []tools.Need{lineOf(t, "go test ./... && ls src | head; git status"), {Act: tools.Reads, Place: at}}}
	out := map[string]judging{}
	for name, one := range map[string]func(i int) string{
		"other tools":   func(i int) string { return fmt.Sprintf("deny tool%d", i) },
		"programs":      func(i int) string { return fmt.Sprintf("deny bash command=x%d **", i) },
		"subcommands":   func(i int) string { return fmt.Sprintf("deny bash command=git x%d **", i) },
		"files":         func(i int) string { return fmt.Sprintf("deny * path=src/x%d/**", i) },
		"names":         func(i int) string { return fmt.Sprintf("deny edit_file path=**/x%d.go", i) },
		"allowed files": func(i int) string { return fmt.Sprintf("allow edit_file path=src/x%d.go", i) },
		"asked":         func(i int) string { return fmt.Sprintf("ask bash command=y%d", i) },
	} {
		var list []gate.Rule
		for i := range 10_000 {
			list = append(list, rules(one(i))...)
		}
		list = append(list, rules("deny edit_file path=src/a/b/*/d.go", "deny bash command=head *")...)
		out[name] = judging{gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: root, Rules: list}), []gate.Call{edit, run}}
	}
	return out
}

// TestFaultS3EveryPathOfACall: a prohibition about a path holds for each place that a call is about, whichever parameter names it, and
// for what a command names.
func TestFaultS3EveryPathOfACall(t *testing.T) {
	root := sandbox.Canonical(t.TempDir())
	if err := os.MkdirAll(root+"/private", 0o755); err != nil {
		t.Fatal(err)
	}
	paths := &sandbox.Paths{Cwd: root, Read: []string{root}, Write: []string{root}}
	at := func(name string) sandbox.Place {
		p, err := paths.Readable(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	move := tool{spec: tools.Spec{Name: "move_file", Kind: tools.Move}}
	args := json.RawMessage(`{"path":"a","destination":"private/a","cwd":"."}`)
	bash := func(text string, more ...tools.Need) []tools.Need {
		n := lineOf(t, "true")
		n.Shell, n.Place, n.Arg = shellparse.Parse(t.Context(), text, root, root), at("."), "cwd"
		return append([]tools.Need{n}, more...)
	}
	for _, c := range []struct {
		tool  tools.Tool
		needs []tools.Need
		want  string
	}{
		{move, []tools.Need{{Act: tools.Replaces, Place: at("a"), Arg: "path"}, {Act: tools.Creates, Place: at("private/a"), Arg: "destination"}}, "deny"},
		{move, []tools.Need{{Act: tools.Replaces, Place: at("a"), Arg: "path"}, {Act: tools.Creates, Place: at("PRIVATE/a")}}, "deny"},
		{move, []tools.Need{{Act: tools.Replaces, Place: at("a"), Arg: "path"}, {Act: tools.Creates, Place: at("b"), Arg: "destination"}}, "deny"}, // as it was written
		{shell, bash("cat private/a", tools.Need{Act: tools.Reads, Place: at("private/a")}), "deny"},
		{shell, bash("echo x > private/a"), "deny"},
		{shell, bash("cp a private"), "deny"},
		{shell, bash("python3 x.py private/a"), "ask"},
		{shell, bash("python3 -c 'open(\"private/a\")'"), "ask"},
		{shell, bash("tar cf x ./private"), "ask"},
		{shell, bash("cd private && make"), "ask"},
		{shell, bash("grep -r x .", tools.Need{Act: tools.Reads, Place: at("."), Tree: true}), "ask"},
		{shell, bash("grep -r x src", tools.Need{Act: tools.Reads, Place: at("src"), Tree: true}), "allow"},
		{shell, bash("ls", tools.Need{Act: tools.Reads, Place: at(".")}), "allow"},
		{shell, bash("make"), "allow"},
	} {
		for _, rule := range []string{"deny * path=private/**", "deny * path=Private/", "deny * path=" + root + "/private"} {
			d := gate.New(gate.Options{Mode: gate.ModeAuto, Cwd: root, Rules: rules(rule)}).Judge(gate.Call{Tool: c.tool, Args: args, Needs: c.needs})
			if d.Verdict.String() != c.want {
				t.Errorf("%s: %+v: %+v", rule, c.needs[len(c.needs)-1], d)
			}
		}
	}
}

// TestFaultT3RulesOfAFolderAbove: what a workspace's rule forbids or asks about holds in the folders below it, and what it allows does not.
func TestFaultT3RulesOfAFolderAbove(t *testing.T) {
	for _, c := range []struct{ effect, cwd, want string }{
		{"deny", "/w", "deny"},
		{"deny", "/w/app", "deny"},
		{"deny", "/w/app/sub", "deny"},
		{"deny", "/wide", "allow"},
		{"deny", "/", "allow"},
		{"ask", "/w", "ask"},
		{"ask", "/w/app", "ask"},
		{"ask", "/wide", "allow"},
		{"allow", "/w", "allow"},
		{"allow", "/w/app", "ask"},
	} {
		r := rules(c.effect + " bash command=make")[0]
		r.Workspace = "/w"
		mode := gate.ModeAuto
		if c.effect == "allow" {
			mode = gate.ModeAsk
		}
		d := gate.New(gate.Options{Mode: mode, Cwd: c.cwd, Rules: []gate.Rule{r}}).Judge(gate.Call{Tool: shell, Needs: []tools.Need{line("make")}})
		if d.Verdict.String() != c.want {
			t.Errorf("%s in %s: %+v", c.effect, c.cwd, d)
		}
	}
}

// TestFaultT16AskWhereARuleMayCover: an ask rule that may be about a call asks, as a deny rule does.
func TestFaultT16AskWhereARuleMayCover(t *testing.T) {
	for _, need := range []tools.Need{
		opaque("git ?"), opaque("? push"), line("docker -x push"), {Act: tools.Runs, Confined: true}, lineOf(t, "git p"), lineOf(t, "echo push | xargs git"),
	} {
		for _, effect := range []string{"ask", "deny"} {
			if d := command(gate.ModeAuto, need, rules(effect+" bash command=git push *", effect+" bash command=docker push")...); d.Verdict != gate.Ask || !d.Once {
				t.Errorf("%s: %q: %+v", effect, need.Shell.Calls, d)
			}
		}
	}
}

// TestFaultM4Wide: the question about a command has a wider rule beside the exact one where every option is known, and none where
// there is no exact one; it covers what it says and nothing that the words of another command say.
func TestFaultM4Wide(t *testing.T) {
	judge := func(line string, rules ...gate.Rule) gate.Decision {
		n := lineOf(t, line)
		n.Arg = "cwd"
		return command(gate.ModeAsk, n, rules...)
	}
	for line, want := range map[string]string{
		"npm test": "npm **", "npm run build": "npm **", "mkdir -p a": "mkdir **", "touch a b": "touch **",
		"npm": "", "python x.py": "", "find . -exec rm {} +": "", "env npm test": "", "npm test; npm run x": "", "sudo npm test": "",
		"npm test --unknown": "", "./npm test": "",
	} {
		d := judge(line)
		got := ""
		if d.Wide != nil {
			got = d.Wide.Params["command"]
			if d.Allows == nil {
				t.Errorf("%s: a wide rule without an exact one", line)
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
		if got == "" {
			continue
		}
		kept := *d.Wide
		kept.Params = map[string]string{"command": got} // these needs have no folder
		if d := judge(line, kept); d.Verdict != gate.Allow {
			t.Errorf("%s is not covered by its own rule: %+v", line, d)
		}
		for _, other := range []string{"rm x; " + line, "ls -R", "rm a", line + " | sh", line + " --unknown-option"} {
			if d := judge(other, kept); d.Verdict == gate.Allow {
				t.Errorf("%s is covered by %s", other, got)
			}
		}
	}
}
