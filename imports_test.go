package tandem

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// room says what one package, or with a last element * every package of a folder that has no room of its own, may
// import of this module. "x/..." stands for x and all below it.
type room struct {
	may []string
	why string
}

var base = []string{"filetime", "filetime/text", "filetime/text/show", "sandbox", "sandbox/lazy"}

var rooms = map[string]room{
	".": {nil, "the root holds the picture of the whole and its tests, no code"},
	"cmd/tandem": {
		[]string{"cmd/commandline", "lspserver/...", "agent/...", "tools/...", "filetime/...", "sandbox/..."},
		"it wires, so it sees all, and examines clients with the scenarios",
	},

	"cmd/commandline": {[]string{"tools/words"}, "a command line is text and a struct, whichever program has it"},

	"cmd/bench": {
		[]string{"lspserver/client", "lspserver/protocol"},
		"it measures the program that was built, as an editor beside it",
	},

	"cmd/live": {
		[]string{"agent/model/registry", "agent/model/script", "lspserver/client", "lspserver/protocol"},
		"it tries the program that was built, as an editor beside it, and finds the model as that does",
	},

	"docs/examples/embed": {nil, "it is as a program elsewhere would be"},

	"lspserver": {
		[]string{
			"lspserver/backend", "lspserver/fileuri", "lspserver/languages", "lspserver/protocol", "lspserver/updates", "lspserver/wire", "lspserver/workspace",
			"lspserver/review", "agent", "agent/model", "agent/prompt", "tools", "tools/gate", "tools/rule", "tools/run", "tools/words",
			"filetime", "filetime/text", "filetime/text/show", "sandbox/lazy",
		},
		"a face of the backend: it knows JSON-RPC and LSP, and neither the store nor the configuration",
	},
	"lspserver/acp": {
		[]string{
			"lspserver/backend", "lspserver/protocol", "lspserver/updates", "lspserver/wire", "lspserver/workspace",
			"agent", "agent/model", "tools", "tools/gate", "tools/run",
		},
		"a face of the backend: it knows the Agent Client Protocol, and neither the store nor the configuration",
	},
	"lspserver/backend": {
		[]string{
			"lspserver/languages", "lspserver/workspace", "lspserver/review", "agent", "agent/config", "agent/custom", "agent/model", "agent/prompt", "agent/store",
			"tools", "tools/foreign", "tools/gate", "tools/mcp", "tools/outputs", "tools/plugin", "tools/run", "filetime", "filetime/disk", "filetime/text", "filetime/text/show", "filetime/watch",
			"sandbox", "sandbox/effects", "sandbox/search/index", "sandbox/tree",
		},
		"the application, which knows no wire",
	},
	"lspserver/updates": {
		[]string{"lspserver/protocol", "filetime", "agent", "agent/model", "agent/prompt", "tools", "tools/gate", "tools/mcp", "tools/run", "filetime/text/show"},
		"what happens becomes payloads here, for every face alike",
	},
	"lspserver/conformance": {
		[]string{"agent/model", "agent/model/script", "sandbox", "tools/words"},
		"it plays editors, models and commands, and knows the server by the wire alone",
	},
	"lspserver/fileuri":   {nil, "how a path is written as a URI is a function of it"},
	"lspserver/languages": {[]string{"lspserver/fileuri", "lspserver/wire", "filetime", "filetime/text", "filetime/text/show", "sandbox", "tools"}, "it knows the protocol of language servers and no tool"},
	"lspserver/wire":      {nil, "the wire does not know what it carries"},
	"lspserver/protocol":  {[]string{"tools/rawjson"}, "what is on the wire is plain data"},
	"lspserver/logs":      {[]string{"sandbox/lazy", "sandbox/userinfo"}, "it writes what it is given and knows no meaning"},
	"lspserver/state": {
		[]string{"agent/config", "agent/store", "tools/outputs", "tools/mcp", "filetime/locks"},
		"it knows where each of them keeps its files, and no session",
	},
	"lspserver/terminal": {
		[]string{"lspserver/client", "lspserver/protocol", "filetime/text", "filetime/text/show", "tools", "tools/words"},
		"it plays the editor for a person who has none, and knows the server by the wire alone",
	},
	"lspserver/doctor": {
		[]string{"lspserver/state", "agent/config", "agent/model", "agent/model/registry", "agent/store", "sandbox", "sandbox/search/index", "tools", "tools/mcp", "tools/plugin"},
		"it looks at what a session would need, without one",
	},
	"lspserver/client": {
		[]string{"lspserver/protocol", "lspserver/wire", "filetime/text"},
		"an editor knows the wire, and has a text of its own",
	},
	"lspserver/workspace": {
		append([]string{"filetime/disk", "filetime/locks", "lspserver/delivery", "lspserver/fileuri", "lspserver/follow", "lspserver/history", "lspserver/landing", "lspserver/stored"}, base...),
		"files know nothing of agents and tools",
	},
	"lspserver/delivery": {[]string{"filetime", "filetime/text", "lspserver/follow", "lspserver/history"}, "how an edit gets into a document is known without files, disks, locks and commands"},
	"lspserver/landing":  {[]string{"filetime", "filetime/disk", "filetime/text", "lspserver/delivery", "lspserver/stored"}, "that a change lands whole or not at all depends on no kind of file"},
	"lspserver/stored":   {[]string{"filetime", "filetime/disk", "filetime/text", "sandbox"}, "what the disk has is known without documents"},
	"lspserver/history":  {[]string{"filetime", "filetime/text"}, "what a text was and who has changed it is known without documents and disks"},
	"lspserver/follow":   {[]string{"filetime/text"}, "whether an edit is in a text is known of texts alone"},
	"lspserver/review":   {base, "undo is about files, whoever changed them"},

	"agent":                {[]string{"agent/...", "tools/...", "filetime", "filetime/disk", "filetime/overlay", "filetime/text", "filetime/text/show", "sandbox", "sandbox/effects/autorun", "sandbox/search/index"}, "it never sees the editor"},
	"agent/loop":           {[]string{"agent/model", "tools/...", "filetime"}, "it knows neither sessions nor what keeps them nor settings"},
	"agent/config":         {[]string{"sandbox", "sandbox/dial", "tools/rule", "tools/words"}, "settings are plain data, and a path or a host is one as it is reached"},
	"agent/prompt":         {[]string{"filetime/text/show", "sandbox/lazy"}, "a prompt is made of plain data"},
	"agent/model":          {nil, "the door to models is an interface"},
	"agent/model/*":        {[]string{"agent/model", "agent/model/wire"}, "one vendor knows nothing of another"},
	"agent/custom":         {[]string{"filetime/text/show", "sandbox/lazy", "tools/gate"}, "a command is a value, whoever reads its file"},
	"agent/window":         {[]string{"agent/model"}, "what a model is sent is a value, whoever fills it"},
	"agent/store":          {[]string{"filetime/disk"}, "it keeps what it is given and knows no meaning"},
	"agent/model/registry": {[]string{"agent/config", "agent/model/..."}, "it finds the model that a name stands for"},

	"tools":         {append([]string{"tools/jobs", "tools/rule", "tools/schema", "tools/outputs", "tools/shell", "tools/words", "sandbox/effects/autorun", "sandbox/search/index", "sandbox/tree"}, base...), "the contract knows no tool"},
	"tools/words":   {nil, "a text, its translations and the distance of two names are data"},
	"tools/outputs": {nil, "it keeps texts and knows no call and no tool"},
	"tools/jobs":    {[]string{"sandbox"}, "it runs commands and knows no call and no tool"},
	"tools/schema":  {[]string{"tools/words"}, "a schema is about types"},
	"tools/rule":    {nil, "a rule is plain data"},
	"tools/shell":   {nil, "what a command line says is a function of its text"},
	"tools/gate":    {append([]string{"tools", "tools/rule", "tools/shell"}, base...), "it judges what calls need and runs none"},
	"tools/syntax":  {[]string{"filetime/text/show", "sandbox/lazy"}, "whether a text parses is a function of it"},
	"tools/run":     {append([]string{"sandbox/userinfo", "tools", "tools/outputs", "tools/schema", "tools/gate", "tools/syntax", "tools/words"}, base...), "it runs what the gate lets go on"},
	"tools/hooks":   {append([]string{"tools", "tools/run"}, base...), "it runs the programs of a person around calls"},
	"tools/builtin": {[]string{"tools/..."}, "the one list of all tools"},
	"tools/web": {
		append([]string{"tools", "sandbox/dial"}, base...), "it reaches hosts of the public internet through the one judge of addresses",
	},
	"tools/bash": {
		append([]string{"tools", "tools/jobs", "tools/schema", "tools/shell", "sandbox/git", "sandbox/tree", "sandbox/userinfo"}, base...), "it runs what a model writes, and looks at what that has left",
	},
	"tools/foreign": {append([]string{"tools", "tools/schema"}, base...), "it makes tools of data and knows no place where one runs"},
	"tools/mcp": {
		append([]string{"tools", "tools/foreign", "tools/web", "sandbox/dial"}, base...),
		"it makes tools of what servers say, and reaches them as processes or through the one judge of addresses",
	},
	"tools/plugin": {
		append([]string{"tools", "tools/foreign", "tools/shell"}, base...), "it makes tools of programs, and starts them as commands are",
	},
	"tools/mcp/mcptest": {nil, "it plays servers for tests"},
	"tools/fetch":       {append([]string{"tools", "tools/schema", "tools/web"}, base...), "it reaches the network through the one client of tools"},
	"tools/*":           {append([]string{"tools", "tools/jobs", "tools/schema", "tools/shell", "sandbox/tree"}, base...), "no tool knows another"},
	"tools/websearch":   {append([]string{"tools", "tools/schema", "tools/web"}, base...), "it reaches the network through the one client of tools"},
	"tools/grep":        {append([]string{"tools", "tools/rawjson", "tools/schema", "sandbox/search/index", "sandbox/search/regex", "sandbox/tree"}, base...), "no tool knows another"},
	"tools/list":        {append([]string{"tools", "tools/rawjson", "sandbox/tree"}, base...), "no tool knows another"},
	"tools/glob":        {append([]string{"tools", "tools/rawjson", "sandbox/tree"}, base...), "no tool knows another"},
	"tools/rawjson":     {nil, "how a text is written in JSON is a function of it"},
	"tools/quote":       {append([]string{"tools"}, base...), "it finds quotations in files and knows no tool"},
	"tools/entry":       {append([]string{"tools"}, base...), "it looks at what stands at a path and knows no tool"},
	"tools/remove":      {append([]string{"tools", "tools/entry"}, base...), "no tool knows another"},
	"tools/move":        {append([]string{"tools", "tools/entry"}, base...), "no tool knows another"},
	"tools/fileinfo":    {append([]string{"tools", "tools/entry"}, base...), "no tool knows another"},
	"tools/edit":        {append([]string{"tools", "tools/quote"}, base...), "no tool knows another"},
	"tools/patch":       {append([]string{"tools", "tools/entry", "tools/quote"}, base...), "no tool knows another"},
	"tools/read":        {append([]string{"tools", "tools/entry", "tools/outputs", "tools/schema"}, base...), "no tool knows another"},
	"tools/write":       {append([]string{"tools", "tools/entry"}, base...), "no tool knows another"},

	"filetime":                {[]string{"filetime/text"}, "it stands below everything that works with files"},
	"filetime/overlay":        {[]string{"filetime", "filetime/text"}, "it projects files and knows no session"},
	"filetime/text":           {nil, "the algebra of edits is pure"},
	"filetime/text/show":      {[]string{"filetime/text"}, "a diff is made of texts"},
	"filetime/watch":          {nil, "it says that something happened and no more"},
	"filetime/locks":          {[]string{"filetime"}, "it locks paths and reads no file"},
	"filetime/disk":           {nil, "it moves bytes and knows no text"},
	"sandbox":                 {[]string{"filetime/text", "sandbox/confine", "sandbox/dial", "sandbox/git", "sandbox/keeper", "sandbox/lazy", "sandbox/proxy"}, "it stands below everything that runs commands"},
	"sandbox/keeper":          {[]string{"sandbox/confine"}, "a process that runs commands needs the policy and the system alone, and is set up before all else"},
	"sandbox/confine":         {nil, "what a command may reach is plain data, and a thread is restricted by the system alone"},
	"sandbox/dial":            {nil, "an address is judged by itself"},
	"sandbox/proxy":           {[]string{"sandbox/dial"}, "it connects commands to hosts and starts none"},
	"sandbox/effects/autorun": {[]string{"sandbox", "sandbox/git"}, "it compares listings of the write roots and knows no tool"},
	"sandbox/userinfo":        {nil, "a URL is judged by its text"},
	"sandbox/effects":         {[]string{"sandbox", "sandbox/git", "sandbox/tree"}, "it compares looks at the write roots and knows no session"},
	"sandbox/lazy":            {nil, "an expression is compiled from its text alone"},
	"sandbox/git":             {[]string{"sandbox/lazy"}, "it reads what git has written, and runs nothing"},
	"sandbox/search/index":    {[]string{"sandbox", "sandbox/search/trigrams", "sandbox/tree"}, "it keeps what walks come by and knows no tool"},
	"sandbox/tree":            {[]string{"sandbox"}, "it walks below the roots and knows no tool"},
	"sandbox/search/regex":    {nil, "what a pattern matches is a function of it and of a text"},
	"sandbox/search/trigrams": {nil, "an index of texts is plain data"},
}

