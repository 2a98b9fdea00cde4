package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tandem/lspserver/protocol"
)

// refused counts the calls that failed, but for commands that ran and failed themselves, and again
// those that follow one: of the same tool, in the next call of it.
func refused(calls []protocol.AuditEntry) (refused, again int) {
	was := map[string]bool{}
	for _, e := range calls {
		if was[e.Tool] {
			again++
		}
		was[e.Tool] = e.Error != "" && !strings.HasPrefix(e.Error, "EXIT_CODE_")
		if was[e.Tool] {
			refused++
		}
	}
	return refused, again
}

// report is the table of results, with totals, errors of calls and failed checks.
func report(done []outcome) string {
	var s strings.Builder
	w := tabwriter.NewWriter(&s, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\ttask\tdone\tcalls\trefused\tagain\trequests\ttokens in\tcached\tout\tseconds\t")
	row := func(name, ok string, o outcome, no, again int) {
		fmt.Fprintf(w, "\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t\n", name, ok, len(o.calls), no, again, o.requests,
			o.usage.InputTokens, o.usage.CachedInputTokens, o.usage.OutputTokens, o.took.Seconds())
	}
	var sum outcome
	type failure struct{ tool, code string }
	failed := map[failure]int{}
	good, no, again := 0, 0, 0
	for _, o := range done {
		n, a := refused(o.calls)
		no, again = no+n, again+a
		ok := "NO"
		if len(o.failures) == 0 {
			ok = "yes"
			good++
		}
		row(o.task, ok, o, n, a)
		for _, e := range o.calls {
			if e.Error != "" {
				failed[failure{e.Tool, e.Error}]++
			}
		}
		sum.calls = append(sum.calls, o.calls...)
		sum.requests += o.requests
		sum.usage.InputTokens += o.usage.InputTokens
		sum.usage.CachedInputTokens += o.usage.CachedInputTokens
		sum.usage.OutputTokens += o.usage.OutputTokens
		sum.took += o.took.Round(time.Millisecond)
	}
	row("all", fmt.Sprintf("%d of %d", good, len(done)), sum, no, again)
	_ = w.Flush() // what it writes to takes everything
	if len(failed) > 0 {
		s.WriteString("\nCalls that failed:\n")
	}
	for _, f := range slices.SortedFunc(maps.Keys(failed), func(a, b failure) int {
		return cmp.Or(failed[b]-failed[a], strings.Compare(a.code, b.code), strings.Compare(a.tool, b.tool))
	}) {
		fmt.Fprintf(&s, "%5d  %s  %s\n", failed[f], f.code, f.tool)
	}
	for _, o := range done {
		for _, f := range o.failures {
			fmt.Fprintf(&s, "\n%s: %s", o.task, f)
		}
	}
	return strings.TrimRight(s.String(), "\n") + "\n"
}
