package workflow

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
func (k *worker) missing(set *tool.Set, server string) error {
	for _, u := range set.Unavailable {
		if u.Server == server {
			return u.Err
		}
	}
	return &fault.Error{Type: fault.ToolFailed, Message: "There is no tool " + k.n.Tool, Err: ErrGone}
}

// arguments returns the arguments of the call as one JSON object.
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
	result, err := recorded(k.ctx, spec, tool.Call{ID: c.ID, Name: spec.Name, Arguments: args}, k.x.runner.cfg.Tools.Call)
	took := time.Since(began)
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

type recorderKey struct{}

// recorder keeps the calls of one execution of a node.
type recorder struct {
	worker *worker
	mu     sync.Mutex         // guards the fields below
	made   map[string]int     // how many equal calls there were
	unsure []chat.PendingCall // of which nobody knows what became
}

// asksOutcome returns what a person must say before the node can go on; nil: nothing.
func (k *worker) asksOutcome() error {
	r, ok := k.ctx.Value(recorderKey{}).(*recorder)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.unsure) == 0 {
		return nil
	}
	if k.base == nil {
		k.base = &Entry{Node: k.n.ID, Attempt: k.open.Attempt, Round: k.round, Draft: k.last, Feedback: k.feedback}
	}
	return &waiting{&Question{Kind: chat.AskOutcome, Prompt: "Nobody knows whether these calls were carried out. Shall they be made again?",
		Calls: r.unsure}, k.base}
}

// unknown is what a call comes to that was made before, nobody knows with what result.
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
		return tool.Result{}, err
	}
	if known != nil {
		known.ID, known.Name = call.ID, call.Name
		return *known, nil
	}
	result, err := run(ctx, call)
	if kept := records.Settle(context.WithoutCancel(ctx), intent, &result, err); kept != nil && err == nil {
		return result, kept
	}
	return result, err
}

// intent returns the intent of a call. Its key holds how many equal calls there were
// before it in this round: the model may mean to do a thing twice.
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
