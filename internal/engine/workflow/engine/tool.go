// This file is the kind tool: a worker makes the arguments of such a node, its call, and the calls
// of its fallbacks. The guard against a second call is in recorder.go.

package engine

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// ToolNode is the type of nodes that call one tool.
const ToolNode graph.NodeType = "tool"

const defaultToolTimeout = 300 * time.Second

type toolKind struct{ graph.Plain }

func (toolKind) Name() graph.NodeType                  { return ToolNode }
func (toolKind) Keys() []string                        { return []string{"repeat", "speak", "timeout", "tool", "arguments"} }
func (toolKind) Default(n *graph.Node)                 { n.Timeout = defaultToolTimeout }
func (toolKind) Check(n *graph.Vertex) []graph.Problem { return graph.Require(n, "tool", n.Tool) }
func (toolKind) Results() bool                         { return true }

func (toolKind) beginNode(x *execution, n *graph.Vertex, o *Open, alone bool) {
	x.workNode(n, o, alone, (*worker).runTool)
}

func (toolKind) Draw(n *graph.Node) (left, label, right string) { return "[[", n.Tool, "]]" }

// runTool makes one round of a tool node: one call, or those of its fallbacks in its place.
//
// A fallback is tried only if the server was unavailable and the call certainly had no effect. A
// result that is an error is the node's failure; its text is kept as a message, so that an edge on
// result.is_error can read it.
func (k *worker) runTool() error {
	args, err := k.callArguments()
	if err != nil {
		return err
	}
	set := k.x.runner.cfg.Tools.Tools(k.ctx)
	spec, err := k.toolSpec(set)
	if err != nil {
		return err
	}
	k.repeatable = spec.Annotations.Repeatable()
	if args, err = k.allowedArguments(spec, args); err != nil {
		return err
	}
	result, err := k.callTool(spec, args, "")
	q := k.asksOutcome()
	for _, next := range append([]string{spec.Fallback}, spec.More...) {
		if q != nil || !hadNoServer(err) {
			break
		}
		if other := set.Lookup(next); other != nil {
			result, err = k.callTool(other, args, next)
			q = k.asksOutcome()
		}
	}
	if q != nil {
		return q
	}
	k.sealStep()
	if err != nil {
		return err
	}
	if result.IsError {
		return &fault.Error{Type: fault.ToolFailed, Message: "The tool " + spec.Name + " answered with an error", Service: "mcp:" + spec.Server}
	}
	return k.postItem(nil, result.Text)
}

// hadNoServer reports whether err says that a call's server was unavailable, so that nothing was
// done.
func hadNoServer(err error) bool {
	f := fault.From(err)
	return f != nil && f.Type == fault.MCPUnavailable && !f.Unknown && f.NoEffect
}

// toolSpec returns the tool of the node, if the request may call it.
func (k *worker) toolSpec(set *tool.Set) (*tool.Spec, error) {
	server, name, _ := strings.Cut(k.n.Tool, "/")
	spec, may := set.Lookup(k.x.runner.cfg.Tools.Named(k.ctx, server, name)), k.seen.Header.Request.Tools
	if spec == nil {
		return nil, k.missingTool(set, server)
	}
	if may != chat.ToolsAll && !(may == chat.ToolsReadOnly && spec.Annotations.ReadOnly) {
		return nil, &fault.Error{Type: fault.ToolFailed, Message: "The request may not call this tool"}
	}
	return spec, nil
}

// allowedArguments returns the arguments that a person allows; the given ones if a person need not
// be asked.
//
// It returns a *waiting error for a call without a decision. An approval is for the tool as it was:
// if the server has changed its description since (fingerprint), the call is refused.
func (k *worker) allowedArguments(spec *tool.Spec, args jsontext.Value) (jsontext.Value, error) {
	hold := k.x.runner.cfg.Hold
	if hold == nil || !hold(tool.Call{Name: spec.Name, Arguments: args}, spec) {
		return args, nil
	}
	id := uuidOfParts(k.seen.Header.ID, k.n.ID, strconv.Itoa(k.round), "1", "") // a later attempt has the same answer
	i := slices.IndexFunc(k.open.Calls, func(d chat.Decision) bool { return d.CallID == id })
	if i < 0 {
		return nil, &waiting{
			&Question{Kind: chat.AskTools, Calls: []chat.PendingCall{{ID: id, Tool: spec.Name, Server: spec.Server, Arguments: args,
				Fingerprint: spec.Fingerprint(), Spec: spec}}},
			&Entry{Node: k.n.ID, Attempt: k.open.Attempt, Round: k.round, Draft: k.last, Feedback: k.feedback},
		}
	}
	switch d := k.open.Calls[i]; {
	case d.Action == chat.Reject:
		k.emitRejected(spec, args)
		return nil, &rejection{&Decision{Action: string(chat.Reject), Message: d.Message}}
	case d.Action == chat.Refuse: // nobody could be asked, or has answered
		return nil, &rejection{&Decision{Action: string(chat.Reject), Message: d.Message, Late: true}}
	case d.Fingerprint != "" && d.Fingerprint != spec.Fingerprint():
		return nil, &fault.Error{Type: fault.ToolFailed, NoEffect: true, Message: "The tool is not the one that was asked about any more"}
	case d.Action == chat.Modify:
		return d.Arguments, nil
	}
	return args, nil
}

