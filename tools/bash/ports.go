package bash

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
)

// checkPorts says why the ports of a call cannot be opened.
func (in input) checkPorts(env *tools.Env) error {
	if len(in.Ports) == 0 {
		return nil
	}
	if len(in.Ports) > sandbox.MaxPorts {
		return tools.Misused("$.ports", fmt.Sprintf("at most %d", sandbox.MaxPorts), fmt.Sprintf("ports has %d ports, and at most %d are opened", len(in.Ports), sandbox.MaxPorts))
	}
	for i, p := range in.Ports {
		if p < 1 || p > 65535 || slices.Contains(in.Ports[:i], p) {
			return tools.Misused("$.ports["+strconv.Itoa(i)+"]", "1 to 65535, each once", fmt.Sprintf("ports has %d: give each port once, from 1 to 65535", p))
		}
	}
	switch need := env.Needs[0]; {
	case !in.Background:
		return tools.Misused("$.ports", "absent", "ports are for commands in the background: set `background` too")
	case !need.Confined:
		return nil // it is on the network of the host
	case env.Commands.Runner.Level().Name != sandbox.LevelFull:
		return tools.Refuse(tools.Unsupported, "ports", "Commands have no network at the sandbox level of this system (%s), so no port of theirs can be "+
			"opened. Nothing was run. The user can run the server in a terminal.", env.Commands.Runner.Level().Name)
	case need.Profile != sandbox.Loopback && need.Profile != sandbox.Proxy:
		return tools.Refuse(tools.Unsupported, "ports", "The setting `sandbox.network` is deny, so a command has no ports that could be opened. Nothing was run.")
	}
	return nil
}

// relayed words where the ports of a command are reached.
func relayed(relays []sandbox.Relay) string {
	var said []string
	for _, r := range relays {
		at := fmt.Sprintf("Its port %d is open to this computer at http://127.0.0.1:%d until it ends.", r.Port, r.Host)
		if r.Port != r.Host {
			at = fmt.Sprintf("Its port %d is open to this computer at http://127.0.0.1:%d until it ends: the port %d was taken.", r.Port, r.Host, r.Port)
		}
		said = append(said, at)
	}
	return strings.Join(said, " ")
}
