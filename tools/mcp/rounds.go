package mcp

//lint:file-ignore SA1019 Servers ask for roots in the newer era too, though it has them as deprecated.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"tandem/filetime/text/show"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// In the newer era a server has no requests of its own: it answers a request with what it wants to
// know, and gets the request again with the answers. The library can do that, but it tells the
// roots in the order of their names, and words what it cannot do for programmers.

const (
	// maxRounds is how many times one request is sent.
	maxRounds = 10
	// maxBusy is how many times of those a server may want nothing but the request again, which
	// says that it is busy.
	maxBusy = 3
)

// needError is what a server wants to know and is not told. It is the end of a sentence about the
// server.
type needError struct{ what string }

func (e *needError) Error() string { return e.what }

// rounds sends a request until it has its result.
func (s *server) rounds(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		busy := 0
		for range maxRounds {
			res, err := next(ctx, method, req)
			wants, state := wanted(res)
			if err != nil || wants == nil {
				return res, err
			}
			if len(wants) == 0 {
				if busy++; busy == maxBusy {
					return nil, &needError{"is busy"}
				}
			}
			session, _ := req.GetSession().(*sdk.ClientSession)
			answers, err := s.answers(ctx, session, wants)
			if err != nil {
				return nil, err
			}
			switch p := req.GetParams().(type) {
			case *sdk.CallToolParams:
				again := *p
				again.InputResponses, again.RequestState = answers, state
				req = &sdk.ClientRequest[*sdk.CallToolParams]{Session: session, Params: &again}
			case *sdk.GetPromptParams:
				again := *p
				again.InputResponses, again.RequestState = answers, state
				req = &sdk.ClientRequest[*sdk.GetPromptParams]{Session: session, Params: &again}
			case *sdk.ReadResourceParams:
				again := *p
				again.InputResponses, again.RequestState = answers, state
				req = &sdk.ClientRequest[*sdk.ReadResourceParams]{Session: session, Params: &again}
			}
		}
		return nil, &needError{fmt.Sprintf("wanted to know more %d times", maxRounds)}
	}
}

// wanted is what a result says that the server wants to know, nil for a whole result.
func wanted(res sdk.Result) (wants sdk.InputRequestMap, state string) {
	switch r := res.(type) {
	case *sdk.CallToolResult:
		return r.InputRequests, r.RequestState
	case *sdk.GetPromptResult:
		return r.InputRequests, r.RequestState
	case *sdk.ReadResourceResult:
		return r.InputRequests, r.RequestState
	}
	return nil, ""
}

func (s *server) answers(ctx context.Context, session *sdk.ClientSession, wants sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	out := sdk.InputResponseMap{}
	for name, want := range wants {
		switch p := want.(type) {
		case *sdk.ListRootsParams:
			out[name] = &sdk.ListRootsResult{Roots: s.all.roots()}
		case *sdk.ElicitParams:
			ask := s.elicit()
			if ask == nil {
				return nil, &needError{"wants to ask the user, and nobody can be asked here"}
			}
			answer, err := ask(ctx, &sdk.ElicitRequest{Session: session, Params: p})
			if err != nil {
				return nil, err
			}
			out[name] = answer
		default:
			return nil, &needError{"wants the answer of a language model (sampling), which is not on offer here"}
		}
	}
	return out, nil
}

// known are the requests that a server may have in place of a result.
var known = map[string]bool{"elicitation/create": true, "sampling/createMessage": true, "roots/list": true}

// requesting is an answer whose requests decode: those without parameters get them, and one that is
// not known makes the answer of a call a failure, since without that request it would read as if
// the server wanted nothing.
func requesting(method string, raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"inputRequests"`)) {
		return raw
	}
	var m map[string]json.RawMessage
	var wants map[string]map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || json.Unmarshal(m["inputRequests"], &wants) != nil {
		return raw
	}
	changed := false
	for _, want := range wants {
		if name := plain(want["method"]); !known[name] && method == "tools/call" {
			text, _ := json.Marshal(fmt.Sprintf("The server wants %s before it answers, which is not known here.", show.Clip(line(name), 80)))
			return json.RawMessage(fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":%s}]}`, text))
		}
		if want != nil && (want["params"] == nil || string(want["params"]) == "null") {
			want["params"], changed = json.RawMessage("{}"), true
		}
	}
	if !changed {
		return raw
	}
	m["inputRequests"], _ = json.Marshal(wants)
	out, _ := json.Marshal(m) // it was decoded from JSON
	return out
}
