// This file is the guard around every unsafe call of a run: those of tool nodes, and those of
// agents in nodes. The requests of these agents have the node's recorder as their chat.Guard.
//
// Its rule: before such a call its intent is in the store, and after it the result. A call without
// a result has an unknown outcome: a process died after the intent, or the answer did not come in
// time. Then a person is asked, unless the server's policy says otherwise or there is no store.
// Until the answer comes, the run refuses equal calls.

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// recorder keeps the calls of one execution of a node.
//
// Calls of one agent run at the same time, and so use it at the same time.
type recorder struct {
	worker     *worker
	mu         sync.Mutex         // guards the fields below
	callCounts map[string]int     // how many equal calls there were
	acted      bool               // a call took effect, or may have, in this round
	unsure     []chat.PendingCall // calls with an unknown outcome: a person is asked
	lost       error              // of the records: the run is not ours any more, or they are unavailable
}

// unknownCalls are the calls of a run with an unknown outcome, by their identity
// (Intent.callIdentity) and by node. Nodes that work at the same time share it.
type unknownCalls struct {
	mu   sync.Mutex
	list []unknownCall // few, if any
}

type unknownCall struct{ same, node string }

// add adds a call of a node.
func (u *unknownCalls) add(same, node string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c := (unknownCall{same, node}); !slices.Contains(u.list, c) {
		u.list = append(u.list, c)
	}
}

// has reports whether the outcome of an equal call is unknown.
func (u *unknownCalls) has(same string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.ContainsFunc(u.list, func(c unknownCall) bool { return c.same == same })
}

// callsOf returns those of a node, sorted.
func (u *unknownCalls) callsOf(node string) (calls []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, c := range u.list {
		if c.node == node {
			calls = append(calls, c.same)
		}
	}
	slices.Sort(calls)
	return calls
}

// unknownOf returns the unknown calls of a run: those of nodes that have ended, and those about
// which a person is asked.
func unknownOf(r *Run) *unknownCalls {
	u := new(unknownCalls)
	for _, e := range r.Ended {
		for _, same := range e.Unknown {
			u.add(same, e.Node)
		}
	}
	for _, o := range r.Progress.Frontier {
		if o.Asks == nil || o.Asks.Kind != chat.AskOutcome {
			continue
		}
		for _, c := range o.Asks.Calls {
			u.add(sameCall(c.Server, c.Tool, hashOfArguments(c.Arguments)), o.Node)
		}
	}
	return u
}

// outcomeUnknown reports whether an unsafe call that ended with err may have taken effect: the
// server said so, we failed ourselves, or the call was cut.
func outcomeUnknown(ctx context.Context, err error) bool {
	f := fault.From(err)
	return f != nil && !f.NoEffect && (f.Unknown || f.Type == fault.Internal || ctx.Err() != nil)
}

