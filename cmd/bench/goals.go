package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// mean is the geometric mean of ratios.
func mean(ratios []float64) float64 {
	sum := 0.0
	for _, r := range ratios {
		sum += math.Log(r)
	}
	return math.Exp(sum / float64(len(ratios)))
}

// ratios are how many times as long ripgrep takes, by question, where both were measured.
func (b *bench) ratios(prefix, suffix string, take func(query) bool) (all []float64, worst string) {
	slowest := math.Inf(1)
	for _, q := range queries() {
		ours, ok1 := b.value(prefix + q.name + "/by=tandem" + suffix)
		rg, ok2 := b.value(prefix + q.name + "/by=rg" + suffix)
		if !ok1 || !ok2 || ours == 0 || !take(q) {
			continue
		}
		all = append(all, rg/ours)
		if rg/ours < slowest {
			slowest, worst = rg/ours, q.name
		}
	}
	return all, worst
}

// searched is the section about searches, as Markdown: the goals, then each query.
func (b *bench) searched() string {
	var s strings.Builder
	if len(b.trees) == 0 {
		return "Not measured.\n"
	}
	fmt.Fprintf(&s, "Beside %s; × is how many times as long it takes.\n", b.finder)
	for _, t := range b.trees {
		b.goals(&s, t)
		b.questions(&s, t)
	}
	return s.String()
}

func (b *bench) goals(s *strings.Builder, t tree) {
	fmt.Fprintf(s, "\n### The tree %s: %d files, %.0f MiB\n\n| goal | figure | mark | |\n|---|---|---|---|\n", t.name, t.files, t.bytes/mib)
	name := "Search/tree=" + t.name
	told := func(goal, figure, mark string, kept bool) {
		fmt.Fprintf(s, "| %s | %s | %s | %s |\n", goal, figure, mark, map[bool]string{true: "kept", false: "**missed**"}[kept])
	}
	least := func(goal string, mark float64, all []float64, of func([]float64) float64, note string) {
		if len(all) > 0 {
			v := of(all)
			told(goal, times(v)+note, "≥ "+times(mark), v >= mark)
		}
	}
	grep := func(q query) bool { return q.tool == "grep" }
	minimum := func(all []float64) float64 { return slices.Min(all) }
	every := func(query) bool { return true }
	if t.name == "small" {
		all, _ := b.ratios(name+"/query=", "", grep)
		least("G5 geometric mean of a small tree", 8, all, mean, "")
		nothing, ok1 := b.value(name + "/query=nomatch_lit/by=tandem")
		echo, ok2 := b.value(name + "/echo")
		if ok1 && ok2 {
			told("G5 nothing found, beside a request that the server does not know", times(nothing/echo), "≤ 2×", nothing <= 2*echo)
		}
		return
	}
	all, _ := b.ratios(name+"/query=", "", grep)
	cpu, _ := b.ratios(name+"/query=", "/cpu", grep)
	if len(all) == 0 {
		return
	}
	least("G1 complete answers, geometric mean", t.all, all, mean, fmt.Sprintf(" (processor time %s)", times(mean(cpu))))
	lone, worst := b.ratios(name+"/query=", "", every)
	least("G2 the slowest question", 1.2, lone, minimum, ": "+worst)
	lone, worst = b.ratios(name+"/building=", "", every)
	least("G2 the slowest question while the index is built", 0.9, lone, minimum, ": "+worst)
	rare, _ := b.ratios(name+"/query=", "", func(q query) bool {
		lines, ok := b.value(name + "/lines/" + q.name)
		return ok && grep(q) && q.literal && lines <= 100
	})
	least("G3 at most 100 lines and a literal, geometric mean", t.literal, rare, mean, fmt.Sprintf(" of %d", len(rare)))
	first, _ := b.ratios(name+"/first100=", "", every)
	least("G4 the first 100 matches of what has a literal, beside all of ripgrep's, geometric mean", 100, first, mean, "")
	list, _ := b.ratios(name+"/query=", "", func(q query) bool { return q.tool == "glob" })
	least("G6 lists of files, geometric mean", 20, list, mean, "")
	listed, slowest := b.ratios(name+"/query=", "", func(q query) bool { return q.tool == "list_files" })
	least("G6 whole listings by list_files, the slower", 1.2, listed, slices.Min, ": "+slowest)
	differ := 0
	for _, f := range b.failed {
		if strings.Contains(f, " on "+t.name+":") {
			differ++
		}
	}
	told("G7 questions with the same places as ripgrep", fmt.Sprintf("%d of %d", len(queries())-differ, len(queries())), "all", differ == 0)
	if stale, ok := b.value(name + "/stale"); ok {
		told("G8 stale answers to searches of what was just written", fmt.Sprint(stale), "0", stale == 0)
	}
	const big = 500 * mib
	share := 0.3
	if t.bytes > big {
		share = 0.1
	}
	resident, ok := b.value(name + "/index/resident")
	own, _ := b.value(name + "/index/own")
	if ok {
		told("G9 memory of the index beside the source", fmt.Sprintf("%.2f (%s resident; %s by its own count)", resident/t.bytes, size(resident), size(own)),
			fmt.Sprintf("≤ %.2f", share), resident/t.bytes <= share)
	}
	built, ok1 := b.value(name + "/index/build-cpu")
	once, ok2 := b.value(name + "/query=nomatch_lit/by=rg/cpu")
	if ok1 && ok2 {
		told("G9 processor time to build it, in calls of ripgrep", fmt.Sprintf("%.1f", built/once), "≤ 10", built <= 10*once)
	}
	if idle, ok := b.value(name + "/index/idle-cpu-permyriad"); ok {
		told("G9 processor time at rest", fmt.Sprintf("%.2f %%", idle/100), "≤ 0.1 %", idle <= 10)
	}
}

func (b *bench) questions(s *strings.Builder, t tree) {
	name := "Search/tree=" + t.name
	s.WriteString("\n| question | pattern | places | ours | ripgrep | × | × processor time | × while building | × first 100 |\n" +
		"|---|---|---|---|---|---|---|---|---|\n")
	for _, q := range queries() {
		at := func(kind, by string) float64 { v, _ := b.value(name + kind + q.name + by); return v }
		ours := at("/query=", "/by=tandem")
		if ours == 0 {
			continue
		}
		ratio := func(kind, by string) string {
			if v := at(kind, "/by=tandem"+by); v > 0 {
				return times(at(kind, "/by=rg"+by) / v)
			}
			return ""
		}
		fmt.Fprintf(s, "| %s | `%s` %s | %.0f | %s | %s | %s | %s | %s | %s |\n", q.name, strings.ReplaceAll(q.pattern, "|", `\|`),
			strings.Join(q.flags, " "), at("/lines/", ""), duration(ours), duration(at("/query=", "/by=rg")), ratio("/query=", ""),
			ratio("/query=", "/cpu"), ratio("/building=", ""), ratio("/first100=", ""))
	}
}
