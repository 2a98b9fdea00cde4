package config

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"tandem/sandbox/dial"
)

// Network is what confined commands may reach: "deny", "loopback", or "hosts" and the hosts, with blanks between them. In
// JSON it is one of the two words, or an object with the list "hosts".
type Network string

// Hosts are those that a proxy connects to. proxied says that there is one.
func (n Network) Hosts() (hosts []string, proxied bool) {
	words := strings.Fields(string(n))
	if len(words) == 0 || words[0] != "hosts" {
		return nil, false
	}
	return words[1:], true
}

// MarshalJSON gives what the configuration takes.
func (n Network) MarshalJSON() ([]byte, error) {
	if hosts, ok := n.Hosts(); ok {
		return json.Marshal(map[string][]string{"hosts": hosts})
	}
	return json.Marshal(string(n))
}

// UnmarshalJSON reads what MarshalJSON gives.
func (n *Network) UnmarshalJSON(text []byte) error {
	var o struct{ Hosts []string }
	if err := json.Unmarshal(text, &o); err == nil {
		*n = hostsOnly(o.Hosts)
		return nil
	}
	return json.Unmarshal(text, (*string)(n))
}

func hostsOnly(hosts []string) Network {
	return Network(strings.Join(append([]string{"hosts"}, hosts...), " "))
}

// network decodes the object of a Network. Hosts that are none are left out.
func (d *decoder) network(o *hujson.Object, at span, to reflect.Value, key string, tag reflect.StructTag) bool {
	var list struct {
		Hosts []string `json:"hosts" form:"host"`
	}
	d.object(o, reflect.ValueOf(&list).Elem(), key)
	if !d.set[join(key, "hosts")] {
		d.wrong(at, key, tag, "%q needs the list \"hosts\"", key)
		return false
	}
	to.SetString(string(hostsOnly(list.Hosts)))
	return true
}

// host says why an entry of the list of hosts is none.
func host(s string) string {
	if _, _, err := dial.Entry(s); err != nil {
		return "must be a host such as example.org or example.org:8443: " + err.Error()
	}
	return ""
}

// narrower says that a network reaches no more than another one.
func (n Network) narrower(than Network) bool {
	hosts, proxied := n.Hosts()
	most, wide := than.Hosts()
	switch {
	case wide:
		return !proxied || !slices.ContainsFunc(hosts, func(h string) bool { return !slices.Contains(most, h) })
	case proxied:
		return false
	}
	return n == than || n == "deny"
}
