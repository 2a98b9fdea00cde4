//go:build !linux && !darwin

package sandbox

import "errors"

// probe finds nothing.
func (l *Local) probe() (level Level, settled bool) {
	return Level{Name: LevelNone, Reason: "commands run with all the rights of this user: there is no sandbox for this system yet" + caveat}, true
}

// again has nothing to try.
func (l *Local) again(string) error { return errors.New("there is no sandbox for this system") }

// confiner is what confines commands: nothing does.
type confiner struct{}

func (confiner) close() {}

func (confiner) temp(string) string { return "" }

func (confiner) confined(launch) ([]string, func(), error) {
	return nil, nil, errors.New("there is no sandbox for this system")
}
