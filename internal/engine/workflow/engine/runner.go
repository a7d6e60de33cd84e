// This file has the Runner, a stream.Runner over one Workflow. It also rebuilds a run from the
// question that a client sends back, or from stored parts. It keeps no state of runs. Each call of
// Continue makes an execution for the work.

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/engine/run"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// Config describes a Runner. Workflow is required, and of Agents, Tools and Asker what
// its nodes need.
type Config struct {
	Workflow *graph.Workflow
	Agents   Agents
	Tools    Tools
	Asker    Asker
	// Records returns the Records of a run. If it is nil or returns nil, the run is not stored and
	// ends with its stream.
	Records func(context.Context, *Run) (Records, error)
	// Load reads a stored run. nil: a waiting run is complete in its question.
	Load func(ctx context.Context, id string) (*Run, error)
	// ReportLost says that a lost call to a server is reported to its caller, and no person is asked.
	// nil: people are asked.
	ReportLost func(server string) bool
	// Hold says that a call of a tool node must wait for a person; nil: none must.
	Hold func(call tool.Call, spec *tool.Spec) bool
	// Enter waits until a run may work; leave is called when it does not any more. The run is
	// stored by then, so that a waiting run is not lost with its process. nil: it may work at once.
	Enter func(context.Context) (leave func(), err error)
	// Tracer begins the spans of runs that continue without a request. Without it they have no
	// spans.
	Tracer trace.Tracer
	// Metrics gets runs and nodes. nil: nothing is counted.
	Metrics *metrics.Registry
}

// Runner answers requests by a workflow. It is safe for concurrent use.
type Runner struct {
	cfg    Config
	counts instruments
}

// New returns a Runner.
func New(cfg Config) *Runner { return &Runner{cfg: cfg, counts: newInstruments(cfg.Metrics)} }

// Workflow returns the workflow of the Runner.
func (r *Runner) Workflow() *graph.Workflow { return r.cfg.Workflow }

// Run begins a run, or continues with the one that req.Resumed holds. See stream.Runner.
//
// The errors of a resumed run wrap ErrRun if it cannot be read, or ErrGone if its definition is
// gone. A decision about a call that does not wait is an error too. No node has run then.
func (r *Runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	state, err := r.stateFor(ctx, req)
	if err != nil {
		return stream.Result{}, err
	}
	state.Progress.Retracts = req.Facts.CanRetract
	return r.Continue(ctx, req, state, sink)
}

// stateFor returns a new run, or the one that a request resumes with the decisions on it.
func (r *Runner) stateFor(ctx context.Context, req *chat.Request) (*Run, error) {
	if req.Resumed == nil {
		return newRun(r.cfg.Workflow, headerOf(req)), nil
	}
	state, err := r.restoreRun(ctx, req.Resumed.State)
	if err != nil {
		return nil, err
	}
	state.askAgain(ctx, req.Resumed.Changed, r.cfg.Tools)
	return state, state.applyDecisions(req.Resumed.Decisions)
}

// handle stands in a question in place of a stored Run, and is the part that is read of any run.
//
// A client carries it back and forth, so it is short and contains no text of the run.
type handle struct {
	Header Header `json:"header"`
	Stored bool   `json:"kept"`
}

// pausedRun returns the run as a tree that waits; stored is true if it is in a store. The sessions
// of nodes that wait are within it.
func (r *Run) pausedRun(stored bool) (*run.Paused, error) {
	if stored {
		h := handle{r.Header, true}
		h.Header.Request = StoredRequest{}
		return run.Pause(chat.PausedWorkflow, h)
	}
	own := *r
	own.Progress.Frontier = slices.Clone(r.Progress.Frontier)
	var within []*run.Paused
	for i := range own.Progress.Frontier {
		o := &own.Progress.Frontier[i]
		if o.Entry == nil || o.Entry.Session == nil {
			continue
		}
		p, err := run.ReadPaused(chat.PausedAgent, o.Entry.Session)
		if err != nil {
			return nil, err
		}
		e := *o.Entry
		o.Entry, e.Session, within = &e, nil, append(within, p.As(o.Node))
	}
	return run.Pause(chat.PausedWorkflow, &own, within...)
}

