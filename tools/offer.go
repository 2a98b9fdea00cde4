package tools

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tandem/filetime/text/show"
	"tandem/tools/words"
)

// ToolSearch is the name of the tool that gives a model the parameters of tools which it was told of by name alone.
const ToolSearch = "tool_search"

// upfront are the names of the tools that are never deferred.
var upfront = []string{
	ReadFile, "list_files", "glob", "grep", "edit_file", "write_file", "bash", "clarify", ToolSearch, "spawn_agent",
}

// Offer is what a request shows a model of a set. Deferred loading: most tools are Named, that is listed with one
// line each in the description of tool_search, and only those in Full have their parameters in the request. A tool that was loaded
// is in both: the lines stay the same whatever was loaded, so that they stay in the cache of the model's service. Both are in the order
// of Set.List. An Offer is never changed.
type Offer struct {
	Full, Named []Tool
	// Over says that there are so many tools that all are Named but those that are always needed.
	Over bool
}

// NewOffer makes the Offer of a list of tools. Those whose Spec says so and those of MCP servers are deferred; of the others more than
// threshold are, tool_search aside. None of them are those that are always needed, those of one turn, and those that loaded
// says yes to. tool_search is left out where nothing is deferred. Without tool_search, nothing is.
func NewOffer(list []Tool, threshold int, loaded func(name string) bool) Offer {
	search := slices.IndexFunc(list, func(t Tool) bool { return t.Spec().Name == ToolSearch })
	if search < 0 {
		return Offer{Full: list}
	}
	byName := func(s Spec) bool { return s.Deferred || strings.HasPrefix(s.Source, "mcp:") }
	others := -1
	for _, t := range list {
		if !byName(t.Spec()) {
			others++
		}
	}
	o := Offer{Over: others > threshold}
	for _, t := range list {
		spec := t.Spec()
		deferred := (o.Over || byName(spec)) && !slices.Contains(upfront, spec.Name) && spec.Source != SourceTurn
		if deferred {
			o.Named = append(o.Named, t)
		}
		if !deferred || loaded(spec.Name) {
			o.Full = append(o.Full, t)
		}
	}
	if len(o.Named) == 0 {
		o.Full = slices.Delete(slices.Clone(list), search, search+1)
	}
	return o
}

// Deferred says that the Offer has a tool by name alone.
func (o Offer) Deferred(t Tool) bool {
	return slices.Contains(o.Named, t) && !slices.Contains(o.Full, t)
}

// Hides says that a list of tools for programs leaves a tool out unless it is asked for: one that is deferred for being one of too many
// or an MCP server's, not because its Spec says so.
func (o Offer) Hides(t Tool) bool { return o.Deferred(t) && (o.Over || !t.Spec().Deferred) }

// All are the tools of the Offer, deferred or not, in the order of Set.List.
func (o Offer) All() []Tool {
	out := slices.Clone(o.Full)
	for _, t := range o.Named {
		if !slices.Contains(o.Full, t) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b Tool) int { return cmp.Compare(a.Spec().Name, b.Spec().Name) })
	return out
}

// Nearest are up to three tools of the Offer one of whose names may have been meant.
func (o Offer) Nearest(name string) []string {
	var names []string
	for _, t := range o.All() {
		slip := func(n string) bool { return words.Slip(strings.ToLower(name), n) }
		if spec := t.Spec(); !spec.Unlisted && len(names) < 3 && slices.ContainsFunc(namesOf(spec), slip) {
			names = append(names, spec.Name)
		}
	}
	return names
}

// Names are those of the tools in Full, and how many others tool_search finds.
func (o Offer) Names() (names []string, deferred int) {
	for _, t := range o.All() {
		switch spec := t.Spec(); {
		case spec.Unlisted:
		case o.Deferred(t):
			deferred++
		default:
			names = append(names, spec.Name)
		}
	}
	return names, deferred
}

// Description is what the model reads about a tool of Full. That of tool_search has a line for each tool that is deferred.
func (o Offer) Description(t Tool) string {
	spec := t.Spec()
	if spec.Name != ToolSearch || len(o.Named) == 0 {
		return spec.Description
	}
	var b strings.Builder
	b.WriteString(spec.Description)
	b.WriteString("\n")
	for _, n := range o.Named {
		name := n.Spec().Name
		b.WriteString("\n- " + name)
		if s := n.Spec().Summary(); !repeats(s, name) {
			b.WriteString(": " + s)
		}
	}
	return b.String()
}

// repeats says that a summary has no words but those of the tool's name, as "Searches the web" has of web_search.
func repeats(summary, name string) bool {
	const ending = 2 // the longest that a word has more: searches, of search
	named := func(w string) bool {
		for n := range eachWord(name) {
			if strings.HasPrefix(w, n) && len(w)-len(n) <= ending {
				return true
			}
		}
		return false
	}
	for w := range eachWord(summary) {
		if !slices.Contains([]string{"a", "an", "the", "your"}, w) && !named(w) {
			return false
		}
	}
	return true
}

// bytesPerToken is about what a token takes of JSON and English.
const bytesPerToken = 4

