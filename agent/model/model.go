// Package model is the interface to language models. Only the packages below it know a vendor, one
// for each protocol.
package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Role is the author of a Message.
type Role string

// The roles of a conversation.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one message of a conversation. A Tool message answers the call named by CallID.
type Message struct {
	Role   Role   `json:"role"`
	Text   string `json:"text,omitempty"`
	Calls  []Call `json:"calls,omitempty"`
	CallID string `json:"callId,omitempty"`
	// Name is the tool's name in a Tool message, Failed is set if the call failed.
	Name   string `json:"name,omitempty"`
	Failed bool   `json:"failed,omitempty"`
	// Attachments come after the text of a User or Tool message. Their JSON name is "images", the
	// first kind that was stored, so that old records stay readable.
	Attachments []Attachment `json:"images,omitempty"`
	// Thoughts are those of an Assistant message that its model must be sent again.
	Thoughts []Thought `json:"thoughts,omitempty"`
}

// Same reports whether two messages are equal. It is quick for a message and its copy, which share
// their texts.
func (m Message) Same(o Message) bool {
	return m.Role == o.Role && m.Text == o.Text && m.CallID == o.CallID && m.Name == o.Name && m.Failed == o.Failed &&
		slices.EqualFunc(m.Calls, o.Calls, Call.equal) &&
		SameAttachments(m.Attachments, o.Attachments) &&
		slices.EqualFunc(m.Thoughts, o.Thoughts, Thought.equal)
}

// SameAttachments reports whether two lists are equal.
func SameAttachments(a, b []Attachment) bool {
	return slices.EqualFunc(a, b, func(a, b Attachment) bool {
		return a.MIMEType == b.MIMEType && a.Name == b.Name && bytes.Equal(a.Data, b.Data)
	})
}

// Attachment is a picture or a document. Name is for a person and may be empty.
type Attachment struct {
	MIMEType string `json:"mimeType"`
	Name     string `json:"name,omitempty"`
	Data     []byte `json:"data"`
}

// Image reports whether it is of an image type that every model with vision takes.
func (a Attachment) Image() bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, a.MIMEType)
}

// PDF reports whether it is a PDF document.
func (a Attachment) PDF() bool { return a.MIMEType == "application/pdf" }

// Describe is a placeholder text for the attachment.
func (a Attachment) Describe() string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s, %d bytes)", a.Name, a.MIMEType, len(a.Data)))
}

// Carried is the message for a model that takes only the attachments that can accepts. The others
// become placeholders in the text.
func (m Message) Carried(can func(Attachment) bool) Message {
	var kept []Attachment
	for _, a := range m.Attachments {
		if can(a) {
			kept = append(kept, a)
			continue
		}
		m.Text = strings.TrimPrefix(fmt.Sprintf("%s\n[Not shown, since this model cannot take it: %s]", m.Text, a.Describe()), "\n")
	}
	m.Attachments = kept
	return m
}

// Thought is a complete thought. It is sent only to the model that wrote it.
type Thought struct {
	// Model is the name of that model.
	Model string `json:"model"`
	Text  string `json:"text,omitempty"`
	// Sealed is the thought in its service's own opaque form, or fields of the message that the
	// service added to its protocol.
	Sealed json.RawMessage `json:"sealed,omitempty"`
	// Field is the name of the field that Text came in, if the protocol has several; empty for the
	// usual one.
	Field string `json:"field,omitempty"`
	// Text and Calls of its message before the thought: bytes, and number of calls.
	AfterText  int `json:"afterText,omitempty"`
	AfterCalls int `json:"afterCalls,omitempty"`
}

func (t Thought) equal(o Thought) bool {
	return t.Model == o.Model && t.Text == o.Text && bytes.Equal(t.Sealed, o.Sealed) && t.Field == o.Field &&
		t.AfterText == o.AfterText && t.AfterCalls == o.AfterCalls
}

// Part is one piece of an assistant's message: exactly one of its fields is set.
type Part struct {
	Text    string
	Thought *Thought
	Call    *Call
}

// Parts splits an assistant's message into pieces in the order of writing, without thoughts of
// other models than the named one.
func (m Message) Parts(name string) []Part {
	var parts []Part
	text, calls := 0, 0
	upTo := func(t, c int) {
		if t > text && t <= len(m.Text) {
			parts = append(parts, Part{Text: m.Text[text:t]})
			text = t
		}
		for ; calls < min(c, len(m.Calls)); calls++ {
			parts = append(parts, Part{Call: &m.Calls[calls]})
		}
	}
	for i, t := range m.Thoughts {
		if t.Model == name {
			upTo(t.AfterText, t.AfterCalls)
			parts = append(parts, Part{Thought: &m.Thoughts[i]})
		}
	}
	upTo(len(m.Text), len(m.Calls))
	return parts
}

// Call is a tool call of a model. Arguments are as it wrote them, not necessarily valid JSON.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	// Extra may be nil.
	Extra *Extra `json:"extra,omitempty"`
}

