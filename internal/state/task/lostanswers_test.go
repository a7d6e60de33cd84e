// Every method of a store is executed and loses its answer, while a turn begins, is continued, taken
// over, handed over or ends. No turn runs twice, none stays at work, and no key is blocked.

package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// lostLease is the lease of processes here, and lostStall is longer than a command and a try to
// find out what became of it.
const lostLease, lostStall = 3 * time.Second, 1200 * time.Millisecond

// losing is one case: a store, and a process that works with it.
type losing struct {
	in    store.Store
	with  *forgetful
	real  bool // time passes by itself
	once  bool // the process ends as soon as the operation has
	brief bool // minutes pass in place of an hour: each look of a keeper costs time
	s     *Service
	works *works
	task  string
	turn  string
}

// works are the effects of turns: each run of one is an effect. It is a Turns and a Runs.
type works struct {
	mu      sync.Mutex // guards the fields below
	effects int
	due     []string
	gone    bool // no turn can be continued
}

// add counts an effect.
func (w *works) add() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects++
	w.due = nil
}

func (w *works) Continue(*chat.Request, map[string][][]byte, []stream.Event) (*stream.Frame, error) {
	if w.gone {
		return nil, errors.New("no such agent")
	}
	return &stream.Frame{Runner: w, Model: "m"}, nil
}

// ContinuesText implements task.Turns.
func (*works) ContinuesText(*chat.Request, string) bool { return false }

// Run implements stream.Runner.
func (w *works) Run(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	if ctx.Err() != nil {
		return stream.Result{}, context.Cause(ctx)
	}
	w.add()
	return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: "done"})
}

func (w *works) Open(_ context.Context, task string) (Run, error) {
	return workRun{w}, nil
}

func (w *works) Due(context.Context, time.Time, int) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.due), nil
}

func (w *works) Finish(context.Context, string) error { return nil }

// workRun is the run of a workflow.
type workRun struct{ all *works }

func (workRun) TakeOver([]stream.Event) []stream.Event { return nil }
func (workRun) TimeOut(time.Time)                      {}
func (workRun) Unseen() bool                           { return true }
func (r workRun) Frame(context.Context, string, string) (*stream.Frame, *chat.Request) {
	return &stream.Frame{Runner: r.all}, new(chat.Request)
}

// config configures a service. It has runs of workflows only if durable is set.
func (l *losing) config(st Store, durable bool) Config {
	cfg := Config{Store: st, Turns: l.works, Lease: lostLease}
	if durable {
		cfg.Runs = l.works
	}
	return cfg
}

// lossy returns the store that loses answers.
func (l *losing) lossy() Store {
	if _, ok := l.in.(store.Ender); ok {
		return forgetfulEnder{l.with}
	}
	return l.with
}

// operation is something during which the store loses an answer.
type operation struct {
	prepare func(t context.Context, l *losing) error
	act     func(t context.Context, l *losing) error
	// durable is true if the turn is a run of a workflow.
	durable bool
	least   int    // effects
	key     string // idempotency key of the turn, if it has one
}

// operations are all of them.
func operations() map[string]operation {
	long := strings.Repeat("long ", 30<<10)
	return map[string]operation{
		"begin":             {act: beginAndRun(Request{Chat: &chat.Request{Input: "pay"}}), least: 1},
		"begin, long":       {act: beginAndRun(Request{Chat: &chat.Request{Input: long}}), least: 1},
		"begin, with a key": {act: beginAndRun(Request{Chat: &chat.Request{Input: "pay"}, Key: "a-key-of-a-client", Body: new([32]byte)}), least: 1, key: "a-key-of-a-client"},
		"begin, a run":      {act: beginAndRun(Request{Chat: &chat.Request{Input: "pay", Workflow: "flow"}, Durable: true}), durable: true},
		"resume":            {prepare: asksFor(stream.InputRequired, false), act: replies, least: 1},
		"approve":           {prepare: asksFor(stream.ApprovalRequired, false), act: approves, least: 1},
		"approve, a run":    {prepare: asksFor(stream.ApprovalRequired, true), act: approves, durable: true, least: 1},
		"take over":         {prepare: leaves, act: claims, least: 1},
		"take over, a run":  {prepare: leavesRun, act: claims, durable: true, least: 1},
		"close":             {prepare: leaves, act: closes},
		"time out":          {prepare: asksFor(stream.ApprovalRequired, true), act: timesOut, durable: true, least: 1},
		"hand over":         {act: handsOver, least: 1},
		"cancel what waits": {prepare: asksFor(stream.ApprovalRequired, false), act: cancelsWaiting},
	}
}

