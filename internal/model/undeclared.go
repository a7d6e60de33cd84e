package model

import (
	"regexp"

	"sluice/internal/turn/chat"
)

// Most services take calls of tools that the request does not declare, as a client's may be that
// offers them no longer. Some refuse the request. They are sent such calls as text.

// memberCalls stands for calls of tools that the request does not declare.
const memberCalls = "undeclared_calls"

// namesTools finds the words of a service that refuses calls, such as "The toolConfig field must
// be defined when using toolUse and toolResult content blocks".
var namesTools = regexp.MustCompile(`(?i)tool|function`)

// refusesCalls reports whether a refusal without a member is about calls in req that are not
// declared. The message may be long or quote: a text in place of a call loses nothing.
func (r *Refusal) refusesCalls(req *chat.ModelRequest) bool {
	return r.Member == "" && namesTools.MatchString(r.Message) && chat.HasUndeclared(req.Messages, declaredIn(req))
}

// withCallsAsText returns req without calls that it does not declare.
func withCallsAsText(req *chat.ModelRequest) *chat.ModelRequest {
	spelled := *req
	spelled.Messages = chat.WithCallsAsText(req.Messages, declaredIn(req))
	return &spelled
}

// declaredIn returns a function that reports whether req declares a tool.
func declaredIn(req *chat.ModelRequest) func(name string) bool {
	return func(name string) bool { return req.Tools.Lookup(name) != nil }
}
