package builtin_test

import (
	"regexp"
	"strings"
	"testing"

	"tandem/tools"
	"tandem/tools/builtin"
	"tandem/tools/toolstest"
)

// Every shipped tool says all that a scheduler, a person and a model need of it.
func TestF034_F065Contract(t *testing.T) {
	for _, x := range toolstest.SetOf(builtin.Tools()...).List() {
		toolstest.Contract(t, x)
		if s := x.Spec(); s.Source != tools.SourceBuiltin || s.Together == tools.WithReads && !s.Kind.ReadOnly() && s.Kind != tools.Fetch && s.Kind != tools.Think {
			t.Errorf("%+v", s)
		}
	}
}

// F037: when to use it, when not, and the way out of an error.
func TestF037Descriptions(t *testing.T) {
	for _, x := range builtin.Tools() {
		d := strings.Join(strings.Fields(x.Spec().Description), " ")
		if len(d) < 200 {
			t.Errorf("%s: a description of %d characters", x.Spec().Name, len(d))
		}
		for what, part := range map[string]string{
			"when to use it": `Use it `, "when not": `([Dd]o not|[Ii]nstead of) `, "the way out of an error": `(When it fails|A failure|If )`,
		} {
			if !regexp.MustCompile(part).MatchString(d) {
				t.Errorf("%s: the description does not say %s (%s)", x.Spec().Name, what, part)
			}
		}
	}
}