// begun begins a turn and writes events.
func (l *losing) begun(ctx context.Context, s *Service, req Request, events ...stream.Event) (*Turn, error) {
	own := *req.Chat
	req.Chat = &own
	req.Detached, req.Retracts = true, true
	if req.Cancel == nil {
		req.Cancel = func(error) {}
	}
	turn, err := s.Begin(ctx, req)
	if err != nil || turn == nil {
		return turn, err
	}
	out := turn.Before(nowhere{})
	for i, ev := range events {
		_ = out.Write(stream.Stamp{N: i + 1}, ev)
		_ = out.Flush()
	}
	return turn, nil
}

// runs begins a turn and runs it to its end. A refused one is sent again, as its client would.
func (l *losing) runs(ctx context.Context, req Request) error {
	for range 60 {
		turn, err := l.begun(ctx, l.s, req, &stream.Start{Model: "m"})
		replay, isReplay := errors.AsType[*Replay](err)
		refused, _ := errors.AsType[*fault.Error](err)
		switch {
		case err == nil:
			l.works.add()
			if turn != nil {
				_ = turn.Write(stream.Stamp{N: 2}, &stream.Delta{Text: "done"})
				_ = turn.Write(stream.Stamp{N: 3}, &stream.Done{Reason: stream.Stop})
				_ = turn.Flush()
				turn.End()
			}
			return nil
		case isReplay:
			if _, err = l.s.Reopen(ctx, replay, func() {}); err == nil || errors.Is(err, ErrGone) {
				return nil
			}
		case refused != nil && (refused.Type == fault.StoreUnavailable || refused.Type == fault.ApprovalConflict):
		default:
			return fmt.Errorf("the request is refused: %w", err)
		}
		time.Sleep(time.Second)
	}
	return errors.New("the request is refused for a minute")
}

func beginAndRun(req Request) func(context.Context, *losing) error {
	return func(ctx context.Context, l *losing) error { return l.runs(ctx, req) }
}

// asksFor has a turn end with a question.
func asksFor(what stream.FinishReason, durable bool) func(context.Context, *losing) error {
	return func(ctx context.Context, l *losing) error {
		s := New(l.config(l.in, durable))
		defer s.Close()
		events := []stream.Event{&stream.Start{Model: "m"}, &stream.Approval{ID: "appr_1", Prompt: "May I?"}, &stream.Done{Reason: what}}
		req := Request{Chat: &chat.Request{Input: "hi"}, Durable: durable}
		if what == stream.InputRequired {
			events[1] = &stream.Route{Decision: stream.Clarified, Additional: []string{}, Method: "model"}
		}
		if durable {
			req.Chat.Workflow = "flow"
		}
		turn, err := l.begun(ctx, s, req, events...)
		if err != nil {
			return err
		}
		turn.End()
		l.task, l.turn = turn.Task(), turn.ID()
		return nil
	}
}

func replies(ctx context.Context, l *losing) error {
	return l.runs(ctx, Request{Chat: &chat.Request{Input: "that one"}, TaskID: l.task})
}

func approves(ctx context.Context, l *losing) error {
	req := Request{Chat: &chat.Request{Input: "yes"}, TaskID: l.task, AskingTurn: l.turn, Question: "appr_1"}
	if l.s.cfg.Runs != nil {
		req.Durable = true
	}
	return l.runs(ctx, req)
}

// leaves leaves a turn whose process is gone.
func leaves(ctx context.Context, l *losing) error {
	s := New(l.config(l.in, false))
	turn, err := l.begun(ctx, s, Request{Chat: &chat.Request{Input: "hi"}}, &stream.Start{Model: "m"}, &stream.Delta{Text: "Step. "})
	if err != nil {
		return err
	}
	turn.Saving().Save("", []byte(`{"step":1}`))
	err = turn.Saving().Confirm()
	s.Close()
	return err
}

