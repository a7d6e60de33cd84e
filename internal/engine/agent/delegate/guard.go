package delegate

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// SavedCalls begins the name of the part of a turn with a delegate's unsafe calls; the id of the
// call that began the session follows. A session whose process is gone begins again, and whatever
// it asks for then, such a call is made once.
const SavedCalls = "call:"

// guard is the chat.Guard of a session in a turn that is saved.
type guard struct {
	saver    chat.Saver
	part     string
	previous map[string]savedCall // calls of a previous process

	mu         sync.Mutex     // guards the field below
	callCounts map[string]int // how many equal calls there were
}

// savedCall is a call with its result, or without one before its end.
type savedCall struct {
	Key    string       `json:"key"`
	Result *tool.Result `json:"result,omitempty"`
	// Void says that the call had no effect and may be made again.
	Void bool `json:"void,omitempty"`
}

// newGuard returns the guard of the session that a call has begun. before are its parts that were
// saved.
func newGuard(saver chat.Saver, call string, before [][]byte) *guard {
	g := &guard{saver: saver, part: SavedCalls + call, previous: map[string]savedCall{}, callCounts: map[string]int{}}
	for _, text := range before {
		var c savedCall
		if json.Unmarshal(text, &c) != nil || c.Key == "" {
			continue
		}
		if g.previous[c.Key] = c; c.Void {
			delete(g.previous, c.Key)
		}
	}
	return g
}

// callKey names a call: equal calls of a session are counted.
func (g *guard) callKey(call tool.Call) string {
	args := call.Arguments.Clone()
	if args.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		args = call.Arguments
	}
	same := call.Name + " " + string(args)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.callCounts[same]++
	return strconv.Itoa(g.callCounts[same]) + " " + same
}

// Call implements chat.Guard.
func (g *guard) Call(ctx context.Context, spec *tool.Spec, call tool.Call, run func(context.Context, tool.Call) (tool.Result, error)) (tool.Result, error) {
	if spec == nil || spec.Annotations.Repeatable() {
		return run(ctx, call)
	}
	c := savedCall{Key: g.callKey(call)}
	if before, ok := g.previous[c.Key]; ok {
		return before.repeatResult(call)
	}
	g.saveCall(c)
	if err := g.saver.Confirm(); err != nil {
		return tool.Result{}, notExecuted(err)
	}
	defer g.saver.Begin()()
	result, err := run(ctx, call)
	if err == nil {
		kept := result
		c.Result = &kept
		g.saveCall(c)
	} else if f := fault.From(err); f.NoEffect {
		c.Void = true
		g.saveCall(c)
	}
	return result, err
}

// notExecuted returns the error of a call that the store could not be sure to know of.
func notExecuted(err error) error {
	if f := fault.From(err); f.Type != fault.StoreUnavailable {
		return err
	}
	const why = "the store that must know of it is unavailable"
	return &fault.Error{Type: fault.StoreUnavailable, NoEffect: true, Err: err,
		Message: "A call was not executed: " + why, Hint: "Not executed: " + why + ". Call it again later, or tell the user."}
}

// repeatResult returns the result of a call that a previous process made, or the fault of an
// unknown outcome.
func (c *savedCall) repeatResult(call tool.Call) (tool.Result, error) {
	if c.Result == nil {
		const why = "The gateway stopped while this call was under way"
		return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Unknown: true, Message: why + ": whether it took effect is not known", Hint: why}
	}
	result := *c.Result
	result.ID, result.Name, result.Cached = call.ID, call.Name, true
	return result, nil
}

// saveCall saves a call.
func (g *guard) saveCall(c savedCall) {
	if text, err := json.Marshal(c); err == nil { // plain values: it does not fail
		g.saver.Save(g.part, text)
	}
}
