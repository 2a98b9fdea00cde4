// Package fileinfo is the tool get_file_info: what stands at a path, without its text.
package fileinfo

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"tandem/filetime/text"
	"tandem/filetime/text/show"
	"tandem/sandbox"
	"tandem/tools"
	"tandem/tools/entry"
)

//go:embed get_file_info.md
var description string

// Args are the arguments of get_file_info.
type Args struct {
	Path string `json:"path" desc:"The file or directory." minlen:"1" alias:"file_path,file,filename" nocoerce:"true"`
}

// Value is what a program gets. Size, Mtime, Mode, Encoding and BOM are those of the disk; Lines,
// EOL and FinalNewline are those of the editor's buffer where it is open. What is not known is
// absent.
type Value struct {
	Path string `json:"path"`
	// Kind is file or directory, Link what a symbolic link at the path itself leads to.
	Kind  string `json:"kind"`
	Link  string `json:"link,omitempty"`
	Size  int64  `json:"size"`
	Mtime string `json:"mtime,omitempty"`
	Mode  string `json:"mode,omitempty"`
	// Entries counts what is directly in a directory.
	Entries *int `json:"entries,omitempty"`
	// Text says that a file is text.
	Text     bool   `json:"text,omitzero"`
	Lines    int    `json:"lines,omitzero"`
	Encoding string `json:"encoding,omitempty"`
	// EOL is lf, crlf, cr or mixed.
	EOL          string `json:"eol,omitempty"`
	BOM          bool   `json:"bom,omitzero"`
	FinalNewline bool   `json:"finalNewline,omitzero"`
	// Open says that it is open in the editor, Dirty that it has unsaved changes there, Version is
	// the editor's.
	Open    bool   `json:"open,omitzero"`
	Dirty   bool   `json:"dirty,omitzero"`
	Version *int32 `json:"version,omitempty"`
}

// New makes the tool.
func New() tools.Tool {
	return tools.Define(tools.Definition[Args]{
		Spec: tools.Spec{
			Name: "get_file_info", Aliases: []string{"stat"}, Kind: tools.Read, Category: "files", Description: strings.TrimSpace(description),
			Danger: tools.Safe, Class: tools.ClassRead, Together: tools.WithReads, NotDestructive: true, Source: "builtin", Deferred: true,
		},
		Title:   func(in Args) string { return "Info on " + in.Path },
		Subject: func(in Args) string { return in.Path },
		Needs:   func(env *tools.Env, in Args) ([]tools.Need, error) { return tools.ToRead(env, in.Path) },
		Plan: func(_ context.Context, env *tools.Env, in Args) (*tools.Plan, error) {
			return &tools.Plan{
				Title: "Info on " + env.Name(env.Place().Path()), Danger: tools.Safe, Semantic: "read",
				Run: func(ctx context.Context) (tools.Result, error) { return run(ctx, env, in) },
			}, nil
		},
	})
}

func run(ctx context.Context, env *tools.Env, in Args) (tools.Result, error) {
	place := env.Place()
	v := Value{Path: place.Path(), Kind: "file", Link: link(env, in.Path)}
	now, unread := env.Read(ctx, place)
	info, err := place.Stat()
	switch {
	case err != nil && unread == nil && now.Open: // it was never saved
	case err != nil:
		_, err := entry.At(env, place)
		return tools.Result{}, err
	default:
		v.Size, v.Mtime, v.Mode = info.Size(), info.ModTime().UTC().Format(time.RFC3339), info.Mode().Perm().String()
		switch {
		case info.IsDir():
			v.Kind, v.Size = "directory", 0
			v.count(place)
			return answer(env, v, ""), nil
		case !info.Mode().IsRegular():
			v.Kind = "special"
			return answer(env, v, "It is neither a file nor a directory."), nil
		}
	}
	if unread != nil {
		if !entry.NoText(unread) {
			return tools.Result{}, unread
		}
		return answer(env, v, "It is not text, or too large to be read as text."), nil
	}
	v.Text, v.Lines, v.EOL = true, tools.Lines(now.Text), ends(now.Text.String())
	v.FinalNewline = strings.HasSuffix(now.Text.String(), "\n")
	if v.Open, v.Dirty = now.Open, now.Dirty; now.Open {
		v.Version = &now.Version
	}
	v.encoding(env, place)
	return answer(env, v, ""), nil
}

