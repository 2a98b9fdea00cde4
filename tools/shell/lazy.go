package shell

import (
	"regexp"
	"strings"
	"sync"
)

// wordSet is a set of words, made of its list when it is first asked.
type wordSet struct {
	list string // separated by blanks

	once  sync.Once
	words map[string]bool
}

func (s *wordSet) has(word string) bool {
	s.once.Do(func() {
		s.words = map[string]bool{}
		for w := range strings.FieldsSeq(s.list) {
			s.words[w] = true
		}
	})
	return s.words[word]
}

// expression is a regular expression, compiled when it is first matched.
type expression struct {
	whole bool // it matches whole texts
	text  string

	once     sync.Once
	compiled *regexp.Regexp
}

func (e *expression) match(s string) bool {
	e.once.Do(func() {
		text := e.text
		if e.whole {
			text = `^(?:` + text + `)$`
		}
		e.compiled = regexp.MustCompile(text)
	})
	return e.compiled.MatchString(s)
}
