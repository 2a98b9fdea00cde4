package read

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tandem/filetime"
	"tandem/sandbox"
	"tandem/tools"
)

// mediaType is a format of files that a model is shown as a part of the answer and not as text.
// begins says whether a file begins as one of the format does.
type mediaType struct {
	mimeType string
	kind     tools.PartKind
	begins   func(head []byte) bool
}

func prefix(magic string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) }
}

var (
	png  = mediaType{"image/png", tools.ImagePart, prefix("\x89PNG\r\n\x1a\n")}
	jpeg = mediaType{"image/jpeg", tools.ImagePart, prefix("\xff\xd8\xff")}
	gif  = mediaType{"image/gif", tools.ImagePart, func(head []byte) bool { return prefix("GIF87a")(head) || prefix("GIF89a")(head) }}
	webp = mediaType{"image/webp", tools.ImagePart, func(head []byte) bool {
		return prefix("RIFF")(head) && len(head) >= 12 && string(head[8:12]) == "WEBP"
	}}
	pdf = mediaType{"application/pdf", tools.DocumentPart, func(head []byte) bool { return bytes.Contains(head, []byte("%PDF-")) }}
)

// media are the formats by the extension of the file's name.
var media = map[string]mediaType{".png": png, ".jpg": jpeg, ".jpeg": jpeg, ".gif": gif, ".webp": webp, ".pdf": pdf}

// octets is the type of a file that is not of the format that its name promises. No service takes
// it, so that the model is told.
const octets = "application/octet-stream"

// headBytes is how much of a file says what it is: a PDF may have something before its header.
const headBytes = 1024

// typeOf is the type of a file by its extension and its first bytes: both must be known, and of two
// formats the bytes decide, since services refuse a request whose data is not of the type that it
// names.
func typeOf(ext string, head []byte) string {
	head = head[:min(len(head), headBytes)]
	promised := media[ext]
	if promised.begins(head) {
		return promised.mimeType
	}
	for _, m := range []mediaType{png, jpeg, gif, webp} {
		if m.begins(head) && m.kind == promised.kind {
			return m.mimeType
		}
	}
	return octets
}

type mediaValue struct {
	Path      string `json:"path"`
	MediaType string `json:"mediaType"`
	Bytes     int    `json:"bytes"`
	Source    string `json:"source"`
}

// shown reads an image or a document as a part. It is nil where the file is read as text: by its
// name it is neither, it is not there, or it is text in fact, such as a pointer of Git LFS.
func shown(ctx context.Context, env *tools.Env, place sandbox.Place) *tools.Result {
	ext := strings.ToLower(filepath.Ext(place.Path()))
	promised, ok := media[ext]
	if !ok {
		return nil
	}
	f, info, err := place.Open()
	if err != nil {
		return nil // reading it as text says why
	}
	defer f.Close()
	most := int64(env.Limits.MaxImageBytes)
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	size := max(info.Size(), int64(len(data)))
	switch {
	case err != nil:
		r := tools.Fail(filetime.ReadError, "unreadable", "%s cannot be read: %v.", env.Name(place.Path()), err)
		return &r
	case size > most:
		return tooLarge(env, place, promised.kind, size, most)
	}
	mimeType := typeOf(ext, data)
	if mimeType == octets {
		var no *filetime.Error
		if _, err := env.Read(ctx, place); !errors.As(err, &no) || no.Code != filetime.BinaryFile {
			return nil
		}
	}
	env.FileTime.ReadBytes(place.Path(), sha256.Sum256(data))
	name := env.Name(place.Path())
	r := &tools.Result{
		Success: true, Parts: []tools.Part{{Kind: promised.kind, MIMEType: mimeType, Name: filepath.Base(name), Data: data}},
		Summary: fmt.Sprintf("Read %s (%s)", name, mimeType),
		Data:    fmt.Sprintf("Read %s: %s (%s, %s)", promised.kind, name, mimeType, tools.Count(len(data), "byte")),
		Value:   &mediaValue{Path: place.Path(), MediaType: mimeType, Bytes: len(data), Source: "disk"},
		Meta:    tools.Meta{Source: "disk"},
	}
	if mimeType == octets {
		r.Data += fmt.Sprintf("\nIts content is not what the name says: no %s, nor another format that can be shown.", ext[1:])
	}
	return r
}

// tooLarge refuses an image or a document of more than most bytes.
func tooLarge(env *tools.Env, place sandbox.Place, kind tools.PartKind, size, most int64) *tools.Result {
	what, next := "Image", "Make a smaller copy with a program in bash, and read that."
	if kind == tools.DocumentPart {
		what, next = "PDF", "Extract its text with a program in bash."
	}
	name, limit := env.Name(place.Path()), strings.Replace(filetime.Size(most), ".0", "", 1)
	r := tools.Fail(filetime.FileTooLarge, "size", "%s file exceeds %s limit: %s has %s. %s", what, limit, name, filetime.Size(size), next)
	r.Summary = fmt.Sprintf("%s has %s; a model can be shown up to %s (limits.maxImageBytes).", name, filetime.Size(size), limit)
	return &r
}