// roomOf finds the room of a package: its own, or that of its folder's packages.
func roomOf(dir string) (string, bool) {
	if _, ok := rooms[dir]; ok {
		return dir, true
	}
	all := path.Dir(dir) + "/*"
	_, ok := rooms[all]
	return all, ok
}

func allows(list []string, pkg string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		below, tree := strings.CutSuffix(p, "/...")
		return p == pkg || tree && (pkg == below || strings.HasPrefix(pkg, below+"/"))
	})
}

func TestF040Imports(t *testing.T) {
	r := repo(t)
	for _, f := range r.code {
		if !f.product() {
			continue
		}
		name, ok := roomOf(f.dir)
		if !ok {
			t.Errorf("%s: package %s has no room: say in rooms what it may import and why", f.path, f.dir)
			continue
		}
		for _, imported := range f.imports() {
			inside, ok := strings.CutPrefix(imported, module+"/")
			switch {
			case !ok:
			case helper(inside) && !slices.Contains(rooms[name].may, inside):
				t.Errorf("%s imports %s, which is for tests", f.path, inside)
			case !allows(rooms[name].may, inside):
				t.Errorf("%s imports %s: %s", f.path, inside, rooms[name].why)
			}
		}
	}
	have := r.packages()
	for name := range rooms {
		if path.Base(name) != "*" && !have[name] {
			t.Errorf("rooms lists %s, which has no code", name)
		}
	}
}