// ReadHeader returns the Header of a run that waits. Its error wraps ErrRun.
func ReadHeader(p *run.Paused) (Header, error) {
	var h handle
	err := p.Into(&h)
	if err == nil && h.Header.Workflow == "" {
		err = ErrRun
	}
	return h.Header, err
}

// restoreRun returns the run of a question.
func (r *Runner) restoreRun(ctx context.Context, state []byte) (*Run, error) {
	var h handle
	p, err := run.ReadPaused(chat.PausedWorkflow, state)
	if err == nil {
		err = p.Into(&h)
	}
	switch {
	case err != nil:
		return nil, err
	case h.Stored && r.cfg.Load != nil:
		return r.cfg.Load(ctx, h.Header.ID)
	}
	return restorePaused(r.cfg.Workflow, p)
}

// Continue continues with a run until it is over or waits for people. The caller gives it the run.
// req is the request of the stream: its task, and the facts of its turn.
//
// The caller must not use run afterwards. Records is asked for before anything begins: if
// another process has the run, its error is returned and nothing was emitted.
func (r *Runner) Continue(ctx context.Context, req *chat.Request, run *Run, sink stream.Sink) (result stream.Result, err error) {
	ctx, span := r.beginSpan(ctx, run)
	x := newExecution(ctx, r, req, run, sink)
	defer x.stop(nil)
	defer func() { x.endSpan(span, err) }()
	if r.cfg.Records != nil {
		if x.records, err = r.cfg.Records(ctx, run); err != nil {
			return stream.Result{}, err
		}
	}
	r.counts.countBegun()
	defer r.counts.countLeft()
	return x.runStream()
}

// headerOf returns the part of a request that a run stores.
//
// Only the texts of the history are kept; parts of other kinds are left out. A request without a
// task gets a random id.
func headerOf(req *chat.Request) Header {
	a := StoredRequest{
		Input: req.Input, ConversationID: req.ConversationID, UserID: req.UserID,
		Tenant: req.Principal.Tenant, Principal: req.Principal.ID, Class: req.Principal.Class, Sender: req.Principal.By, KeyID: req.Principal.KeyID, Context: req.Context, Tools: req.Tools,
		Kind: req.Kind, RetentionDays: req.RetentionDays, Form: req.ReplyForm, HasHistory: req.HasHistory,
	}
	for _, m := range req.History {
		text := ""
		for _, p := range m.Parts {
			text += p.Text
		}
		a.History = append(a.History, HistoryText{m.Role, text})
	}
	if req.Location != nil {
		a.Timezone = req.Location.String()
	}
	h := Header{ID: req.Task, CreatedAt: time.Now().UTC(), Request: a}
	if h.ID == "" {
		h.ID = NewUUID()
	}
	return h
}

// chatRequest returns the request of a run as its agents are given it, without an input.
//
// A time zone that this machine does not know is left out, for the run must continue.
func (a *StoredRequest) chatRequest() chat.Request {
	req := chat.Request{
		ConversationID: a.ConversationID, UserID: a.UserID, Principal: chat.Principal{Tenant: a.Tenant, ID: a.Principal, Class: a.Class, By: a.Sender, KeyID: a.KeyID},
		Context: a.Context, Tools: a.Tools,
	}
	for _, s := range a.History {
		req.History = append(req.History, chat.Message{Role: s.Role, Parts: []chat.Part{{Text: s.Text}}})
	}
	if a.Timezone != "" {
		if zone, err := time.LoadLocation(a.Timezone); err == nil {
			req.Location = zone
		}
	}
	return req
}

// ErrRun is wrapped by the error of a stored run that cannot be continued.
var ErrRun = run.ErrPaused

