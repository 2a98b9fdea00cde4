package shell

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/sent.txt
var sentText string

// TestFaultW15LinesThatAgentsSend: what provably reads is not asked about, and what only looks like it is.
func TestFaultW15LinesThatAgentsSend(t *testing.T) {
	rows, asked, likeReading, reading, missed := 0, 0, 0, 0, 0
	counted := 1
	for text := range strings.Lines(sentText) {
		text = strings.TrimSuffix(text, "\n")
		if strings.HasPrefix(text, "# Not counted") { // .ci/changes -rows tells which
			counted = 0
		}
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		want, line, _ := strings.Cut(text, " ")
		line = strings.ReplaceAll(line, "␤", "\n")
		rows += counted
		t.Run(text, func(t *testing.T) {
			c := parse(line, "/w/app", "/home/u", "/w/app")
			switch want {
			case "reads":
				if reading++; !c.ReadOnly {
					t.Errorf("%q is asked about: %s", line, c.Opaque)
				}
			case "missed": // it reads, and nobody can prove it yet
				reading++
				if missed++; c.ReadOnly {
					t.Errorf("%q is known to read by now", line)
				}
			case "asks", "like":
				asked++
				if want == "like" {
					likeReading++
				}
				if c.ReadOnly {
					t.Errorf("%q is not asked about: %+v", line, c)
				}
			default:
				t.Errorf("%q", text)
			}
		})
	}
	t.Logf("%d rows count, %d asked of which %d look like reading, %d of %d that read are missed", rows, asked, likeReading, missed, reading)
	if rows < 200 || asked < 40 || likeReading < 20 || missed*10 > reading {
		t.Error("too few rows, or too many that are missed")
	}
}