func leavesRun(ctx context.Context, l *losing) error {
	s := New(l.config(l.in, true))
	defer s.Close()
	_, err := l.begun(ctx, s, Request{Chat: &chat.Request{Input: "hi", Workflow: "flow"}, Durable: true}, &stream.Start{Model: "m"})
	return err
}

func claims(ctx context.Context, l *losing) error { return l.idle(ctx) }

func closes(ctx context.Context, l *losing) error {
	l.works.gone = true
	defer func() { l.works.gone = false }()
	return l.idle(ctx)
}

func timesOut(ctx context.Context, l *losing) error {
	l.works.mu.Lock()
	l.works.due = []string{l.task}
	l.works.mu.Unlock()
	for range 60 {
		l.works.mu.Lock()
		ran := l.works.effects > 0
		l.works.mu.Unlock()
		if ran {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errors.New("the wait does not end")
}

// handsOver lets go of a turn that runs.
func handsOver(ctx context.Context, l *losing) error {
	ended := make(chan struct{})
	turn, err := l.begun(ctx, l.s, Request{Chat: &chat.Request{Input: "hi"}, Cancel: func(error) { close(ended) }}, &stream.Start{Model: "m"}, &stream.Delta{Text: "Step. "})
	if err != nil {
		return err
	}
	if turn == nil {
		l.works.add()
		return nil
	}
	turn.HandOver(shuttingDown())
	<-ended
	if turn.mu.Lock(); turn.end.state != endHandedOver { // it ends here
		l.works.add()
		turn.mu.Unlock()
		_ = turn.Write(stream.Stamp{N: 3}, &stream.Done{Reason: stream.Stop})
		_ = turn.Flush()
	} else {
		turn.mu.Unlock()
	}
	turn.End()
	return nil
}

// cancelsWaiting cancels a task that waits. Its question is withdrawn.
func cancelsWaiting(ctx context.Context, l *losing) error {
	key := store.ApprovalKey("appr_1")
	if _, err := l.in.PutValue(ctx, key, store.Value{Data: []byte(`{"said":"secret"}`)}, time.Hour); err != nil && !errors.Is(err, store.ErrConflict) {
		return err
	}
	for range 60 {
		_, _, err := l.s.Cancel(ctx, Caller{}, l.task)
		if err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	for range 60 {
		v, err := l.in.Value(ctx, key)
		if err != nil {
			return err
		}
		if !strings.Contains(string(v.Data), "secret") {
			return nil
		}
		time.Sleep(time.Second)
	}
	return errors.New("the question waits though its task was cancelled")
}

// idle waits until no task is at work, with a process that lives.
func (l *losing) idle(ctx context.Context) error {
	var working []string
	for range 60 {
		page, err := l.in.Tasks(ctx, store.Query{Limit: store.MaxPage})
		if err != nil {
			return err
		}
		working = working[:0]
		for i, t := range page.Tasks {
			if t.State == Working {
				working = append(working, page.IDs[i])
			}
		}
		if len(working) == 0 {
			return nil
		}
		time.Sleep(time.Second)
	}
	return fmt.Errorf("%d tasks are at work for a minute", len(working))
}

// run runs a case of an operation. It returns how often the operation called each method.
func (l *losing) run(ctx context.Context, op operation, c lostCase) (calls map[string]int, err error) {
	l.works, l.once = new(works), c.once
	l.with = &forgetful{in: l.in, calls: map[string]int{}, method: c.method, nth: c.nth, stall: c.stall}
	if op.prepare != nil {
		if err := op.prepare(ctx, l); err != nil {
			return nil, err
		}
	}
	l.with.arm(true)
	l.s = New(l.config(l.lossy(), op.durable))
	err = op.act(ctx, l)
	l.with.arm(false)
	if err == nil && !l.once {
		l.pass(5 * time.Minute)
	}
	l.s.Close()
	next := New(l.config(l.in, op.durable))
	next.Ready()
	err = errors.Join(err, l.idle(ctx), l.noOrphans(ctx))
	if op.key != "" && err == nil {
		l.s = next
		err = l.runs(ctx, Request{Chat: &chat.Request{Input: "pay"}, Key: op.key, Body: new([32]byte)})
	}
	l.pass(time.Hour)
	next.Close()
	if n := l.works.effects; n > 1 || n < op.least {
		err = errors.Join(err, fmt.Errorf("%d effects", n))
	}
	return l.with.calls, err
}

// noOrphans waits until every process that is gone has left nothing.
func (l *losing) noOrphans(ctx context.Context) error {
	for range 60 {
		ids, err := l.in.Orphans(ctx, 10)
		if err != nil || len(ids) == 0 {
			return err
		}
		time.Sleep(time.Second)
	}
	return errors.New("tasks of a dead process are left")
}

// pass lets time pass, where that costs none.
func (l *losing) pass(d time.Duration) {
	switch {
	case l.brief:
		time.Sleep(d / 60)
	case !l.real:
		time.Sleep(d)
	}
}

// lostCase says which answer is lost.
type lostCase struct {
	method string // empty: no answer is
	nth    int
	stall  time.Duration // for so long all answers are lost that follow
	once   bool          // the process ends at once
}

func (c lostCase) String() string {
	return fmt.Sprintf("%s %d, for %s, once %v", c.method, c.nth, c.stall, c.once)
}

// lostCases returns all cases: each method of the store loses its first answers, alone and with all
// others that follow. calls are how often an operation calls each method.
func lostCases(calls map[string]int, most int) (all []lostCase) {
	for _, method := range slices.Sorted(maps.Keys(calls)) {
		for nth := 1; nth <= min(calls[method], most); nth++ {
			all = append(all, lostCase{method, nth, 0, false}, lostCase{method, nth, lostStall, false}, lostCase{method, nth, lostStall, true})
		}
	}
	return all
}

// Whatever answer of a store in memory is lost, a turn runs once.
func TestLostAnswersRunNothingTwice(t *testing.T) {
	t.Parallel()
	for what, op := range operations() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			one := func(t *testing.T, c lostCase) (calls map[string]int) {
				synctest.Test(t, func(t *testing.T) {
					var err error
					if calls, err = (&losing{in: memory.New(memory.Config{})}).run(t.Context(), op, c); err != nil {
						t.Error(err)
					}
				})
				return calls
			}
			for _, c := range lostCases(one(t, lostCase{}), 2) {
				t.Run(c.String(), func(t *testing.T) { one(t, c) })
			}
		})
	}
}

