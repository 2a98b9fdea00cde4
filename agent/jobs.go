package agent

import (
	"fmt"
	"strings"

	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/jobs"
)

// Jobs are the commands that the session runs in the background now.
func (s *Session) Jobs() []jobs.Job { return s.jobs.Alive() }

// runningJobs tells a person what goes on after a turn; "" is nothing.
func runningJobs(list []jobs.Job) string {
	if len(list) == 0 {
		return ""
	}
	var titles []string
	for _, j := range list {
		titles = append(titles, fmt.Sprintf("%s (%s)%s", j.Title, j.ID, open(j.Connections)))
	}
	return "Goes on in the background until the session is closed: " + strings.Join(titles, ", ") + "."
}

// open says where a job is reached, and where it is not.
func open(c sandbox.Connections) (said string) {
	for _, r := range c.Relays {
		said += fmt.Sprintf(", open at http://127.0.0.1:%d", r.Host)
	}
	if ports := c.Unreached(); len(ports) > 0 {
		said += fmt.Sprintf(", which listens at %s in the sandbox, where your browser cannot reach it; ask the agent to open it", tools.PortNames(ports))
	}
	return said
}

// unreachedJobs tells a model which jobs listen where nothing reaches them, once each.
func unreachedJobs(all *jobs.Jobs) string {
	var lines []string
	for _, j := range all.Connected() {
		lines = append(lines, all.Fresh(j.ID, j.Unreached())...)
	}
	return strings.Join(lines, "\n")
}

// endedJobs tells a model which jobs have ended since it last looked, a line each; "" is none.
func endedJobs(list []jobs.Job) string {
	var lines []string
	for _, j := range list {
		lines = append(lines, fmt.Sprintf("The background command %s (%s) has ended with exit code %d. job_output gives the rest of what it printed.",
			j.ID, j.Title, j.ExitCode))
		lines = append(lines, j.Said...)
	}
	return strings.Join(lines, "\n")
}

// joined are texts, each from a line of its own on.
func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}