// absent are packages of the standard library that whole rooms do without.
var absent = []struct {
	pkg    string
	in     []string
	except map[string]string // package → reason
	why    string
}{
	{
		pkg: "os",
		in: []string{
			"agent/...", "tools/...", "filetime/...", "lspserver/wire", "lspserver/protocol", "lspserver/review",
		},
		except: map[string]string{
			"agent/config":   "the user's settings are files of the person's, not of the workspace",
			"agent/store":    "its database is a file of the person's, not of the workspace",
			"filetime/disk":  "it is where files are changed",
			"filetime/locks": "its lock files lie below the state folder",
			"filetime/watch": "it compares errors with os.ErrNotExist",
		},
		why: "files are read through filetime.Files, so that unsaved text is seen and a commit can be checked",
	},
	{
		pkg: "os/exec", in: []string{"..."},
		except: map[string]string{
			"sandbox":               "the one Runner of child processes, where there are no keepers",
			"lspserver/conformance": "it plays commands that are not there, with the error of that package",
			"sandbox/keeper":        "it starts the process that starts commands",
			"docs/examples/embed":   "it starts Tandem",
			"cmd/bench":             "it starts what it measures",
			"cmd/live":              "it starts what it tries",
		},
		why: "every child process is started through sandbox.Runner",
	},
	{
		pkg: "net/http", in: []string{"..."},
		except: map[string]string{
			"agent/model/wire":      "a model is a service on the network",
			"agent/model/anthropic": "the library gives the answer in its terms",
			"agent/model/openai":    "it knows what a status means",
			"agent/model/registry":  "it hands the client of all models on",
			"tools/web":             "it gets what a person has allowed from the public internet",
			"tools/fetch":           "it makes the request, and knows what a header and a status mean",
			"tools/mcp":             "a server may be one on the network",
			"tools/websearch":       "it makes the request, and knows what a status means",
			"sandbox/proxy":         "it is the way of confined commands to the hosts that a person has named",
			"cmd/bench":             "it plays a model that takes no time",
		},
		why: "only models, the hosts of commands, and what a tool is allowed to get are reached over the network",
	},
	{
		pkg: "unsafe", in: []string{"..."},
		except: map[string]string{
			"sandbox/confine": "libraries restrict all threads of a process, and system calls for one take pointers",
		},
		why: "there is no need of it",
	},
}

