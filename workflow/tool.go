// This file is what a worker does for a node of type tool, and the guard around every call
// of a run that must not be made twice. The guard (recorder) serves the calls of agents in
// nodes too: they come through Recorded, with the node's recorder in their context.
//
// The guard's rule: before such a call its intent is in the store, and after it the result.
// A process that finds an intent without a result does not know whether the call took
// effect, and asks a person unless the server's policy says otherwise.

package workflow

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/fault"
	"sluice/stream"
	"sluice/tool"
)

// tool makes one round of a tool node: one call, or those of its fallbacks in its place.
//
// A fallback is tried only if the server was unavailable and the call is known to have had
// no effect. A result that is an error is the node's failure; its text is kept as a
// message, so that an edge on result.is_error can read it.
func (k *worker) tool() error {
	args, err := k.arguments()
	if err != nil {
		return err
	}
	server, name, _ := strings.Cut(k.n.Tool, "/")
	tools := k.x.runner.cfg.Tools
	set := tools.Tools(k.ctx)
	spec := set.Lookup(tools.Named(k.ctx, server, name))
	if spec == nil {
		return k.missing(set, server)
	}
	if k.seen.Header.Asked.Tools != chat.ToolsAll && !(k.seen.Header.Asked.Tools == chat.ToolsReadOnly && spec.Annotations.ReadOnly) {
		return &fault.Error{Type: fault.ToolFailed, Message: "The request may not call this tool"}
	}
	args, err = k.allowed(spec, args)
	if err != nil {
		return err
	}
	result, err := k.call(spec, args, "")
	if q := k.asksOutcome(); q != nil {
		return q
	}
	for _, next := range append([]string{spec.Fallback}, spec.More...) {
		f := fault.From(err)
		if f == nil || f.Type != fault.MCPUnavailable || f.Unknown || !f.NoEffect {
			break
		}
		if other := set.Lookup(next); other != nil {
			result, err = k.call(other, args, next)
			if q := k.asksOutcome(); q != nil {
				return q
			}
		}
	}
	k.seal()
	if err != nil {
		return err
	}
	if result.IsError {
		return &fault.Error{Type: fault.ToolFailed, Message: "The tool " + spec.Name + " answered with an error", Service: "mcp:" + spec.Server}
	}
	return k.post(item{text: result.Text})
}

// allowed returns the arguments with which a person lets the call be made; the given ones
// if nobody need be asked.
//
// It returns a *waiting error for a call about which nobody has decided yet. An approval is
// for the tool as it was: if the server has changed its description since (fingerprint),
// the call is refused.
func (k *worker) allowed(spec *tool.Spec, args jsontext.Value) (jsontext.Value, error) {
	hold := k.x.runner.cfg.Hold
	if hold == nil || !hold(tool.Call{Name: spec.Name, Arguments: args}, spec) {
		return args, nil
	}
	id := uuidOf(k.seen.Header.ID, k.n.ID, strconv.Itoa(k.round), "1", "") // a later attempt has the same answer
	i := slices.IndexFunc(k.open.Calls, func(d chat.Decision) bool { return d.CallID == id })
	if i < 0 {
		return nil, &waiting{
			&Question{Kind: chat.AskTools, Calls: []chat.PendingCall{{ID: id, Tool: spec.Name, Server: spec.Server, Arguments: args,
				Fingerprint: spec.Fingerprint(), Spec: spec}}},
			&Entry{Node: k.n.ID, Attempt: k.open.Attempt, Round: k.round, Draft: k.last, Feedback: k.feedback},
		}
	}
	switch d := k.open.Calls[i]; {
	case d.Action == chat.Reject || d.Action == chat.Refuse:
		return nil, &fault.Error{Type: fault.ToolFailed, NoEffect: true, Message: strings.TrimSpace("The call was not allowed. " + d.Message)}
	case d.Fingerprint != "" && d.Fingerprint != spec.Fingerprint():
		return nil, &fault.Error{Type: fault.ToolFailed, NoEffect: true, Message: "The tool is not the one that was asked about any more"}
	case d.Action == chat.Modify:
		return d.Arguments, nil
	}
	return args, nil
}

// nodeCallID returns the id of the call that a tool node makes; instead is the fallback.
// Another attempt has another id, as the events of the first may be out.
func (k *worker) nodeCallID(instead string) string {
	return uuidOf(k.seen.Header.ID, k.n.ID, strconv.Itoa(k.round), strconv.Itoa(k.open.Attempt), instead)
}

// missing says why a tool is not there.
//
// A server that cannot be reached is told as such; only a server that is there and lacks
// the tool is ErrGone.
func (k *worker) missing(set *tool.Set, server string) error {
	for _, u := range set.Unavailable {
		if u.Server == server {
			return u.Err
		}
	}
	return &fault.Error{Type: fault.ToolFailed, Message: "There is no tool " + k.n.Tool, Err: ErrGone}
}

