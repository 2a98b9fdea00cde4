package web

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"tandem/filetime/text/show"
	"tandem/sandbox/dial"
	"tandem/tools"
)

// Parse gives the one URL that is judged, shown and requested: with a scheme, a host as dial.Host
// gives it, a port only where it is not the scheme's own, and no user. The error is a refusal.
func Parse(raw string) (*url.URL, error) {
	invalid := func(format string, args ...any) error {
		return tools.Refuse(tools.InvalidArgs, "invalid_url", "%q is not a URL that can be fetched: %s. Use one such as https://example.org/page.",
			show.Visible(raw, false), fmt.Sprintf(format, args...))
	}
	raw = strings.TrimSpace(raw)
	if scheme, rest, ok := strings.Cut(raw, ":"); !ok || strings.ContainsAny(scheme, "./?#@") || isPort(rest) {
		raw = "https://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		if why, ok := errors.AsType[*url.Error](err); ok {
			err = why.Err
		}
		return nil, invalid("%v", err)
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return nil, invalid("its scheme is %q, not https or http", u.Scheme)
	}
	if u.Opaque != "" || u.Host == "" {
		return nil, invalid("it names no host")
	}
	host, port, err := dial.Entry(u.Host)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Host = host; port != "" && port != (map[string]string{"https": "443", "http": "80"})[u.Scheme] {
		u.Host += ":" + port
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// Named is the judge of the address of a service that a person has named: where its host is an
// address, or localhost, it may be this machine or one of its network. What another name leads to
// is judged by judge.
func Named(u *url.URL, judge func(netip.Addr) error) func(netip.Addr) error {
	host := u.Hostname()
	wanted, err := netip.ParseAddr(host)
	return func(a netip.Addr) error {
		if a = a.Unmap(); err == nil && a == wanted.Unmap() || host == "localhost" && a.IsLoopback() {
			return nil
		}
		return judge(a)
	}
}

// Here says that the host of a URL is this machine.
func Here(u *url.URL) bool {
	a, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && a.IsLoopback()
}

// isPort says that what follows a colon is a port: then it was no scheme that stood before it.
func isPort(s string) bool {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	return digits > 0 && (digits == len(s) || strings.ContainsRune("/?#", rune(s[digits])))
}