func TestAbsence(t *testing.T) {
	r := repo(t)
	for _, rule := range absent {
		used := map[string]bool{}
		for _, f := range r.code {
			if !f.product() || !slices.Contains(f.imports(), rule.pkg) {
				continue
			}
			used[f.dir] = true
			if _, ok := rule.except[f.dir]; !ok && (rule.in[0] == "..." || allows(rule.in, f.dir)) {
				t.Errorf("%s imports %s: %s", f.path, rule.pkg, rule.why)
			}
		}
		for dir := range rule.except {
			if !used[dir] {
				t.Errorf("%s is excepted from the rule about %s and does not need to be", dir, rule.pkg)
			}
		}
	}
}

// libraries says in which rooms a module of somebody else's is used; no room means tests and their helpers only.
var libraries = map[string][]string{
	"go.lsp.dev/jsonrpc2":                             {"lspserver/wire"},
	"go.lsp.dev/protocol":                             {"lspserver/..."},
	"go.lsp.dev/uri":                                  {"lspserver/..."},
	"github.com/go-json-experiment/json":              {"lspserver/..."},
	"github.com/sourcegraph/conc":                     {"tools/run", "lspserver"},
	"github.com/fsnotify/fsnotify":                    {"filetime/watch", "sandbox/search/index"},
	"github.com/sergi/go-diff":                        {"filetime/text/show"},
	"github.com/google/jsonschema-go":                 {"tools/schema"},
	"github.com/sashabaranov/go-openai":               {"agent/model/openaichat", "agent/model/openai"},
	"github.com/tailscale/hujson":                     {"agent/config", "tools/syntax"},
	"github.com/pelletier/go-toml/v2":                 {"tools/syntax"},
	"go.yaml.in/yaml/v4":                              {"tools/syntax", "agent/custom"}, // front matter
	"modernc.org/sqlite":                              {"agent/store"},
	"github.com/klauspost/compress":                   {"agent/store"},
	"github.com/bmatcuk/doublestar/v4":                {"tools/gate"},
	"github.com/dlclark/regexp2":                      {"sandbox/search/regex"},
	"github.com/go-git/go-git/v5":                     nil,
	"github.com/JohannesKaufmann/html-to-markdown/v2": {"tools/fetch"},
	"golang.org/x/net":                                {"tools/fetch"},
	"github.com/modelcontextprotocol/go-sdk":          {"tools/mcp"},
	"mvdan.cc/sh/v3":                                  {"tools/shell", "tools/syntax"},
	"golang.org/x/sys":                                {"lspserver/terminal", "sandbox/...", "lspserver/workspace", "filetime/disk", "filetime/watch", "cmd/bench", "cmd/tandem"},
	"golang.org/x/text":                               {"filetime/text", "sandbox"},
	"golang.org/x/tools":                              {"lspserver/conformance", "cmd/live"},
	"github.com/google/go-cmp":                        nil,
	"github.com/rogpeppe/go-internal":                 nil,
	"github.com/santhosh-tekuri/jsonschema":           nil,
	"go.uber.org/goleak":                              nil,
	"pgregory.net/rapid":                              nil,
}

