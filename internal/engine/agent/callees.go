// This file has the types of a turn for tools that are agents themselves. How their calls are
// suspended and continue is in within.go.

package agent

import (
	"context"

	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Suspended is the error of a call within which somebody waits for a person. It is not a
// failure: the same call is made again, with Inner.Continued, when they have decided.
type Suspended struct {
	// State is all that the call needs to continue in this process or another.
	State *run.Paused
	// Calls are the calls that a person is asked about, by the ids of their events, each with its
	// AgentID.
	Calls []chat.PendingCall
}

func (*Suspended) Error() string { return "a person is asked within the call" }

// Continued is how a suspended call continues.
type Continued struct {
	State     *run.Paused // that of Suspended
	Decisions []chat.Decision
}

// Within is the state of a suspended call.
type Within struct {
	State *run.Paused
	Asks  []chat.PendingCall
	// Decided are the decisions about Asks; they are complete once the answer is answerDecided.
	Decided []chat.Decision
}

// Callees is implemented by Tools that may be agents. Their calls can be suspended. A saved turn
// asks it for the tools of the agents within, as these may have changed meanwhile.
type Callees interface {
	// CallWithin is Call, for a tool that may be an agent: in gets the events within the call.
	CallWithin(ctx context.Context, call tool.Call, in *Inner) (tool.Result, error)
	// Spec returns a tool of the agent of that id, or nil if the agent has no tool of that name
	// now.
	Spec(ctx context.Context, agent, name string) *tool.Spec
}
