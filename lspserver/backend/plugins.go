package backend

import (
	"fmt"
	"path/filepath"

	"tandem/agent/config"
	"tandem/tools"
	"tandem/tools/plugin"
)

// Plugin is a plug-in of the configuration.
type Plugin struct {
	// ID is "" where the manifest could not be read. Reason says why it has no tools, "" where it has.
	Folder, ID, Reason string
	Tools              int
}

// loadPlugins reads the plug-ins of a configuration, each of which is a layer of tools.
func loadPlugins(folders []string) (layers []tools.Layer, found []Plugin) {
	taken := map[string]string{}
	for _, folder := range folders {
		p := Plugin{Folder: folder}
		layer, err := func() (l tools.Layer, err error) {
			if !filepath.IsAbs(folder) {
				return l, fmt.Errorf("the path is not absolute")
			}
			js, err := config.ReadFile(filepath.Join(folder, plugin.Manifest))
			if err != nil {
				return l, fmt.Errorf("%s: %s", plugin.Manifest, config.Reason(err))
			}
			l, p.ID, err = plugin.Layer(folder, js)
			if err != nil {
				return l, fmt.Errorf("%s: %w", plugin.Manifest, err)
			}
			if by, is := taken[p.ID]; is {
				return l, fmt.Errorf("the plug-in in %s has the id %s too", by, p.ID)
			}
			return l, nil
		}()
		if err != nil {
			p.Reason = err.Error()
		} else {
			taken[p.ID] = folder
			p.Tools = layer.Len()
			layers = append(layers, layer)
		}
		found = append(found, p)
	}
	return layers, found
}

// plug has the plug-ins of a configuration take the place of those that there are.
func (b *Backend) plug(cfg config.Config) {
	layers, found := loadPlugins(cfg.Plugins)
	before := b.toolbox.swapPlugins(found)
	for _, p := range found {
		if p.Reason != "" {
			b.log.Warn("a plug-in has no tools", "folder", p.Folder, "reason", p.Reason)
		}
	}
	if len(layers) == 0 && len(before) == 0 {
		return
	}
	_ = b.changeTools(func(s *tools.Set) (*tools.Set, error) {
		for _, p := range before {
			s = s.Without(tools.RankPlugin, p.ID)
		}
		for _, l := range layers {
			s = s.With(l)
		}
		return s, nil
	})
}