// libraryOf gives the entry of libraries that an import belongs to.
func libraryOf(imported string) (string, bool) {
	for l := range libraries {
		if imported == l || strings.HasPrefix(imported, l+"/") {
			return l, true
		}
	}
	return "", false
}

func TestLibraries(t *testing.T) {
	r := repo(t)
	for _, f := range r.code {
		for _, imported := range f.imports() {
			host, _, _ := strings.Cut(imported, "/")
			if !strings.Contains(host, ".") {
				continue
			}
			l, ok := libraryOf(imported)
			if !ok {
				t.Errorf("%s imports %s, which is no library of ours: say in libraries where it belongs", f.path, imported)
			} else if f.product() && !allows(libraries[l], f.dir) {
				t.Errorf("%s imports %s, which belongs in %s", f.path, imported, orTests(libraries[l]))
			}
		}
	}
}

func orTests(rooms []string) string {
	if len(rooms) == 0 {
		return "tests"
	}
	return strings.Join(rooms, ", ")
}

// TestFivePackages keeps the libraries that the product is built around in their place: each is at work in its room,
// and nowhere else but where its second use is. What each is there for is a promise that tests rely on.
func TestFivePackages(t *testing.T) {
	five := map[string]struct{ home, also string }{
		"go.lsp.dev/jsonrpc2":          {home: "lspserver/wire"},
		"go.lsp.dev/protocol":          {home: "lspserver/protocol", also: "lspserver/..."},
		"github.com/sourcegraph/conc":  {home: "tools/run", also: "lspserver"},
		"github.com/fsnotify/fsnotify": {home: "filetime/watch", also: "sandbox/search/index"},
		"github.com/sergi/go-diff":     {home: "filetime/text/show"},
	}
	users := map[string]map[string]bool{}
	for _, f := range repo(t).code {
		if f.test() {
			continue
		}
		for _, imported := range f.imports() {
			if l, ok := libraryOf(imported); ok {
				if users[l] == nil {
					users[l] = map[string]bool{}
				}
				users[l][f.dir] = true
			}
		}
	}
	for l, place := range five {
		if !users[l][place.home] {
			t.Errorf("%s is gone from %s", l, place.home)
		}
		for _, dir := range slices.Sorted(maps.Keys(users[l])) {
			if dir != place.home && !allows([]string{place.also}, dir) {
				t.Errorf("%s is used in %s; its place is %s", l, dir, place.home)
			}
		}
	}
	if !testing.Short() {
		noticed(t)
	}
}