// arguments returns the arguments of the call as one JSON object.
//
// Expressions see what the node's ancestors said and wrote. A value that stands for itself
// is passed on unchanged.
func (k *worker) arguments() (jsontext.Value, error) {
	object := map[string]any{}
	v := k.before()
	for i, a := range k.n.Arguments {
		e := k.n.arguments[i]
		if e == nil {
			object[a.Name] = json.RawMessage(a.Value)
			continue
		}
		value, err := e.eval(k.ctx, v)
		if err != nil {
			return nil, k.end(inNode(k.n, err))
		}
		object[a.Name] = value
	}
	text, err := json.Marshal(object)
	if err == nil && len(text) > maxState {
		return nil, k.end(limit("The arguments of a tool are longer than 1 MiB"))
	}
	return text, err
}

// call makes one call and tells of it.
//
// The event is flushed before the call, as it may take minutes. The end is unknown if the
// server may have acted: it said so, we failed ourselves, or we were cancelled within a
// call that is not safe to repeat. Text of a result that is an error is for the model and
// is not shown in the event.
func (k *worker) call(spec *tool.Spec, args jsontext.Value, instead string) (tool.Result, error) {
	c := stream.Call{Attribution: k.attribution(), Tool: spec.Name, Server: spec.Server, Arguments: args}
	c.ID = k.nodeCallID(instead)
	started := &stream.ToolStarted{Call: c, Repeatable: spec.Annotations.Repeatable()}
	k.note(started)
	if err := k.post(item{ev: started}); err != nil {
		return tool.Result{}, err
	}
	_ = k.Flush()
	began := time.Now()
	ctx, span := k.callSpan(spec.Name)
	result, err := recorded(ctx, spec, tool.Call{ID: c.ID, Name: spec.Name, Arguments: args}, k.x.runner.cfg.Tools.Call)
	took := time.Since(began)
	endCall(span, &result, err)
	k.took.Tools = append(k.took.Tools, stream.ToolTiming{Tool: spec.Name, Duration: took})
	var end stream.Event
	switch f := fault.From(err); {
	case f == nil && !result.IsError:
		end = &stream.ToolCompleted{Call: c, Duration: took, Result: result.Text}
	case f == nil:
		text := result.Text
		if strings.TrimSpace(text) == "" {
			text = spec.Name + " failed without saying why"
		}
		k.note(&stream.ToolFailed{Call: c, Message: text})
		return result, k.post(item{ev: &stream.ToolFailed{Call: c, Duration: took, Message: "The tool " + spec.Name + " answered with an error"}})
	case f.Unknown || f.Type == fault.Internal || k.ctx.Err() != nil && !f.NoEffect && !spec.Annotations.Repeatable():
		end = &stream.ToolUnknown{Call: c, Duration: took, Message: f.Message}
	default:
		end = &stream.ToolFailed{Call: c, Duration: took, Message: f.Message}
	}
	k.note(end)
	if sinkErr := k.post(item{ev: end}); err == nil {
		err = sinkErr
	}
	return result, err
}

// recorderKey is the key of the *recorder in a node's context.
type recorderKey struct{}

// recorder keeps the calls of one execution of a node.
//
// Calls of one agent run at the same time, and so use it at the same time.
type recorder struct {
	worker *worker
	mu     sync.Mutex         // guards the fields below
	made   map[string]int     // how many equal calls there were
	unsure []chat.PendingCall // of which nobody knows what became
	lost   error              // of the records: the run is not ours any more, or they are unavailable
}

// asksOutcome returns what a person must say before the node can go on, or why the records
// of the run took a call no more, which no model need hear of; nil: nothing.
//
// It is asked after each step and call. The error is a *waiting, or one that ends the run.
func (k *worker) asksOutcome() error {
	r, ok := k.ctx.Value(recorderKey{}).(*recorder)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost != nil {
		return k.end(r.lost)
	}
	if len(r.unsure) == 0 {
		return nil
	}
	if k.base == nil {
		k.base = &Entry{Node: k.n.ID, Attempt: k.open.Attempt, Round: k.round, Draft: k.last, Feedback: k.feedback}
	}
	return &waiting{&Question{Kind: chat.AskOutcome, Prompt: "Nobody knows whether these calls were carried out. Shall they be made again?",
		Calls: r.unsure}, k.base}
}

// made returns how often each call was made in the round.
func (k *worker) made() map[string]int {
	r, ok := k.ctx.Value(recorderKey{}).(*recorder)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.made)
}

// remade goes on counting where the process before has stopped.
//
// Without that the second of two equal calls would get the key of the first, and its
// result.
func (k *worker) remade(made map[string]int) {
	if r, ok := k.ctx.Value(recorderKey{}).(*recorder); ok && made != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.made = maps.Clone(made)
	}
}

