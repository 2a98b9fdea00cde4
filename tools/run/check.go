package run

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"tandem/filetime"
	"tandem/tools"
	"tandem/tools/syntax"
)

// syntax warns of files that do not parse after the change. Nothing is taken back for it: a change may take several edits.
func (c *call) syntax() error {
	for _, f := range c.changes.landed.Files {
		if f.Already || f.Deleted || f.Entry != filetime.File || len(f.Set) == 0 {
			continue
		}
		if says := syntax.Broken(f.Path, f.Before.String(), f.After.String()); says != "" {
			c.warn(c.told(filetime.Warning{Path: f.Path, Says: says}))
		} else if !syntax.Parses(f.Path) {
			kind := strings.ToLower(path.Ext(f.Path))
			if why := c.lookAfter(f.Path); c.env.Servers.Findings != nil && syntax.Code(f.Path) && c.env.Servers.Findings.Unchecked(kind, why) && why != "" {
				c.warn("Not checked for syntax: " + strings.ReplaceAll(why, "KIND", kind))
			}
		}
	}
	return nil
}

// The limits of what language servers say after an edit.
const (
	awaited   = 500 * time.Millisecond
	mostFound = 5
)

// cache keeps what language servers hold against the files that a change is about to edit, unless that is kept already. Servers that do
// not run are not started for it, and what they know already is not waited for longer than what they find later.
func (c *call) cache() error {
	if c.plan.Change == nil || c.queued() || !c.env.Servers.Compares() {
		return nil
	}
	ctx, done := context.WithTimeout(c.ctx, awaited)
	defer done()
	c.changes.found = map[string]look{}
	for _, f := range c.plan.Change.Files {
		if f.Delete || f.Entry != filetime.File || syntax.Parses(f.Path) && c.env.Servers.Findings.Kept(f.Path) {
			continue
		}
		var d tools.Diagnosis
		if !f.Create {
			now, err := c.host.Files.Read(ctx, f.Path)
			if err == nil {
				d, err = c.env.Servers.Languages.Glance(ctx, now, 0)
			}
			if err != nil {
				c.changes.found[f.Path] = look{err: err}
				continue
			}
		}
		c.env.Servers.Findings.Keep(f.Path, d.Findings)
		c.changes.found[f.Path] = look{findings: d.Findings}
	}
	return nil
}

const noServer = "there is no language server for KIND files."

// lookAfter warns of errors that language servers find in a file that was edited and that they did not find before. It returns a
// sentence about why the file was not checked, "" where it was; KIND in it is the ending of its name.
func (c *call) lookAfter(file string) (unchecked string) {
	if c.env.Servers.Languages == nil {
		return noServer
	}
	before, looked := c.changes.found[file]
	if !looked || c.alive() != nil {
		return ""
	}
	now, err := c.host.Files.Read(c.ctx, file)
	if err != nil || now.Planned {
		return ""
	}
	var d tools.Diagnosis
	if err = before.err; err == nil {
		d, err = c.env.Servers.Languages.Glance(c.ctx, now, awaited)
	}
	var none *tools.NoServerError
	switch {
	case errors.As(err, &none) && none.Idle != "":
		return none.Idle + " is not running. diagnostics starts it."
	case errors.As(err, &none):
		return noServer
	case err != nil || !d.Fresh: // findings about an older text do not apply to this one
		return "the language server has not answered yet. See diagnostics."
	}
	list := slices.DeleteFunc(tools.NewFindings(before.findings, d.Findings), func(f tools.Finding) bool { return f.Severity != tools.SeverityError })
	for i, f := range list {
		if i == mostFound {
			c.warn(fmt.Sprintf("… %d more new errors: see diagnostics", len(list)-i))
			break
		}
		c.warn("New: " + f.At(c.env, f.Span.Line(now.Text)))
	}
	return ""
}
