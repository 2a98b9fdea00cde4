package main

import "strings"

// query is one question to a tool and to ripgrep.
type query struct {
	name    string
	tool    string // grep, glob or list_files
	pattern string
	args    object
	flags   []string // of ripgrep, that say the same as args
	// literal says that every match has a text that is known: such a question has few candidates,
	// and its first matches are found early.
	literal bool
}

// queries are the questions of docs/benchmarks.md: first of each kind that agents ask, then thirty
// more.
func queries() []query {
	var out []query
	add := func(name, pattern, how string) {
		q := query{name: name, tool: "grep", pattern: pattern, args: object{"pattern": pattern, "output_mode": "content"}}
		for _, word := range strings.Fields(how) {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "literal":
				q.literal = true
			case "i":
				q.args["case_insensitive"], q.flags = true, append(q.flags, "-i")
			case "w":
				q.args["word"], q.flags = true, append(q.flags, "-w")
			case "F":
				q.args["fixed"], q.flags = true, append(q.flags, "-F")
			case "files":
				q.args["output_mode"], q.flags = "files_with_matches", append(q.flags, "-l")
			case "count":
				q.args["output_mode"], q.flags = "count", append(q.flags, "-c")
			case "g":
				q.args["glob"], q.flags = value, append(q.flags, "-g"+value)
			case "t":
				q.args["type"], q.flags = value, append(q.flags, "-t"+value)
			}
		}
		if strings.HasSuffix(pattern, "$") {
			q.flags = append(q.flags, "--crlf") // the end of a line is there for grep, too, where lines end with \r\n
		}
		out = append(out, q)
	}
	add("nomatch_lit", "zz_no_such_text_zz", "literal")
	add("lit_rare", "ErrBodyNotAllowed", "literal")
	add("nomatch_re", `zz_no_such\w+\(text\)`, "literal")
	add("ident_rare", "minPhysPageSize", "literal")
	add("files_rare", "ErrBodyNotAllowed", "literal files")
	add("word", "shutdown", "literal w")
	add("gap_re", `range .*:= .*map\[`, "literal")
	add("func_def", `func \(.*\) ServeHTTP\(`, "literal")
	add("ci_rare", "errbodynotallowed", "literal i")
	add("alt_rare", "ErrBodyNotAllowed|minPhysPageSize|maxStackDepth", "literal")
	add("anchor_func", "^func Test", "literal")
	add("alt_group", "(read|write|close)(Lock|Unlock)", "literal")
	add("lit_common", "return nil", "literal")
	add("ci_common", "todo|fixme", "literal i")
	add("lit_huge", "func", "literal")
	add("noliteral", "[A-Z]{12,}_[0-9]{3}", "")

	add("more_err", "if err != nil", "literal")
	add("more_bench", `[Bb]enchmark\w+Parallel`, "literal")
	add("more_rfc", `rfc ?[0-9]{4}`, "literal i")
	add("more_unsafe", `\bunsafe\.Pointer\(&`, "literal")
	add("more_import", `^import "`, "literal")
	add("more_linkname", "go:linkname", "literal count")
	add("more_unreachable", `panic\("unreachable"\)`, "literal")
	add("more_fixed", "interface{}", "literal F")
	add("more_hex", "0x[0-9a-f]{16}", "")
	add("more_build", `^\s*//go:build`, "literal")
	add("more_interface", `type \w+ interface \{$`, "literal")
	add("more_deprecated", "Deprecated:", "literal files")
	add("more_greek", `\p{Greek}`, "")
	add("more_timeout", "context.WithTimeout", "literal")
	add("more_var", `^var _ \w+`, "literal")
	add("more_wrap", `"[^"]*%w[^"]*"`, "")
	add("more_tests", "t.Parallel()", "literal F g=*_test.go")
	add("more_type", "goroutine", "literal t=go")
	add("more_count", "err", "literal count")
	add("more_word", "mu", "literal w files")
	add("more_defer", `defer .*\.Unlock\(\)`, "literal")
	add("more_three", "Marshal|Unmarshal|Encode", "literal files")
	add("more_ci", "content-length", "literal i")
	add("more_url", `https?://[a-z]+\.org/`, "literal")
	add("more_digits", `\b[0-9]{7,}\b`, "")
	add("more_end", `\) error \{$`, "literal")
	add("more_space", `[ \t]+$`, "")
	add("more_json", "`json:\"[a-z_]+,omitempty\"`", "literal")
	add("more_dir", "atomic.AddInt64", "literal g=**/sync/**")
	add("more_long", "the caller is responsible for", "literal")

	for _, l := range [][2]string{{"list_tests", "**/*_test.go"}, {"list_docs", "**/*.md"}, {"list_dir", "**/internal/**"}, {"list_all", "**"}} {
		flags := []string{"--files", "-g" + l[1]}
		if l[1] == "**" { // by -g it would bring back what is ignored, as it does not for the tool
			flags = flags[:1]
		}
		out = append(out, query{name: l[0], tool: "glob", pattern: l[1], args: object{"pattern": l[1]}, flags: flags})
	}
	out = append(out,
		query{name: "listed_all", tool: "list_files", pattern: "**", args: object{"pattern": "**"}, flags: []string{"--files"}},
		query{name: "listed_deep", tool: "list_files", pattern: "depth", args: object{"depth": 1000}, flags: []string{"--files"}},
	)
	return out
}