func (c Call) equal(o Call) bool {
	return c.ID == o.ID && c.Name == o.Name && c.Arguments == o.Arguments && c.Extra.equal(o.Extra)
}

// Extra is what a service added to a call beyond its protocol and must get back, such as a
// signature. It is sent only to the model that wrote it.
type Extra struct {
	// Model is the name of that model. It also gets the call's id as it wrote it, which may carry a
	// signature.
	Model string `json:"model"`
	// Fields is a JSON object, or empty.
	Fields json.RawMessage `json:"fields,omitempty"`
}

func (e *Extra) equal(o *Extra) bool {
	return e == o || e != nil && o != nil && e.Model == o.Model && bytes.Equal(e.Fields, o.Fields)
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters are what every service takes as they are: see Schema.Shown in tools/schema.
	Parameters json.RawMessage `json:"parameters"`
}

// Same reports whether two are equal.
func (t ToolSpec) Same(o ToolSpec) bool {
	return t.Name == o.Name && t.Description == o.Description && bytes.Equal(t.Parameters, o.Parameters)
}

// Request is one request: the whole conversation so far and the tools on offer.
type Request struct {
	Messages []Message
	Tools    []ToolSpec
	// Session is the prompt cache key: the same for all requests of a conversation.
	Session string
}

// StopReason is why a model stopped writing.
type StopReason string

// The reasons to stop.
const (
	StopEnd       StopReason = "end_turn"
	StopCalls     StopReason = "tool_calls"
	StopMaxTokens StopReason = "max_tokens"
	StopRefusal   StopReason = "refusal"
)

// Usage counts the tokens of one or more requests. Input includes CachedInput, which was read from
// a cache, and CacheWrite, which was written to one. CostUSD is 0 if the price is unknown.
type Usage struct {
	Input, Output, CachedInput, CacheWrite int64
	CostUSD                                float64
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, CachedInput: u.CachedInput + v.CachedInput,
		CacheWrite: u.CacheWrite + v.CacheWrite, CostUSD: u.CostUSD + v.CostUSD,
	}
}

// Price is the price of a million tokens in US dollars. CachedInput and CacheWrite replace Input
// for those tokens.
type Price struct {
	Input, Output, CachedInput, CacheWrite float64
}

// Of returns the cost of u.
func (p Price) Of(u Usage) float64 {
	uncached := u.Input - u.CachedInput - u.CacheWrite
	return (float64(uncached)*p.Input + float64(u.CachedInput)*p.CachedInput + float64(u.CacheWrite)*p.CacheWrite +
		float64(u.Output)*p.Output) / 1e6
}

// Delta is one piece of a streamed answer: exactly one of its fields is set. CallDelta pieces with
// the same Index belong to one call; the call is complete when a piece with Done arrives, and was
// cut off when none does.
type Delta struct {
	Text    string
	Thought string
	Call    *CallDelta
	// Kept is a complete thought that the model must be sent again. Its text came as Thought
	// before.
	Kept *Thought
	// Notice is a message to the user, such as a retry; it is no part of the answer.
	Notice string
}

// CallDelta is a piece of a tool call. ID and Name come with the first piece. Done carries no text
// and comes once, as soon as the call's arguments are known to be complete. Extra may come later
// than that.
type CallDelta struct {
	Index     int
	ID, Name  string
	Arguments string
	Done      bool
	// Extra replaces the one of an earlier piece.
	Extra *Extra
}

// Response is the end of an answer.
type Response struct {
	Stop  StopReason
	Usage Usage
	// Detail explains an unusual stop to the user.
	Detail string
}

// Model answers requests. Stream calls on for every piece, from one goroutine, and returns when the
// answer has ended. It may be called concurrently. An error is an *Error or the context's.
type Model interface {
	Stream(ctx context.Context, r Request, on func(Delta)) (Response, error)
	// Name is "provider/model".
	Name() string
}

// Error is a failed request. Message is for a person: what happened and what to do. It never
// contains a key.
type Error struct {
	// Kind is "unavailable" (unknown provider or model, no key: nothing was sent), "auth",
	// "rate_limit", "overloaded", "bad_response", "cut", "context_window", "http".
	Kind    string
	Status  int
	Message string
	// NeedsKey is set where a key is missing, or cannot be got.
	NeedsKey bool
	// Retryable is set if the same request may succeed later; After is the server's advice when, 0
	// for none.
	Retryable bool
	After     time.Duration
	// Window is the number of tokens that the model can read, where an error of kind
	// "context_window" names it; else 0.
	Window int64
}

func (e *Error) Error() string { return e.Message }

// Opener opens models by name. The empty name is the default. Errors are *Error with Kind
// "unavailable".
type Opener interface {
	Open(name string) (Model, error)
	// Names lists what can be opened now, the default first.
	Names() []string
	// API is the protocol of a provider, as in its configuration; "" if unknown.
	API(provider string) string
}

// Sizer is an Opener that knows how much its models can read.
type Sizer interface {
	// Window is the context window of a model in tokens, 0 if unknown. It sends no request.
	Window(name string) int64
}
