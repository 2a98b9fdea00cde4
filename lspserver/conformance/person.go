package conformance

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"
)

// Stroke is one thing that a person does to a text: it gives the splices that it makes, none to leave it alone.
type Stroke func(text string) []Splice

// Person types into one open document of an editor, one stroke after each gap.
type Person struct {
	Editor *Editor
	File   string
	// Gap is the time before the next stroke.
	Gap func() time.Duration
}

// Type makes n strokes and gives how many of them changed the text. It ends early with ctx or when the document is
// closed.
func (p *Person) Type(ctx context.Context, n int, stroke Stroke) (typed int, err error) {
	for range n {
		select {
		case <-ctx.Done():
			return typed, ctx.Err()
		case <-time.After(p.Gap()):
		}
		if err := p.Editor.Change(p.File, func(text string) []Splice {
			splices := stroke(text)
			if len(splices) > 0 {
				typed++
			}
			return splices
		}); err != nil {
			return typed, err
		}
	}
	return typed, nil
}

// Human gives gaps round mean: mostly shorter, now and then a pause for thought, never less than a quarter of it.
func Human(r *rand.Rand, mean time.Duration) func() time.Duration {
	return func() time.Duration {
		return mean/4 + time.Duration(r.ExpFloat64()*float64(mean)*3/4)
	}
}

// Wander is a person who writes where the caret stands and now and then goes elsewhere: letters, newlines, characters
// outside the basic plane, backspaces, pastes.
func Wander(r *rand.Rand) Stroke {
	caret := 0
	letters := []rune("abcdefghij ()=é世😀")
	return func(text string) []Splice {
		if caret = min(caret, len(text)); r.IntN(20) == 0 {
			caret = r.IntN(len(text) + 1)
		}
		for !boundary(text, caret) {
			caret--
		}
		start, insert := caret, ""
		switch k := r.IntN(20); {
		case k < 13:
			insert = string(letters[r.IntN(len(letters))])
		case k < 15:
			insert = "\n"
		case k < 16:
			insert = strings.Repeat("pasted ", 1+r.IntN(5)) + "\nand more\n"
		case caret > 0:
			_, size := utf8.DecodeLastRuneInString(text[:caret])
			for start -= size; !boundary(text, start); {
				start--
			}
		default:
			return nil
		}
		s := Splice{start, caret, insert}
		caret = start + len(insert)
		return []Splice{s}
	}
}
