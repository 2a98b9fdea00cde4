package protocol

import (
	"encoding/json"

	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// NewCreateFile is a CreateFile with its kind filled in, which a literal leaves empty, and always with ignoreIfExists.
func NewCreateFile(u uri.URI) *lsp.CreateFile {
	return &lsp.CreateFile{Kind: "create", URI: u, Options: &lsp.CreateFileOptions{IgnoreIfExists: new(true)}}
}

// NewRenameFile is a RenameFile with its kind filled in, which overwrites nothing.
func NewRenameFile(from, to uri.URI) *lsp.RenameFile {
	return &lsp.RenameFile{Kind: string(lsp.ResourceOperationKindRename), OldURI: from, NewURI: to}
}

// NewDeleteFile is a DeleteFile with its kind filled in.
func NewDeleteFile(u uri.URI) *lsp.DeleteFile {
	return &lsp.DeleteFile{Kind: "delete", URI: u, Options: &lsp.DeleteFileOptions{IgnoreIfNotExists: new(true)}}
}

// ProgressBegin is the value of the first $/progress of a turn.
func ProgressBegin(title, message string) lsp.LSPAny {
	return progress(lsp.WorkDoneProgressBegin{Kind: "begin", Title: title, Message: some(message), Cancellable: new(true)})
}

// ProgressReport is the value of a $/progress between the first and the last.
func ProgressReport(message string) lsp.LSPAny {
	return progress(lsp.WorkDoneProgressReport{Kind: "report", Message: &message})
}

// ProgressEnd is the value of the last $/progress of a turn.
func ProgressEnd(message string) lsp.LSPAny {
	return progress(lsp.WorkDoneProgressEnd{Kind: "end", Message: &message})
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func progress(v any) lsp.LSPAny {
	raw, err := json.Marshal(v)
	if err != nil { // the values are made above
		panic(err)
	}
	return raw
}
