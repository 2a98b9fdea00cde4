package userinfo

import (
	"strings"
	"testing"
)

func TestWithout(t *testing.T) {
	const key = "ghp_abcdefghijklmnop"
	for text, want := range map[string]string{
		"":                                              "",
		"origin\thttps://me:pw@h/x.git":                 "origin\thttps://me:[redacted]@h/x.git",
		"https://" + key + "@github.com/x":              "https://[redacted]@github.com/x",
		"https://x-access-token:" + key + "@h":          "https://x-access-token:[redacted]@h",
		"a ftp://u:1@h b http://v:2@i/ c":               "a ftp://u:[redacted]@h b http://v:[redacted]@i/ c",
		"url = ssh://git@example.org/x":                 "url = ssh://git@example.org/x",
		"https://me@h/x":                                "https://me@h/x",
		"https://h/a:b@c":                               "https://h/a:b@c",
		"https://h:80/x?q=a@b":                          "https://h:80/x?q=a@b",
		"https://:pw@h":                                 "https://:[redacted]@h",
		"https://me:@h":                                 "https://me:@h",
		"git@github.com:x/y.git":                        "git@github.com:x/y.git",
		"://://u:p@h":                                   "://://u:[redacted]@h",
		"https://u:" + strings.Repeat("p", 100) + "@h":  "https://u:[redacted]@h",
		"https://u:p":                                   "https://u:p",
		"https://" + key[:16] + "@h":                    "https://[redacted]@h",
		"https://" + key[:15] + "@h":                    "https://" + key[:15] + "@h", // a name
		"https://" + key + ":@h":                        "https://" + key + ":@h",
		"https://u:p:q@h":                               "https://u:[redacted]@h",
		"https://u:" + strings.Repeat("p", 4094) + "@h": "https://u:[redacted]@h",
		"https://u:" + strings.Repeat("p", 4095) + "@h": "https://u:" + strings.Repeat("p", 4095) + "@h", // too long to be one
		strings.Repeat("x ", 4096) + "https://u:p@h":    strings.Repeat("x ", 4096) + "https://u:[redacted]@h",
	} {
		if got := Without(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