// restorePaused makes a run of a tree that waits, with the definition that the run is pinned to.
func restorePaused(w *graph.Workflow, p *run.Paused) (*Run, error) {
	r := new(Run)
	if err := p.Into(r); err != nil {
		return nil, err
	}
	for _, c := range p.Within {
		o := r.openNode(c.Name)
		if o == nil || o.Entry == nil {
			return nil, fmt.Errorf("%w: it contradicts itself", ErrRun)
		}
		o.Entry.Session = c.Encode()
	}
	return r, r.Join(w)
}

// Join joins a run, whose parts were read apart, to its definition. Nodes that ran when
// the run was kept begin another attempt.
//
// Its errors wrap ErrRun. It checks only what would make the engine panic or repeat itself;
// the text of a run is not judged.
func (r *Run) Join(w *graph.Workflow) error {
	switch {
	case r.Header.Definition != w.Sum():
		return fmt.Errorf("%w: the workflow is another one by now", ErrRun)
	case len(r.Messages) == 0:
		return fmt.Errorf("%w: it has no messages", ErrRun)
	}
	for _, e := range r.Ended {
		if w.Node(e.Node) == nil || e.Result >= len(r.Messages) {
			return fmt.Errorf("%w: it contradicts itself", ErrRun)
		}
	}
	for _, o := range r.Progress.Frontier {
		if w.Node(o.Node) == nil || o.Attempt < 1 || o.Round < 1 {
			return fmt.Errorf("%w: it contradicts itself", ErrRun)
		}
	}
	r.bindGraph(w)
	return nil
}

// askAgain updates the questions about calls whose tools have changed: they become questions about
// the present tools. Otherwise the next answer would find the tools changed again, without end.
func (r *Run) askAgain(ctx context.Context, changed []string, tools Tools) {
	if len(changed) == 0 || tools == nil {
		return
	}
	set := tools.Tools(ctx)
	for i := range r.Progress.Frontier {
		o := &r.Progress.Frontier[i]
		if !o.Waits() {
			continue
		}
		q := *o.Asks // the one that was read stays as it is kept
		asked := q.Key
		q.Calls = slices.Clone(q.Calls)
		for j := range q.Calls {
			c := &q.Calls[j]
			if spec := set.Lookup(c.Tool); spec != nil && slices.Contains(changed, c.ID) {
				c.Fingerprint, c.Spec = spec.Fingerprint(), spec
				if q.Key == asked { // it is another question
					q.Key = NewUUID()
				}
			}
		}
		o.Asks = &q
	}
}

// applyDecisions takes decisions over: each names a call that waits or, of a node that asks
// itself, the node.
//
// The first that fits nothing is an error, and those before it have been taken: the caller
// drops the run then.
func (r *Run) applyDecisions(decisions []chat.Decision) error {
	for _, d := range decisions {
		if !r.decideOne(d) {
			return fmt.Errorf("nothing waits for the decision on %q", d.CallID)
		}
	}
	r.Progress.Status = StatusRunning
	return nil
}

// decideOne takes one decision and reports whether something waited for it. A call that was decided
// already does not wait.
func (r *Run) decideOne(d chat.Decision) bool {
	for i := range r.Progress.Frontier {
		o := &r.Progress.Frontier[i]
		switch {
		case !o.Waits():
		case o.Asks.Kind == chat.AskOutcome:
			if o.applyOutcome(d) {
				return true
			}
		case len(o.Asks.Calls) == 0:
			if o.Node == d.CallID {
				o.Decision = &Decision{Action: string(d.Action), Message: d.Message, Input: valueOf(d.Input), State: d.State}
				return true
			}
		case slices.ContainsFunc(o.Asks.Calls, func(c chat.PendingCall) bool { return c.ID == d.CallID }) &&
			!slices.ContainsFunc(o.Calls, func(made chat.Decision) bool { return made.CallID == d.CallID }):
			o.Calls = append(o.Calls, d)
			return true
		}
	}
	return false
}