// emitRejected reports a call that a person has not allowed. In the first attempt its id is the one
// that was asked about.
func (k *worker) emitRejected(spec *tool.Spec, args jsontext.Value) {
	c := stream.Call{Attribution: k.Attribution, Tool: spec.Name, Server: spec.Server, Arguments: args}
	c.ID = k.nodeCallID("")
	_ = k.postItem(&stream.ToolStarted{Call: c, Repeatable: true}, "") // it does not run; its error is in the next event
	_ = k.postItem(&stream.ToolFailed{Call: c, ErrorType: fault.ApprovalRejected,
		Message: "The call of " + spec.Name + " was not executed: the person who was asked has not allowed it"}, "")
}

// nodeCallID returns the id of the call that a tool node makes; instead is the fallback.
// Another attempt has another id, as the events of the first may be out.
func (k *worker) nodeCallID(instead string) string {
	return uuidOfParts(k.seen.Header.ID, k.n.ID, strconv.Itoa(k.round), strconv.Itoa(k.open.Attempt), instead)
}

// missingTool returns why a tool cannot be called.
//
// A server that cannot be reached is reported as such. If the server is not configured any more,
// the run ends: no gateway can continue it.
func (k *worker) missingTool(set *tool.Set, server string) error {
	for _, u := range set.Unavailable {
		if u.Server == server {
			return u.Err
		}
	}
	if !slices.ContainsFunc(set.Specs, func(s tool.Spec) bool { return s.Server == server }) {
		return k.fatalError(goneFault("the MCP server " + server))
	}
	return &fault.Error{Type: fault.ToolFailed, Message: "There is no tool " + k.n.Tool, Err: ErrGone}
}

// goneFault is the fault of a run that needs something that does not exist any more.
func goneFault(what string) error {
	return &fault.Error{Type: fault.WorkflowRecovery, Message: "The workflow cannot go on: " + what + " is gone", Err: ErrGone}
}

// callArguments returns the arguments of the call as one JSON object.
//
// Expressions see the texts and fields of the node's ancestors. A value that stands for itself is
// passed on unchanged.
func (k *worker) callArguments() (jsontext.Value, error) {
	object := map[string]any{}
	v := k.viewBefore()
	for i, a := range k.n.Arguments {
		value, err := k.n.Argument(k.ctx, v, i)
		if err != nil {
			return nil, k.fatalError(err)
		}
		object[a.Name] = value
	}
	text, err := json.Marshal(object)
	if err == nil && len(text) > graph.MaxText {
		return nil, k.fatalError(limitFault("The arguments of a tool are longer than 1 MiB"))
	}
	return text, err
}

// callTool makes one call and reports it.
//
// The event is flushed before the call, as it may take minutes. The end is unknown if the
// server may have acted: it said so, we failed ourselves, or we were cancelled within a
// call that is not safe to repeat. Text of a result that is an error is for the model and
// is not shown in the event.
func (k *worker) callTool(spec *tool.Spec, args jsontext.Value, instead string) (tool.Result, error) {
	c := stream.Call{Attribution: k.Attribution, Tool: spec.Name, Server: spec.Server, Arguments: args}
	c.ID = k.nodeCallID(instead)
	started := &stream.ToolStarted{Call: c, Repeatable: spec.Annotations.Repeatable()}
	k.calls.Add(started)
	if err := k.postItem(started, ""); err != nil {
		return tool.Result{}, err
	}
	_ = k.Flush()
	began := time.Now()
	ctx, span := k.callSpan(spec.Name)
	result, err := k.recorder.Call(ctx, spec, tool.Call{ID: c.ID, Name: spec.Name, Arguments: args}, k.x.runner.cfg.Tools.Call)
	elapsed := time.Since(began)
	endCallSpan(span, &result, err)
	k.result.Tools = append(k.result.Tools, stream.ToolTiming{Tool: spec.Name, Duration: elapsed})
	var end stream.Event
	switch f := fault.From(err); {
	case f == nil && !result.IsError:
		end = &stream.ToolCompleted{Call: c, Duration: elapsed, Result: result.Text, Warning: result.Warning}
	case f == nil:
		text := result.Text
		if strings.TrimSpace(text) == "" {
			text = spec.Name + " failed without saying why"
		}
		k.calls.Add(&stream.ToolFailed{Call: c, Message: text})
		return result, k.postItem(&stream.ToolFailed{Call: c, Duration: elapsed, Message: "The tool " + spec.Name + " answered with an error"}, "")
	case f.Unknown || f.Type == fault.Internal || !spec.Annotations.Repeatable() && outcomeUnknown(k.ctx, err):
		end = &stream.ToolUnknown{Call: c, Duration: elapsed, Message: f.Message}
	default:
		end = &stream.ToolFailed{Call: c, Duration: elapsed, Message: f.Message}
	}
	k.calls.Add(end)
	if sinkErr := k.postItem(end, ""); err == nil {
		err = sinkErr
	}
	return result, err
}
