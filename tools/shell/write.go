package shell

import (
	"path"
	"slices"
	"strings"
)

// Programs whose operands are written: all of them, or the last one, which may be a folder that the
// others come to lie in. edited are those that write their operands where an option -i stands.
var (
	written = wordSet{list: "tee touch rm rmdir unlink mkdir truncate shred chmod chown chgrp mkfifo mknod sponge ed ex vi vim nvim nano patch"}
	copied  = wordSet{list: "cp mv ln install rsync scp"}
	edited  = wordSet{list: "sed perl ruby gawk"}
)

// writes notes the files that a command writes by its operands, as far as these are known.
func (s *search) writes(name string, args []word) {
	var operands []word
	options, into := true, ""
	for i := 0; i < len(args); i++ {
		w := args[i]
		next := func() (n word) {
			if i+1 < len(args) {
				n = args[i+1]
			}
			return n
		}
		option, value, joined := strings.Cut(w.text, "=")
		switch {
		case option == "of" && joined && name == "dd":
			s.write(word{value, w.exact})
		case !options || !strings.HasPrefix(w.text, "-") || w.text == "-":
			operands = append(operands, w)
		case w.text == "--":
			options = false
		case option == "--target-directory" && joined:
			into = value
		case copied.has(name) && name != "rsync" && (option == "-t" || option == "--target-directory"):
			into = next().text
			i++
		case option == "--output" && joined:
			s.write(word{value, w.exact})
		case option == "-o", option == "--output", option == "-O" && name == "wget":
			s.write(next())
		}
	}
	last := len(operands) - 1
	switch {
	case written.has(name), edited.has(name) && flag(args, "i", "in-place"):
		for _, w := range operands {
			s.write(w)
		}
	case copied.has(name) && last >= 0:
		if name == "mv" {
			for _, w := range operands {
				s.write(w)
			}
		}
		sources := operands
		if into == "" {
			into, sources = operands[last].text, operands[:last]
			s.write(operands[last])
		}
		for _, w := range sources {
			s.writeIn(word{into + "/" + path.Base(w.text), w.exact}, true)
		}
	}
}

func (s *search) write(w word) { s.writeIn(w, false) }

// writeIn notes one file, in each folder that the command may run in.
func (s *search) writeIn(w word, in bool) {
	if w.text == "" || strings.Contains(w.text, unknown) {
		return
	}
	for _, dir := range s.dirs {
		if p := (Write{under(dir, w.text), in}); p.Path != "" && !slices.Contains(s.written, p) {
			s.written = append(s.written, p)
		}
	}
}