// reportUnknown returns the error of a call with an unknown outcome; f says how that came.
//
// If a person can be asked, the call is recorded, and the node waits at the end of the agent's
// step. Otherwise, or if the policy says so, the caller must decide.
func (r *recorder) reportUnknown(i *Intent, spec *tool.Spec, call tool.Call, f fault.Error) error {
	k := r.worker
	k.x.unknown.add(i.callIdentity(), k.n.ID)
	if f.Service == "" {
		f.Service = "mcp:" + spec.Server
	}
	if k.x.records == nil || k.x.runner.cfg.ReportLost != nil && k.x.runner.cfg.ReportLost(spec.Server) {
		return &f
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsure = append(r.unsure, chat.PendingCall{ID: i.Key, Tool: spec.Name, Server: spec.Server, Arguments: call.Arguments,
		Fingerprint: spec.Fingerprint(), AgentID: k.n.Agent, Reason: "unknown"})
	f.Err = errors.Join(tool.ErrAsked, f.Err)
	return &f
}

// stoppedFault is the fault of a call whose process is gone.
func stoppedFault() fault.Error {
	return fault.Error{Type: fault.ToolFailed, Unknown: true, Message: "The gateway stopped while this call was under way: whether it took effect is not known",
		Hint: "The gateway stopped while this call was under way"}
}

// equalFault is the fault of a call that is not made, because an equal call has an unknown outcome.
func equalFault() fault.Error {
	const why = "An equal call was made before, and whether it took effect is not known: this one was not made"
	return fault.Error{Type: fault.ToolFailed, NoEffect: true, Message: why, Hint: why + ". Do not repeat it; tell the user so."}
}

// cutFault is the fault of a call that was cut before its answer came.
func cutFault(err error) fault.Error {
	f := *fault.From(err)
	f.Unknown = true
	return f
}

// Call implements chat.Guard. The intent of an unsafe call is stored before it, and its result
// after it: no intent, no call.
//
// A person's answer about the call comes before the store's result, and both before an equal call
// with an unknown outcome. While the run itself is being ended nobody is asked: the process that
// continues it finds the intent.
func (r *recorder) Call(ctx context.Context, spec *tool.Spec, call tool.Call, run func(context.Context, tool.Call) (tool.Result, error)) (tool.Result, error) {
	if spec == nil || spec.Annotations.Repeatable() {
		return run(ctx, call)
	}
	intent := r.intentOf(spec, call)
	known, err := r.saveIntent(ctx, intent, spec, call)
	if err != nil {
		return tool.Result{}, err
	}
	if known != nil {
		return *known, nil
	}
	result, err := run(tool.WithKey(ctx, intent.Key), call)
	unknown := outcomeUnknown(ctx, err)
	if unknown || err == nil && !result.IsError {
		r.markActed()
	}
	r.storeOutcome(ctx, intent, &result, err)
	if unknown && r.worker.x.ctx.Err() == nil {
		return result, r.reportUnknown(intent, spec, call, cutFault(err))
	}
	return result, err
}

// saveIntent stores the intent of a call, unless the call is not needed: then it returns the known
// result. If it returns nil, the call must be made.
func (r *recorder) saveIntent(ctx context.Context, intent *Intent, spec *tool.Spec, call tool.Call) (*tool.Result, error) {
	switch o := r.worker.outcomeOf(intent.Key); {
	case o == nil && r.worker.x.unknown.has(intent.callIdentity()):
		return nil, r.reportUnknown(intent, spec, call, equalFault())
	case o == nil:
	case o.Retries > 0:
		intent.Retries = o.Retries
	case o.Done:
		return &tool.Result{ID: call.ID, Name: call.Name, Text: o.Result}, nil
	default:
		return &tool.Result{ID: call.ID, Name: call.Name, IsError: true, Text: "A person says that this call was not carried out."}, nil
	}
	known, err := r.storeIntent(ctx, intent)
	switch {
	case errors.Is(err, ErrUnknown):
		return nil, r.reportUnknown(intent, spec, call, stoppedFault())
	case err != nil:
		return nil, r.failRecords(err)
	case known != nil:
		known.ID, known.Name = call.ID, call.Name
	}
	return known, nil
}

// storeIntent keeps the intent of a call. Without records nothing is kept, and nothing known.
func (r *recorder) storeIntent(ctx context.Context, i *Intent) (*tool.Result, error) {
	if r.worker.x.records == nil {
		return nil, nil
	}
	return r.worker.x.records.Intend(ctx, i)
}

// storeOutcome stores the outcome of a call, even if the node was cancelled meanwhile. If that
// fails, the caller still gets the result, and the run ends after the step.
func (r *recorder) storeOutcome(ctx context.Context, i *Intent, result *tool.Result, err error) {
	if r.worker.x.records == nil {
		return
	}
	if kept := r.worker.x.records.StoreOutcome(context.WithoutCancel(ctx), i, result, err); kept != nil {
		_ = r.failRecords(kept)
	}
}

// markActed records that a call took effect, or may have.
func (r *recorder) markActed() {
	r.worker.x.acted.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acted = true
}

// failRecords records that the records of the run failed.
//
// The first error counts; it is returned as it came.
func (r *recorder) failRecords(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = err
	}
	return err
}

// intentOf returns the intent of a call. Its key holds how many equal calls there were
// before it in this round: the model may mean to do a thing twice. It is not idempotent:
// each use counts one more equal call.
func (r *recorder) intentOf(spec *tool.Spec, call tool.Call) *Intent {
	k := r.worker
	i := &Intent{Node: k.n.ID, Attempt: k.open.Attempt, CallID: call.ID, Tool: spec.Name, Server: spec.Server, Hash: hashOfArguments(call.Arguments)}
	same := strconv.Itoa(k.round) + " " + i.callIdentity()
	r.mu.Lock()
	nth := r.callCounts[same]
	r.callCounts[same]++
	r.mu.Unlock()
	i.Key = uuidOfParts(k.seen.Header.ID, k.n.ID, same, fmt.Sprint(nth))
	return i
}
