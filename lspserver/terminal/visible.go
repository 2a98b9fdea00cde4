package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf16"

	"tandem/filetime/text/show"
)

// visible writes texts so that nothing in them is invisible or steers the terminal; each Write is
// whole characters. Everything that the command line prints goes through it, but for texts that are
// for a program.
type visible struct{ to io.Writer }

func (v visible) Write(b []byte) (int, error) {
	if _, err := io.WriteString(v.to, show.Visible(string(b), true)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Stdout and Stderr are the outputs of the process for text that people read.
func Stdout() io.Writer { return visible{os.Stdout} }

// Stderr is described at Stdout.
func Stderr() io.Writer { return visible{os.Stderr} }

// ForProgram writes what a file or another program is to get as it is; on a terminal it is made
// visible.
func ForProgram(text string) error {
	out := io.Writer(os.Stdout)
	if info, err := os.Stdout.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		out = Stdout()
	}
	_, err := io.WriteString(out, text)
	return err
}

// OneLine is a value as part of a line.
func OneLine(s string) string { return show.Visible(s, false) }

// PrintJSON prints a value. What is invisible in its strings is written as JSON's own \uXXXX, so
// the value is the same.
func PrintJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(os.Stdout, plainJSON(b.String()))
	return err
}

func plainJSON(text string) string {
	if show.Visible(text, true) == text {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		c := string(r)
		if show.Visible(c, true) == c {
			b.WriteString(c)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}