// Saved is about how many tokens fewer each request has than one with all tools in full.
func (o Offer) Saved() int {
	size := 0
	for _, t := range o.Named {
		if !slices.Contains(o.Full, t) {
			size += described(t)
		}
	}
	for _, t := range o.Full {
		if spec := t.Spec(); spec.Name == ToolSearch {
			size -= described(t) + len(o.Description(t)) - len(spec.Description)
		}
	}
	return max(0, size/bytesPerToken)
}

// described is about how many bytes a tool has in a request.
func described(t Tool) int {
	const frame = len(`{"name":"","description":"","parameters":},`)
	spec := t.Spec()
	return frame + len(spec.Name) + len(spec.Description) + len(t.Schema().Shown())
}

// Catalogue is what the model of a session has of its tools. Both functions may be called concurrently.
type Catalogue struct {
	// Offer is what the next request would show.
	Offer func() Offer
	// Load has the following requests show the tools of these names in full.
	Load func(names ...string)
}

// Schema is a tool as a line of JSON, for a model that was told of it by name alone.
func Schema(t Tool) string {
	spec := t.Spec()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}{spec.Name, spec.Description, t.Schema().Shown()}) // a string and JSON: it marshals
	return strings.TrimSuffix(b.String(), "\n")
}

// Summary is the first sentence of the description, in one line of at most 120 characters.
func (s Spec) Summary() string {
	const most = 120
	var b strings.Builder
	ended := false
	for word := range strings.FieldsSeq(s.Description) { // of what may be long only what is shown is looked at
		if b.Len() > 0 {
			if ended = b.String()[b.Len()-1] == '.'; ended || b.Len() > most*utf8.UTFMax {
				break
			}
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	line := b.String()
	if ended {
		line = line[:len(line)-1]
	}
	line = strings.TrimSuffix(line, ".")
	n := 0
	for i := range line {
		if n++; n == most {
			line = line[:i] + "…"
			break
		}
	}
	return show.Visible(line, false)
}

// selecting begins a query for tools by their exact names.
const selecting = "select:"

// Find finds tools of a list: with "select:name,name" those of exactly these names or aliases, and gives the names that no tool has as
// missing; else those whose name, title, description or parameters have words of the query, the best first, at most limit.
func Find(list []Tool, query string, limit int) (found []Tool, missing []string) {
	if names, exact := strings.CutPrefix(strings.TrimSpace(query), selecting); exact {
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			i := slices.IndexFunc(list, func(t Tool) bool { return slices.Contains(namesOf(t.Spec()), strings.ToLower(name)) })
			switch {
			case name == "":
			case i < 0:
				missing = append(missing, name)
			case !slices.Contains(found, list[i]):
				found = append(found, list[i])
			}
		}
		return found, missing
	}
	words := wordsOf(query)
	points := map[Tool]int{}
	for _, t := range list {
		if n := fits(t, words, strings.ToLower(strings.TrimSpace(query))); n > 0 {
			points[t] = n
			found = append(found, t)
		}
	}
	slices.SortStableFunc(found, func(a, b Tool) int {
		return cmp.Or(cmp.Compare(points[b], points[a]), cmp.Compare(a.Spec().Name, b.Spec().Name))
	})
	return found[:min(len(found), max(limit, 0))], nil
}

// fits counts how well a tool fits a query: its names weigh more than its title, that more than what else is said of it.
func fits(t Tool, words []string, query string) (points int) {
	spec := t.Spec()
	if query != "" && slices.Contains(namesOf(spec), query) {
		points += 100
	}
	names := wordsOf(strings.Join(append([]string{spec.Name}, spec.Aliases...), " "))
	title, about := wordsOf(spec.Title+" "+spec.Category+" "+string(spec.Kind)), wordsOf(spec.Description)
	params := wordsOf(strings.Join(t.Schema().Params(), " "))
	for _, w := range words {
		switch begins := func(s string) bool { return len(w) >= 3 && strings.HasPrefix(s, w) }; {
		case slices.Contains(names, w):
			points += 10
		case slices.ContainsFunc(names, begins):
			points += 7
		case slices.Contains(title, w):
			points += 5
		case slices.Contains(about, w):
			points += 3
		case slices.Contains(params, w):
			points += 2
		case slices.ContainsFunc(about, begins):
			points++
		}
	}
	return points
}

// wordsOf splits a text into words in lower case, also those of read_file and readFile.
func wordsOf(text string) []string { return slices.Collect(eachWord(text)) }

// eachWord gives the words of wordsOf one by one.
func eachWord(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		from, lower := -1, false // where a word begins
		for i, r := range text {
			in := unicode.IsLetter(r) || unicode.IsDigit(r)
			if from >= 0 && (!in || lower && unicode.IsUpper(r)) {
				if !yield(strings.ToLower(text[from:i])) {
					return
				}
				from = -1
			}
			if in && from < 0 {
				from = i
			}
			lower = unicode.IsLower(r)
		}
		if from >= 0 {
			yield(strings.ToLower(text[from:]))
		}
	}
}
