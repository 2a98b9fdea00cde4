package confine

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPolicyLongestPathDecides(t *testing.T) {
	p := Policy{Rules: []Rule{
		{"/", Read},
		{"/home/u/.ssh", Hidden},
		{"/home/u/app", Write},
		{"/home/u/app/.git", Write},
		{"/home/u/app/.git/hooks", Read},
		{"/tmp", Private},
		{"/tmp/app", Write},
	}}
	for name, want := range map[string]Access{
		"/":                          Read,
		"/home":                      Read,
		"/home/u/.ssh":               Hidden,
		"/home/u/.ssh/id":            Hidden,
		"/home/u/.sshd":              Read,
		"/home/u/app/x":              Write,
		"/home/u/application":        Read,
		"/home/u/app/.git/index":     Write,
		"/home/u/app/.git/hooks/pre": Read,
		"/tmp/x":                     Private,
		"/tmp/app/x":                 Write,
	} {
		if got := p.At(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if got := (Policy{Rules: []Rule{{"/usr", Read}}}).At("/etc"); got != 0 {
		t.Errorf("what no rule is about: %d", got)
	}
}

func TestPolicyCheck(t *testing.T) {
	for name, p := range map[string]Policy{
		"relative":   {Rules: []Rule{{"a", Read}}, Network: NoNetwork},
		"not clean":  {Rules: []Rule{{"/a/../b", Read}}, Network: NoNetwork},
		"NUL":        {Rules: []Rule{{"/a\x00b", Read}}, Network: NoNetwork},
		"no access":  {Rules: []Rule{{"/a", 0}}, Network: NoNetwork},
		"access":     {Rules: []Rule{{"/a", Private + 1}}, Network: NoNetwork},
		"twice":      {Rules: []Rule{{"/a", Read}, {"/b", Read}, {"/a", Write}}, Network: NoNetwork},
		"no network": {Rules: []Rule{{"/a", Read}}},
		"network":    {Rules: []Rule{{"/a", Read}}, Network: Proxy + 1},
	} {
		if p.Check() == nil {
			t.Errorf("%s is accepted", name)
		}
		if _, err := Decode(p.Encode()); err == nil {
			t.Errorf("%s is decoded", name)
		}
	}
}

// The text of a policy gives it back and does not depend on the order of its rules.
func TestPolicyEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.Custom(func(t *rapid.T) string {
			b := rapid.SliceOfN(rapid.ByteRange(1, 255), 1, 5).Draw(t, "name")
			return "/x" + strings.ReplaceAll(string(b), "/", "_")
		})
		p := Policy{
			Network: rapid.SampledFrom([]Network{NoNetwork, Loopback, Proxy}).Draw(t, "network"),
			Limits:  Limits{rapid.Uint64().Draw(t, "files"), rapid.Uint64().Draw(t, "processes"), rapid.Uint64().Draw(t, "size")},
		}
		for _, at := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID).Draw(t, "paths") {
			p.Rules = append(p.Rules, Rule{at, rapid.SampledFrom([]Access{Hidden, Read, Write, Private}).Draw(t, "access")})
		}
		text := p.Encode()
		back, err := Decode(text)
		if err != nil || back.Encode() != text || back.Network != p.Network || back.Limits != p.Limits || !slices.Equal(back.Rules, p.sorted()) {
			t.Fatalf("%+v, %v", back, err)
		}
		slices.Reverse(p.Rules)
		if p.Encode() != text {
			t.Error("the order of the rules makes another policy")
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add("1\x000\x000\x000\x002/")
	f.Add("1\x000\x000\x000\x00")
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := Decode(s); err == nil && p.Check() != nil {
			t.Errorf("%+v", p)
		}
	})
}
