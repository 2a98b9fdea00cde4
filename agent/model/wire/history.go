package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"tandem/agent/model"
)

// Empty stands for a message without content, which services refuse.
const Empty = "(empty)"

// ToolName gives the name of an earlier call as services accept it; a model may have written
// anything.
func ToolName(name string) string {
	name = plain(name)
	return cmp.Or(name[:min(len(name), 64)], "unknown")
}

// CallID gives the id of an earlier call as every service accepts it, since the conversation may
// have begun with another service. Different ids stay different.
func CallID(id string) string {
	safe := plain(id)
	if safe == id && id != "" && len(id) <= 64 {
		return id
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return fmt.Sprintf("%s_%08x", safe[:min(len(safe), 55)], h.Sum32())
}

func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, s)
}

// Object gives the arguments of an earlier call as a JSON object: an empty one where the model
// wrote something else, of which several services would refuse the whole conversation for ever. The
// answer to the call says what came. No parameter is made up in its place, since a model would use
// it again.
func Object(args string) string {
	args = strings.TrimSpace(args)
	if args == "" {
		return "{}"
	}
	if args[0] == '{' && json.Valid([]byte(args)) {
		return args
	}
	return "{}"
}

// DataURL gives an image as an address that holds it.
func DataURL(i model.Attachment) string {
	return "data:" + i.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}