// unknown is what a call comes to that was made before, nobody knows with what result.
//
// If the policy says so the model is told and must decide; otherwise the call is noted, the
// model's step fails without effect, and the node waits for a person at the end of the
// step.
func (r *recorder) unknown(i *Intent, spec *tool.Spec, call tool.Call) error {
	if tell := r.worker.x.runner.cfg.Tell; tell != nil && tell(spec.Server) {
		return &fault.Error{Type: fault.ToolFailed, Unknown: true, Service: "mcp:" + spec.Server,
			Message: "The gateway stopped while this call was under way: whether it took effect is not known. Do not repeat it; tell the user so."}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsure = append(r.unsure, chat.PendingCall{ID: i.Key, Tool: spec.Name, Server: spec.Server, Arguments: call.Arguments,
		Fingerprint: spec.Fingerprint(), AgentID: r.worker.n.Agent, Reason: "unknown"})
	return &fault.Error{Type: fault.ToolFailed, NoEffect: true, Message: "Whether an earlier try took effect is not known: a person is asked"}
}

// outcomeOf returns what a person has said of a call; nil: nothing.
func (k *worker) outcomeOf(key string) *Outcome {
	for i := range k.open.Outcomes {
		if k.open.Outcomes[i].Key == key {
			return &k.open.Outcomes[i]
		}
	}
	return nil
}

// Without records nothing is kept, and the context is the same.
func withRecorder(ctx context.Context, k *worker) context.Context {
	if k.x.records == nil {
		return ctx
	}
	return context.WithValue(ctx, recorderKey{}, &recorder{worker: k, made: map[string]int{}})
}

// Recorded makes the calls of an agent's tools known to the Records of the run in whose
// node the agent works. Elsewhere it changes nothing. Agents gives its agents tools that
// are wrapped so.
func Recorded(ctx context.Context, tools Caller, call tool.Call) (tool.Result, error) {
	if ctx.Value(recorderKey{}) == nil {
		return tools.Call(ctx, call)
	}
	return recorded(ctx, tools.Tools(ctx).Lookup(call.Name), call, tools.Call)
}

// Caller is agent.Tools.
type Caller interface {
	Tools(ctx context.Context) *tool.Set
	Call(ctx context.Context, call tool.Call) (tool.Result, error)
}

// recorded makes a call. Before one that is not safe to repeat its intent is kept, and
// its result after it: no intent, no call.
//
// What a person has said of the call comes before what the store knows. The result is kept
// even if the node was cancelled meanwhile. A failure to keep it does not take the result
// from the caller, but ends the run after the step.
func recorded(ctx context.Context, spec *tool.Spec, call tool.Call, run func(context.Context, tool.Call) (tool.Result, error)) (tool.Result, error) {
	r, ok := ctx.Value(recorderKey{}).(*recorder)
	if !ok || spec == nil || spec.Annotations.Repeatable() {
		return run(ctx, call)
	}
	intent := r.intent(spec, call)
	records := r.worker.x.records
	switch o := r.worker.outcomeOf(intent.Key); {
	case o == nil:
	case o.Again > 0:
		intent.Again = o.Again
	case o.Done:
		return tool.Result{ID: call.ID, Name: call.Name, Text: o.Result}, nil
	default:
		return tool.Result{ID: call.ID, Name: call.Name, IsError: true, Text: "A person says that this call was not carried out."}, nil
	}
	known, err := records.Intend(ctx, intent)
	if errors.Is(err, ErrUnknown) {
		return tool.Result{}, r.unknown(intent, spec, call)
	}
	if err != nil {
		return tool.Result{}, r.lose(err)
	}
	if known != nil {
		known.ID, known.Name = call.ID, call.Name
		return *known, nil
	}
	result, err := run(ctx, call)
	if kept := records.Settle(context.WithoutCancel(ctx), intent, &result, err); kept != nil {
		_ = r.lose(kept)
	}
	return result, err
}

// lose notes that the records of the run failed.
//
// The first error counts; it is returned as it came.
func (r *recorder) lose(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost == nil {
		r.lost = err
	}
	return err
}

// intent returns the intent of a call. Its key holds how many equal calls there were
// before it in this round: the model may mean to do a thing twice.
//
// Arguments are put into canonical form (RFC 8785) first, so that the order of members
// makes no other call; integers stay as they are, as large ones would lose digits. It is
// not idempotent: each use counts one more equal call.
func (r *recorder) intent(spec *tool.Spec, call tool.Call) *Intent {
	k := r.worker
	args := call.Arguments.Clone()
	if args.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		args = call.Arguments
	}
	sum := hex.EncodeToString(hash(string(args)))
	same := strconv.Itoa(k.round) + " " + spec.Server + " " + spec.Name + " " + sum
	r.mu.Lock()
	nth := r.made[same]
	r.made[same]++
	r.mu.Unlock()
	return &Intent{Node: k.n.ID, Attempt: k.open.Attempt, CallID: call.ID, Tool: spec.Name, Server: spec.Server, Hash: sum,
		Key: uuidOf(k.seen.Header.ID, k.n.ID, same, fmt.Sprint(nth))}
}