// link is what a symbolic link at a path itself leads to, "" where there is none.
func link(env *tools.Env, path string) string {
	abs, err := env.Paths.Meant(path)
	if err != nil {
		return ""
	}
	folder, err := env.Paths.Readable(filepath.Dir(abs))
	if err != nil {
		return ""
	}
	if info, err := folder.Join(filepath.Base(abs)).Stat(); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return ""
	}
	return env.Place().Path()
}

func (v *Value) count(place sandbox.Place) {
	dir, err := place.Dir()
	if err != nil {
		return
	}
	defer dir.Close()
	names, err := dir.ReadDir(-1)
	if n := len(names); err == nil {
		v.Entries = &n
	}
}

// encoding tells how the bytes on disk are a text.
func (v *Value) encoding(env *tools.Env, place sandbox.Place) {
	f, _, err := place.Open()
	if err != nil {
		return
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, env.Limits.MaxFileBytes+1))
	if err != nil || env.Limits.MaxFileBytes > 0 && int64(len(raw)) > env.Limits.MaxFileBytes {
		return
	}
	if t, charset, err := text.Decode(raw); err == nil {
		v.Encoding = charset.String()
		v.BOM = charset != text.CharsetUTF8 || strings.HasPrefix(t.Slice(0, min(3, t.Len())), "\ufeff")
	}
}

// ends names the kind of the line ends, "" where there is none.
func ends(s string) string {
	crlf := strings.Count(s, "\r\n")
	lf, cr := strings.Count(s, "\n")-crlf, strings.Count(s, "\r")-crlf
	switch {
	case crlf > 0 && lf+cr == 0:
		return "crlf"
	case lf > 0 && crlf+cr == 0:
		return "lf"
	case cr > 0 && crlf+lf == 0:
		return "cr"
	case crlf+lf+cr > 0:
		return "mixed"
	}
	return ""
}

// answer words it, a line for each matter.
func answer(env *tools.Env, v Value, more string) tools.Result {
	name := env.Name(v.Path)
	parts := []string{name + ": " + v.Kind}
	if v.Entries != nil {
		entries := "entries"
		if *v.Entries == 1 {
			entries = "entry"
		}
		parts = append(parts, fmt.Sprintf("%d %s", *v.Entries, entries))
	} else if v.Mtime != "" {
		parts = append(parts, fmt.Sprintf("%d bytes", v.Size))
	}
	if v.Text {
		parts = append(parts, tools.Count(v.Lines, "line"))
		if v.Encoding != "" {
			parts = append(parts, v.Encoding)
		}
		if v.BOM {
			parts = append(parts, "byte order mark")
		}
		if v.EOL != "" {
			parts = append(parts, map[string]string{"lf": "LF", "crlf": "CRLF", "cr": "CR", "mixed": "mixed line ends"}[v.EOL])
		}
		if !v.FinalNewline && v.Lines > 0 {
			parts = append(parts, "no line end at the end")
		}
	}
	if v.Mtime != "" {
		parts = append(parts, "mode "+v.Mode, "last changed "+v.Mtime)
	}
	data := strings.Join(parts, ", ")
	if v.Link != "" {
		data += "\nThe path is a symbolic link to it."
	}
	switch {
	case v.Dirty && v.Mtime == "":
		data += "\nIt is open in the editor and was never saved."
	case v.Dirty:
		data += "\nIt is open in the editor with unsaved changes: the lines are those of the buffer, bytes and times those of the disk."
	case v.Open:
		data += "\nIt is open in the editor."
	}
	if more != "" {
		data += "\n" + more
	}
	return tools.Result{Success: true, Data: data, Summary: show.Visible(strings.Join(parts[:min(3, len(parts))], ", "), false), Value: v}
}
