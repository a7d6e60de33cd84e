package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/fault"
	"sluice/metrics"
	"sluice/stream"
	"sluice/tool"
)

// Config describes a Runner. Workflow is required, and of Agents, Tools and Asker what
// its nodes need.
type Config struct {
	Workflow *Workflow
	Agents   Agents
	Tools    Tools
	Asker    Asker
	// Records gives what keeps a run; nil, or a nil one: nothing does, and the run ends
	// with its stream.
	Records func(context.Context, *Run) (Records, error)
	// Load reads a run that Records has kept. nil: what a run that waits needs is in its
	// question.
	Load func(ctx context.Context, id string) (*Run, error)
	// Tell says that of a lost call to a server its caller is told, and no person is asked.
	// nil: people are asked.
	Tell func(server string) bool
	// Hold says that a call of a tool node must wait for a person; nil: none must.
	Hold func(call tool.Call, spec *tool.Spec) bool
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

// Workflow returns what the Runner runs.
func (r *Runner) Workflow() *Workflow { return r.cfg.Workflow }

// Run begins a run, or goes on with the one that req.Resumed holds. See stream.Runner.
func (r *Runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	if req.Resumed != nil {
		run, err := r.restore(ctx, req.Resumed.State)
		if err == nil {
			err = run.decide(req.Resumed.Decisions)
		}
		if err != nil {
			return stream.Result{}, err
		}
		return r.Continue(ctx, run, sink)
	}
	return r.Continue(ctx, begin(r.cfg.Workflow, headerOf(req)), sink)
}

// handle is what is asked with in place of a Run that is kept.
type handle struct {
	Header Header `json:"header"`
	Kept   bool   `json:"kept"`
}

// restore returns the run of a question.
func (r *Runner) restore(ctx context.Context, state []byte) (*Run, error) {
	var h handle
	if err := json.Unmarshal(state, &h); err != nil || !h.Kept || r.cfg.Load == nil {
		return Restore(r.cfg.Workflow, state)
	}
	return r.cfg.Load(ctx, h.Header.ID)
}

// Continue goes on with a run until it is over or waits for people. It takes run over.
func (r *Runner) Continue(ctx context.Context, run *Run, sink stream.Sink) (stream.Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, max(run.w.def.Timeout-run.Progress.Elapsed, 0), &fault.Error{
		Type: fault.Timeout, Message: "The workflow took too long and was stopped",
	})
	defer cancel()
	x := newExecution(ctx, r, run, sink)
	if r.cfg.Records != nil {
		var err error
		if x.records, err = r.cfg.Records(ctx, run); err != nil {
			return stream.Result{}, err
		}
	}
	r.counts.began()
	defer r.counts.left()
	return x.run()
}

// headerOf returns what a run keeps of its request.
func headerOf(req *chat.Request) Header {
	a := Asked{
		Input: req.Input, ConversationID: req.ConversationID, UserID: req.UserID,
		Tenant: req.Principal.Tenant, Principal: req.Principal.ID, Context: req.Context, Tools: req.Tools,
		Kind: req.Kind, RetentionDays: req.RetentionDays,
	}
	for _, m := range req.History {
		text := ""
		for _, p := range m.Parts {
			text += p.Text
		}
		a.History = append(a.History, Said{m.Role, text})
	}
	if req.Location != nil {
		a.Timezone = req.Location.String()
	}
	h := Header{ID: req.Task, CreatedAt: time.Now().UTC(), Asked: a}
	if h.ID == "" {
		h.ID = newUUID()
	}
	return h
}

// request returns the request of a run as its agents are given it, without an input.
func (a *Asked) request() chat.Request {
	req := chat.Request{
		ConversationID: a.ConversationID, UserID: a.UserID, Principal: chat.Principal{Tenant: a.Tenant, ID: a.Principal},
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

// ErrRun is wrapped by the error of a stored run that cannot be gone on with.
var ErrRun = errors.New("stored run cannot be continued")

// Restore makes a run of its JSON, with the definition that it is pinned to.
func Restore(w *Workflow, stored []byte) (*Run, error) {
	r := new(Run)
	if err := json.Unmarshal(stored, r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRun, err)
	}
	return r, r.Join(w)
}

// Join joins a run, whose parts were read apart, to its definition. Nodes that ran when
// the run was kept begin another attempt.
func (r *Run) Join(w *Workflow) error {
	switch {
	case r.Header.Schema != schemaNumber:
		return fmt.Errorf("%w: it has version %d, this is version %d", ErrRun, r.Header.Schema, schemaNumber)
	case r.Header.Definition != w.sum:
		return fmt.Errorf("%w: the workflow is another one by now", ErrRun)
	case len(r.Messages) == 0:
		return fmt.Errorf("%w: it has no messages", ErrRun)
	}
	for _, e := range r.Ended {
		if w.byID[e.Node] == nil || e.Result >= len(r.Messages) {
			return fmt.Errorf("%w: it contradicts itself", ErrRun)
		}
	}
	for _, o := range r.Progress.Frontier {
		if w.byID[o.Node] == nil || o.Attempt < 1 || o.Round < 1 {
			return fmt.Errorf("%w: it contradicts itself", ErrRun)
		}
	}
	r.bind(w)
	return nil
}

// TakeOver says that the process which ran the run is gone: the nodes that may have run
// there begin another attempt, each with what was kept last of its session.
func (r *Run) TakeOver(kept func(node string) *Entry) {
	for i := range r.Progress.Frontier {
		o := &r.Progress.Frontier[i]
		if o.waits() {
			continue
		}
		if e := kept(o.Node); e != nil {
			o.Entry, o.Round = e, e.Round
		}
		o.Attempt++
	}
}

// decide takes decisions over: each names a call that waits or, of a node that asks
// itself, the node.
func (r *Run) decide(decisions []chat.Decision) error {
	for _, d := range decisions {
		if !r.decideOne(d) {
			return fmt.Errorf("nothing waits for the decision on %q", d.CallID)
		}
	}
	r.Progress.Status = StatusRunning
	return nil
}

func (r *Run) decideOne(d chat.Decision) bool {
	for i := range r.Progress.Frontier {
		o := &r.Progress.Frontier[i]
		switch {
		case !o.waits():
		case o.Asks.Kind == chat.AskOutcome:
			if o.found(d) {
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

// found takes what a person has found out of a call.
func (o *Open) found(d chat.Decision) bool {
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
		if out.Again = 1; at >= 0 {
			out.Again = o.Outcomes[at].Again + 1
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

// TimeOut decides what nobody has decided in time: what a node asks is refused, and so
// are calls.
func (r *Run) TimeOut(now time.Time) {
	for i := range r.Progress.Frontier {
		o := &r.Progress.Frontier[i]
		switch {
		case !o.waits() || o.Asks.Expires.After(now):
		case o.Asks.Kind == chat.AskOutcome:
			for _, c := range slices.Clone(o.Asks.Calls) {
				o.found(chat.Decision{CallID: c.ID, Action: chat.Reject})
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

// Request returns the request of a run, for what goes on with it without a client.
func (r *Run) Request() *chat.Request {
	req := r.Header.Asked.request()
	req.Input, req.Task = r.Header.Asked.Input, r.Header.ID
	return &req
}

// valueOf returns a JSON value; nil: there is none.
func valueOf(text jsontext.Value) (value any) {
	if len(text) > 0 {
		_ = json.Unmarshal(text, &value)
	}
	return value
}
