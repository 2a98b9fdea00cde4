package updates

import (
	"encoding/base64"
	"strings"

	"tandem/agent/prompt"
	"tandem/filetime/text/show"
	"tandem/lspserver/protocol"
)

// Blocks are those of a prompt, as an agent has them.
func Blocks(blocks []protocol.ContentBlock) (out []prompt.Block) {
	for _, b := range blocks {
		out = append(out, blockOf(b))
	}
	return out
}

func blockOf(b protocol.ContentBlock) prompt.Block {
	out := prompt.Block{Type: b.Type, Text: b.Text, URI: b.URI, Name: b.Name, MIMEType: b.MimeType}
	out.Data, _ = base64.StdEncoding.DecodeString(b.Data) // one that cannot be read is left out, and the model is told
	if b.Resource != nil {
		out.URI, out.Text, out.MIMEType = b.Resource.URI, b.Resource.Text, b.Resource.MimeType
	}
	return out
}

// Title is what a session is called by its first prompt.
func Title(blocks []protocol.ContentBlock) string {
	for _, b := range blocks {
		if line, _, _ := strings.Cut(strings.TrimSpace(b.Text), "\n"); line != "" {
			line = show.Visible(line, false)
			if r := []rune(line); len(r) > 60 {
				return string(r[:59]) + "…"
			}
			return line
		}
	}
	return "Prompt"
}
