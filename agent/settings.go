package agent

import (
	"tandem/agent/config"
	"tandem/agent/model"
)

// Settings are the configuration, which a session follows: it holds for the next call and the next prompt.
type Settings struct {
	Config config.Config
	Models model.Opener
	// Sources are where the rules of the configuration were written, as config.Loaded.Sources has them.
	Sources map[string]config.Origin
	// AskAlways is set where a restriction could not be parsed: every change and command asks, whatever the mode, and no rule allows any.
	AskAlways bool
	// CommandTimeSet is set where a layer names a time for commands.
	CommandTimeSet bool
}
