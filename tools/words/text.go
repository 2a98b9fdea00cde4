package words

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// Language is a language that messages exist in; any other one, the zero value too, stands for
// English.
type Language string

// The languages.
const (
	English Language = "en"
	Chinese Language = "zh-CN"
)

// Text is a message that can be said in every language: a format as fmt has it, in English, and
// what it is about. The format is the key of its translations, so that each text has one place.
// Names of tools and parameters, paths, codes and what a program or a person said are arguments,
// which stay as they are; an argument that is a Text is said in the same language. The zero value
// says nothing.
type Text struct {
	Format string
	Args   []any
}

// Of makes a Text.
func Of(format string, args ...any) Text { return Text{format, args} }

// In says t. A text that has no translation is said in English. It may be called concurrently.
func (t Text) In(l Language) string {
	format := t.Format
	if l == Chinese {
		if said, ok := chinese()[format]; ok {
			format = said
		}
	}
	args := make([]any, len(t.Args))
	for i, a := range t.Args {
		if inner, ok := a.(Text); ok {
			a = inner.In(l)
		}
		args[i] = a
	}
	return fmt.Sprintf(format, args...)
}

// String says t in English.
func (t Text) String() string { return t.In(English) }

//go:embed zh-CN.json
var zhCN []byte

// chinese has the translations by their English formats.
var chinese = sync.OnceValue(func() map[string]string {
	var table map[string]string
	if err := json.Unmarshal(zhCN, &table); err != nil {
		panic(err) // a mistake in the program
	}
	return table
})
