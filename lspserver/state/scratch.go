package state

import (
	"os"

	"tandem/agent/config"
	"tandem/agent/store"
	"tandem/tools/outputs"
)

// Scratch makes a temporary file in the state folder, for what need not outlive its session. It has
// no name any more once it is made, except on Windows, where it keeps it until it is closed.
func Scratch(cfg config.Config) (outputs.File, error) {
	dir := Dir(cfg)
	if err := store.Private(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(dir, "output-")
	if err != nil {
		return nil, err
	}
	if os.Remove(f.Name()) == nil {
		return f, nil
	}
	return named{f}, nil
}

// named is a file that goes when it is closed.
type named struct{ *os.File }

func (n named) Close() error {
	err := n.File.Close()
	_ = os.Remove(n.Name())
	return err
}