// applyOutcome takes a person's answer about a call with an unknown outcome.
//
// Approve lets it be made once more, modify gives the result that the person found,
// anything else says that it was not carried out. It returns false if nobody asks about
// that call. The slices are copied, for checkpoints share them.
func (o *Open) applyOutcome(d chat.Decision) bool {
	i := slices.IndexFunc(o.Asks.Calls, func(c chat.PendingCall) bool { return c.ID == d.CallID })
	if i < 0 {
		return false
	}
	o.Asks.Calls = slices.Delete(slices.Clone(o.Asks.Calls), i, i+1)
	if len(o.Asks.Calls) == 0 {
		o.Asks = nil
	}
	out := Outcome{Key: d.CallID}
	at := slices.IndexFunc(o.Outcomes, func(other Outcome) bool { return other.Key == d.CallID })
	switch d.Action {
	case chat.Approve:
		if out.Retries = 1; at >= 0 {
			out.Retries = o.Outcomes[at].Retries + 1
		}
	case chat.Modify:
		out.Done, out.Result = true, d.Result
	}
	if at >= 0 {
		o.Outcomes = slices.Delete(slices.Clone(o.Outcomes), at, at+1)
	}
	o.Outcomes = append(o.Outcomes, out)
	return true
}

// TimeOut decides the questions that nobody has answered in time: nodes that ask are refused, and
// so are calls.
//
// A call of unknown outcome counts as not carried out, and the model reads so: a repetition could
// do harm. A question with a later end stays open.
func (r *Run) TimeOut(now time.Time) {
	if r.Origin != nil {
		r.Origin.TimedOut()
	}
	for i := range r.Progress.Frontier {
		o := &r.Progress.Frontier[i]
		switch {
		case !o.Waits() || o.Asks.Expires.After(now):
		case o.Asks.Kind == chat.AskOutcome:
			for _, c := range slices.Clone(o.Asks.Calls) {
				o.applyOutcome(chat.Decision{CallID: c.ID, Action: chat.Reject})
			}
		case len(o.Asks.Calls) == 0:
			o.Decision = &Decision{Action: string(chat.Reject), Message: "Nobody has answered in time", Late: true}
		default:
			for _, c := range o.Asks.Calls {
				if !slices.ContainsFunc(o.Calls, func(d chat.Decision) bool { return d.CallID == c.ID }) {
					o.Calls = append(o.Calls, chat.Decision{CallID: c.ID, Action: chat.Refuse, Message: "Nobody has answered in time"})
				}
			}
		}
	}
	r.Progress.Status = StatusRunning
}

// Request returns the request of a run, for code that continues the run without a client.
func (r *Run) Request() *chat.Request {
	a := &r.Header.Request
	req := a.chatRequest()
	req.Input, req.Task, req.Workflow = a.Input, r.Header.ID, r.Header.Workflow
	req.Kind, req.RetentionDays, req.ReplyForm, req.HasHistory = a.Kind, a.RetentionDays, a.Form, a.HasHistory
	return &req
}

// valueOf returns a JSON value; nil for an empty text.
func valueOf(text jsontext.Value) (value any) {
	if len(text) > 0 {
		_ = json.Unmarshal(text, &value)
	}
	return value
}

// beginSpan begins the span of a stream of a run. It links to the previous span of the run and
// takes its place in the run. The previous span has ended with its stream or with its process.
//
// The returned context has the span; the caller ends it with execution.endSpan. A run that
// waits for days has one span for each stream, each of which links to the one before: a
// span that lasts for days would be exported at its end only.
func (r *Runner) beginSpan(ctx context.Context, run *Run) (context.Context, trace.Span) {
	name := r.cfg.Workflow.Definition().Name
	next, span := trace.Start(ctx, trace.Internal, trace.InvokeWorkflow, name)
	if span.Name() == "" { // without a request or telemetry
		if under, root := trace.Root(ctx, r.cfg.Tracer, trace.InvokeWorkflow, name); root.On() {
			span.End(nil)
			next, span = under, root
		}
	}
	if !span.On() {
		return ctx, span
	}
	span.String(trace.Operation, trace.InvokeWorkflow)
	span.String(trace.WorkflowName, name)
	span.Link(run.Progress.Trace)
	run.Progress.Trace = span.Name()
	return next, span
}
