package backend

import (
	"cmp"
	"path"
	"slices"

	"tandem/agent"
	"tandem/agent/config"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/gate"
)

// KnownRule is a rule, and whether SetRules can take it back.
type KnownRule struct {
	gate.Rule
	Removable bool
}

// Rules are those of the configuration and, of a session that is not nil, its own, the strictest first.
func (b *Backend) Rules(se *Session) []KnownRule {
	now := b.settings.current()
	files := b.inputs().Files()
	var out []KnownRule
	for _, r := range agent.RulesOf(now.Config, now.Sources) {
		known := KnownRule{Rule: r}
		if at, ok := now.Sources[config.SourceKey(r.Effect.String(), r)]; ok {
			known.Source = at.Source
			known.Removable = at.Source == b.rulesFile()
			if slices.Contains(files, at.Source) && !known.Removable && at.Source != b.o.Inputs.UserFile {
				known.Scope = "workspace"
			}
		}
		out = append(out, known)
	}
	if se != nil {
		for _, r := range se.Grants() {
			out = append(out, KnownRule{Rule: r, Removable: true})
		}
	}
	slices.SortStableFunc(out, func(x, y KnownRule) int { return cmp.Compare(x.Effect, y.Effect) })
	return out
}

func (b *Backend) rulesFile() string { return config.RulesFile(b.o.Inputs.UserFile) }

// remember keeps a rule beside the user's own configuration, and has all sessions follow it.
func (b *Backend) remember(r gate.Rule) error { return b.keepRules([]gate.Rule{r}, nil) }

// keepRules changes the file of rules.
func (b *Backend) keepRules(add []gate.Rule, remove []string) error {
	err := config.EditRules(b.rulesFile(), func(p *config.Permissions) {
		for effect, list := range map[gate.Verdict]*[]config.Rule{gate.Allow: &p.Allow, gate.Ask: &p.Ask, gate.Deny: &p.Deny} {
			*list = slices.DeleteFunc(*list, func(r config.Rule) bool {
				return slices.Contains(remove, agent.RuleOf(effect, r).ID()) || slices.ContainsFunc(add, func(a gate.Rule) bool {
					old := agent.RuleOf(effect, r) // for what its scripts were
					old.Scripts = a.Scripts
					return a.Effect == gate.Allow && a.Scripts != "" && old.ID() == a.ID()
				})
			})
			for _, r := range add {
				if r.Effect == effect {
					*list = append(*list, r)
				}
			}
		}
	})
	if err == nil && b.reload() {
		b.Later(b.TellProblems)
	}
	return err
}

// SetRules adds rules to a scope, "session", "workspace" or "user", and takes others back, of any scope, by id. A session must be
// there for the first scope; the folder of the second is that of the session, or the first of the workspace. An error is an *Error,
// or that of the file of rules.
func (b *Backend) SetRules(scope string, se *Session, add []gate.Rule, remove []string) error {
	for _, r := range add {
		if _, err := path.Match(r.Tool, ""); r.Tool == "" || err != nil {
			return refuse(Invalid, "a rule wants a tool: a name, or a pattern with *.")
		}
		if r.Class != "" && !r.Class.Known() {
			return refuse(Invalid, "class is one of read, write, execute and network, not %.40q.", r.Class)
		}
	}
	known := b.Rules(se)
	for _, id := range remove {
		i := slices.IndexFunc(known, func(r KnownRule) bool { return r.ID() == id })
		switch {
		case i < 0:
			return refuse(Invalid, "there is no rule %.40q here.", id)
		case !known[i].Removable:
			return refuse(NotPermitted, "the rule is written in %s: change it there.", known[i].Source)
		}
	}
	for i := range add {
		add[i].Scope = scope
	}
	switch scope {
	case "session":
		if se == nil {
			return refuse(Invalid, "the scope session wants a sessionId.")
		}
		for i := range add {
			add[i].Source = "set in the editor for this session"
		}
	case "workspace":
		folder := ""
		if folders := b.Folders(); se != nil {
			folder = se.Workspace()
		} else if len(folders) > 0 {
			folder = sandbox.Canonical(folders[0])
		}
		if folder == "" {
			return refuse(Invalid, "the scope workspace wants a sessionId, or an open folder.")
		}
		for i := range add {
			add[i].Workspace = folder
		}
	case "user":
	default:
		return refuse(Invalid, "scope is session, workspace or user, not %.40q.", scope)
	}
	if scope == "session" {
		se.Grant(remove, add...)
		add = nil
	} else if se != nil {
		se.Grant(remove)
	}
	inFile := slices.ContainsFunc(known, func(r KnownRule) bool { return r.Scope != "session" && r.Removable && slices.Contains(remove, r.ID()) })
	if len(add) == 0 && !inFile {
		return nil
	}
	if b.rulesFile() == "" {
		return refuse(NotPermitted, "there is no home folder to keep rules in.")
	}
	return b.keepRules(add, remove)
}

// Drops says which tools no session is offered, whatever its mode; see gate.Policy.
func (b *Backend) Drops() func(tools.Spec) (stage, reason string) {
	now := b.settings.current()
	p := gate.New(gate.Options{Mode: gate.ModeAuto, Rules: agent.RulesOf(now.Config, now.Sources), Now: b.o.Now})
	return func(spec tools.Spec) (stage, reason string) {
		if spec.Category == tools.Code && b.client.Languages == nil { // a session may know a server of its own
			return agent.NoLanguages()
		}
		return p.Drops(spec)
	}
}
