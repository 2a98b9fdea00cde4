package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tandem/filetime/text/show"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// versionError says that a server speaks no version of the protocol that it was asked for.
type versionError struct {
	theirs []string
	said   string // by the server or the library, where it named none
}

func (e *versionError) Error() string {
	known := strings.Join(sdk.SupportedProtocolVersions(), ", ")
	if len(e.theirs) == 0 {
		return fmt.Sprintf("it speaks another version of the protocol (%s); those that are known here are %s", e.said, known)
	}
	return fmt.Sprintf("it speaks the version %s of the protocol; those that are known here are %s", strings.Join(e.theirs, ", "), known)
}

// newer says that the server speaks a version of the newer era that is known here.
func (e *versionError) newer() bool {
	return slices.ContainsFunc(e.theirs, func(v string) bool { return v >= newest && slices.Contains(sdk.SupportedProtocolVersions(), v) })
}

// versions is an error of a handshake as a *versionError, where it is about versions.
func versions(err error) error {
	if coded, ok := errors.AsType[*jsonrpc.Error](err); ok {
		var data sdk.UnsupportedProtocolVersionData
		about := coded.Code == sdk.CodeUnsupportedProtocolVersion || strings.Contains(strings.ToLower(coded.Message), "protocol version")
		if !about {
			return err
		}
		_ = json.Unmarshal(coded.Data, &data)
		return &versionError{theirs: data.Supported, said: show.Clip(line(coded.Message), 200)}
	}
	const prefix = "unsupported protocol version: " // of the library, whose error has no other mark
	if theirs, is := strings.CutPrefix(err.Error(), prefix); is {
		return &versionError{theirs: []string{strings.Trim(show.Clip(line(theirs), 40), `"`)}}
	}
	return err
}
