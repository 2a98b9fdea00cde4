package foreign

import (
	"encoding/json"
	"fmt"
	"strings"

	"tandem/tools"
)

// Description is a tool as its owner writes it down, in a payload or a file; see ToolSpec in the
// protocol, whose fields these are.
type Description struct {
	Name            string          `json:"name"`
	Aliases         []string        `json:"aliases"`
	Title           string          `json:"title"`
	Description     string          `json:"description"`
	Parameters      json.RawMessage `json:"parameters"`
	Kind            string          `json:"kind"`
	Category        string          `json:"category"`
	ReadOnly        *bool           `json:"readOnly"`
	ConcurrencySafe *bool           `json:"concurrencySafe"`
	Destructive     *bool           `json:"destructive"`
	Danger          string          `json:"danger"`
	PermissionClass string          `json:"permissionClass"`
	Interrupt       string          `json:"interrupt"`
	InputStreaming  bool            `json:"inputStreaming"`
	Providers       []string        `json:"providers"`
	FeatureFlag     string          `json:"featureFlag"`
}

// Spec is the description as New takes it, which shares no memory with it. The error says what
// contradicts what.
func (d Description) Spec() (Spec, error) {
	spec := Spec{
		Spec: tools.Spec{
			Name: strings.Clone(d.Name), Title: strings.Clone(d.Title), Category: strings.Clone(d.Category), Description: strings.Clone(d.Description),
			Kind: tools.Kind(strings.Clone(d.Kind)), Danger: tools.Danger(strings.Clone(d.Danger)), Class: tools.Class(strings.Clone(d.PermissionClass)),
			Flag: strings.Clone(d.FeatureFlag), Block: d.Interrupt == "block", InputStreaming: d.InputStreaming,
			NotDestructive: d.Destructive != nil && !*d.Destructive,
		},
		Parameters: append([]byte(nil), d.Parameters...),
	}
	for _, a := range d.Aliases {
		spec.Aliases = append(spec.Aliases, strings.Clone(a))
	}
	for _, p := range d.Providers {
		spec.Providers = append(spec.Providers, strings.Clone(p))
	}
	switch {
	case d.Kind == "write":
		spec.Kind = tools.Edit
	case d.Kind == "" && d.ReadOnly != nil && *d.ReadOnly:
		spec.Kind = tools.Read
	}
	readOnly := spec.Kind.ReadOnly()
	switch {
	case d.ReadOnly != nil && *d.ReadOnly != readOnly:
		return spec, fmt.Errorf("the tool %.80q has the kind %q and readOnly %v; the kinds read and search, and no others, are read-only",
			d.Name, d.Kind, *d.ReadOnly)
	case d.Destructive != nil && *d.Destructive && readOnly:
		return spec, fmt.Errorf("the tool %.80q is of the kind %s and destructive", d.Name, spec.Kind)
	case d.Interrupt != "" && d.Interrupt != "cancel" && d.Interrupt != "block":
		return spec, fmt.Errorf("interrupt of the tool %.80q is one of cancel and block, not %.40q", d.Name, d.Interrupt)
	}
	if d.ConcurrencySafe != nil && *d.ConcurrencySafe {
		spec.Together = tools.WithReads
	}
	return spec, nil
}