// leaving is a store whose caller leaves while its first task is stored or changed: it loses the answer.
type leaving struct {
	*memory.Store
	leave func()
}

// ended calls leave, and returns the error of a caller that has left.
func (l *leaving) ended(ctx context.Context, err error) error {
	l.leave()
	return errors.Join(err, context.Cause(ctx))
}

func (l *leaving) CreateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return l.ended(ctx, l.Store.CreateTask(ctx, id, t, ttl))
}

func (l *leaving) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return l.ended(ctx, l.Store.UpdateTask(ctx, id, t, ttl))
}

func (l *leaving) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	there, err := l.Store.PutValue(ctx, key, v, ttl)
	return there, l.ended(ctx, err)
}

// A client that leaves while its turn is stored leaves no task at work behind.
func TestClientLeavesWhileItsTurnIsStored(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "key-of-a-client"} {
		t.Run("key "+key, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				in := &leaving{memory.New(memory.Config{}), cancel}
				s := New(Config{Store: in})
				defer s.Close()
				turn, err := s.Begin(ctx, Request{Chat: &chat.Request{Input: "hi", ConversationID: "conv_1"}, Key: key, Body: new([32]byte), Cancel: func(error) {}})
				if err == nil {
					turn.Before(nowhere{})
					turn.End()
				}
				page, _ := in.Tasks(t.Context(), store.Query{Conversation: "conv_1", Limit: 9})
				for _, left := range page.Tasks {
					if left.State == Working {
						t.Errorf("a task is at work; the turn began with %v", err)
					}
				}
				if key == "" {
					return
				}
				if _, err := in.Value(t.Context(), store.IdempotencyKey("", "", key)); err == nil && len(page.Tasks) == 0 {
					t.Error("the key names a turn that is not there")
				}
			})
		})
	}
}
