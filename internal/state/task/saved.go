// This file goes on with a turn whose process is gone, or has let go of it: with the request, and
// from where the turn stood when that was saved last.

package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// savedTurn is what was saved of a turn.
type savedTurn struct {
	request  []byte
	retracts bool
	head     []byte              // of its log
	states   map[string][][]byte // by part
	text     int                 // of the answer, as far as the states know of it
	claims   int                 // since the last state
	all      int                 // claims
	size     int
}

// readSaved reads the items of a turn's list. Its error wraps errSaved.
func readSaved(items [][]byte) (*savedTurn, error) {
	s := &savedTurn{states: map[string][][]byte{}}
	for _, item := range items {
		for line := range bytes.Lines(item) {
			var l savedLine
			if err := json.Unmarshal(line, &l); err != nil {
				return nil, fmt.Errorf("%w: %w", errSaved, err)
			}
			if err := s.add(&l); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// add adds the next line.
func (s *savedTurn) add(l *savedLine) error {
	switch {
	case l.Version != 0 && (l.Version != savedVersion || s.request != nil):
		return fmt.Errorf("%w: it has version %d, this is version %d", errSaved, l.Version, savedVersion)
	case l.Version != 0:
		s.request, s.retracts, s.head = l.Request, l.Retracts, l.Head
	case s.request == nil || l.TooLarge:
		return fmt.Errorf("%w: something of it is missing", errSaved)
	case l.Claim != "":
		s.claims++
		s.all++
	default:
		if s.size += len(l.State); s.size > maxSaved || l.Text < 0 || len(l.State) == 0 {
			return fmt.Errorf("%w: a state of it", errSaved)
		}
		s.states[l.Part] = append(s.states[l.Part], l.State)
		s.text, s.claims = l.Text, 0
	}
	return nil
}

// plainRun is the rest of a turn of no workflow. It is a Run.
type plainRun struct {
	*savedTurn
	turns   Turns
	request *chat.Request
	items   int            // of the list that was read
	before  []stream.Event // those of the log, and what TakeOver has added
	lacks   []stream.Event // the latter
	frame   *stream.Frame  // nil: not prepared
	lost    error          // why it cannot go on; nil: it can
}

// openTurn returns the rest of a turn; nil: nothing was saved of it.
func (s *Service) openTurn(ctx context.Context, turn string) (*plainRun, error) {
	if s.cfg.Turns == nil {
		return nil, nil
	}
	items, err := s.cfg.Store.List(ctx, store.TurnKey(turn), 0, 0)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	r := &plainRun{turns: s.cfg.Turns, items: len(items)}
	if r.savedTurn, err = readSaved(items); err == nil {
		r.request, err = chat.ReadStored(r.savedTurn.request)
	}
	if err != nil {
		r.savedTurn, r.lost = new(savedTurn), err
	}
	return r, nil
}

// TakeOver implements Run: text of an answer that was not complete is taken back, what delegates
// had begun is ended, for they begin again.
func (r *plainRun) TakeOver(emitted []stream.Event) []stream.Event {
	said := stream.Fold{Only: stream.Answer | stream.Agents | stream.Tools}
	for _, ev := range emitted {
		said.Add(ev)
	}
	var lacks []stream.Event
	for _, run := range slices.Backward(said.Runs) {
		if run.Success != nil || run.Role != stream.RoleDelegate {
			continue
		}
		for _, c := range said.Calls {
			if c.SessionID == run.SessionID && c.Outcome == "" {
				lacks = append(lacks, &stream.ToolUnknown{Call: c.Call, Message: "The outcome of this call is not known"})
			}
		}
		lacks = append(lacks, endOf(run, fault.From(cancelled()), run.Began))
	}
	if text := said.Text(); len(text) > r.text && (r.text == 0 || !r.ofSeveral()) {
		lacks = append(lacks, &stream.Reset{Accumulated: text[:r.text], Reason: stream.ResetTakenOver, Runes: utf8.RuneCountInString(text[r.text:])})
	}
	r.before = append(emitted, lacks...)
	return lacks
}

// ofSeveral says that parts of the turn were saved each by itself: then what of the text does not
// count only those know who go on with it, unless nothing was out when something was saved last. Of an
// answer that is held back nothing is out before its end.
func (r *plainRun) ofSeveral() bool {
	return len(r.states) > 0 && len(r.states[""]) == 0 && len(r.states[chat.SavedDelivery]) == 0
}

// TimeOut implements Run: nobody is waited for.
func (*plainRun) TimeOut(time.Time) {}

// Unseen implements Run.
func (r *plainRun) Unseen() bool { return len(r.states) == 0 }

// judge says why a turn cannot go on whose log has these events, the last of them that long ago.
func (r *plainRun) judge(kept stored, silent time.Duration) error {
	switch {
	case r.lost != nil:
		return r.lost
	case r.claims >= maxClaims:
		return fmt.Errorf("%w: %d processes have ended with it", errSaved, r.claims)
	case silent > maxSilence:
		return fmt.Errorf("%w: it has been silent for %s", errSaved, silent.Round(time.Second))
	case len(kept.logged) == 0 && !r.Unseen():
		return fmt.Errorf("%w: its log is gone", errSaved)
	}
	said := stream.Fold{}
	for _, logged := range kept.logged {
		said.Add(logged.Event)
	}
	switch {
	case said.Size < r.text && !r.ofSeveral():
		return fmt.Errorf("%w: its log lacks text", errSaved)
	case (said.Size > r.text || said.Size > 0 && r.ofSeveral()) && !r.retracts:
		return fmt.Errorf("%w: who reads it cannot be shown that text does not count any more", errSaved)
	case said.Size > r.text && resets(kept) >= stream.MaxResets:
		return fmt.Errorf("%w: its answer was begun again too often", errSaved)
	}
	return nil
}

// resets returns how often text was taken back.
func resets(kept stored) (n int) {
	for _, logged := range kept.logged {
		if _, ok := logged.Event.(*stream.Reset); ok {
			n++
		}
	}
	return n
}

// Frame implements Run.
func (r *plainRun) Frame(context.Context, string, string) (*stream.Frame, *chat.Request) {
	whole := *r.frame
	said := stream.Fold{Only: stream.Answer}
	for _, ev := range r.before {
		said.Add(ev)
	}
	whole.Said, whole.Runner = said.Text(), once{r.frame.Runner, r.before}
	return &whole, r.request
}

// once runs the rest of a turn, and leaves out what the turn has emitted already.
type once struct {
	stream.Runner
	before []stream.Event
}

// Run implements stream.Runner.
func (o once) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	k := &known{Sink: sink, calls: map[string]bool{}, agents: map[string]bool{}}
	for _, ev := range o.before {
		k.has(ev)
	}
	result, err := o.Runner.Run(ctx, req, k)
	result.Usage.Estimated = true // what the process before has used since it saved last is not known
	return result, err
}

// known is a sink that leaves out the begin and the end of what its turn has begun or ended.
type known struct {
	stream.Sink
	route  bool
	parts  int             // of an answer in the form of its channel
	calls  map[string]bool // by id: whether they have ended
	agents map[string]bool // by id: whether they have ended
}

// has notes an event. It says whether it is news.
func (k *known) has(ev stream.Event) bool {
	switch e := ev.(type) {
	case *stream.Route:
		before := k.route
		k.route = true
		return !before
	case *stream.ToolStarted:
		_, before := k.calls[e.ID]
		if !before {
			k.calls[e.ID] = false
		}
		return !before
	case *stream.ChannelMessage:
		before := k.parts
		k.parts = max(before, e.Sequence)
		return e.Sequence > before
	case *stream.AgentRun:
		return e.Role == stream.RoleDelegate || k.hasAgent(e)
	}
	if end, ok := ev.(stream.ToolEnd); ok {
		id := end.End().Call.ID
		before := k.calls[id]
		k.calls[id] = true
		return !before
	}
	return true
}

// hasAgent notes an event of an agent.
func (k *known) hasAgent(e *stream.AgentRun) bool {
	over, begun := k.agents[e.AgentID]
	switch {
	case over:
		return false
	case e.Status == stream.AgentStarted:
		if !begun {
			k.agents[e.AgentID] = false
		}
		return !begun
	case e.Success != nil:
		k.agents[e.AgentID] = true
	}
	return true
}

// Emit implements stream.Sink.
func (k *known) Emit(ev stream.Event) error {
	if !k.has(ev) {
		return nil
	}
	return k.Sink.Emit(ev)
}

// takeOverTurn goes on with a turn of no workflow. It returns false if that is to be closed.
func (s *Service) takeOverTurn(ctx context.Context, task store.Task, t *Turn, run *plainRun, kept stored) (bool, error) {
	if task.Cancel {
		return false, nil
	}
	silent, err := s.silence(ctx, task.Turn)
	if err != nil {
		return true, err
	}
	why := run.judge(kept, silent)
	// A turn that was claimed before did begin: its owner died once more before its first event.
	begins := len(kept.logged) == 0 && run.all == 0
	if age := time.Since(t.kept.doc.began(t.id, task.Created)).Abs(); why == nil && begins && age > s.mayLackLog() {
		why = fmt.Errorf("%w: it lacks a log after %s", errSaved, age.Round(time.Second))
	}
	if why == nil {
		why = run.prepare(t, kept)
	}
	if errors.Is(why, ErrNotHere) {
		return true, why
	}
	if why != nil {
		s.cfg.Log.Warn().Dict("details", zerolog.Dict().Str("task_id", t.task).AnErr("cause", why)).Msg("turn_not_continued")
		return false, nil
	}
	leave, err := s.place(t.HandOver)
	if err != nil { // another process may have one, or this one later
		return true, ErrNotHere
	}
	t.leave = leave
	guard, err := s.claimTurn(ctx, task, t, run, kept)
	if err != nil {
		leave()
		return !errors.Is(err, stream.ErrGrammar), err
	}
	s.claimed(task, t.takeovers, "continued")
	return true, s.goOnWith(t, run, guard, s.isUnwanted(ctx, t.task))
}

// isUnwanted reports whether the end of a task was asked for, or the task was removed, before it was
// claimed. If the store does not answer, the keeper stops the task's turn later.
func (s *Service) isUnwanted(ctx context.Context, id string) (stop bool) {
	check := func(ctx context.Context) error {
		now, err := s.cfg.Store.Task(ctx, id)
		if stop = errors.Is(err, store.ErrNotFound) || err == nil && now.Cancel; stop {
			s.turns.stopTurn(id)
		}
		return err
	}
	if err := check(ctx); errors.Is(err, store.ErrUnavailable) {
		s.store.checkLater(nil, check)
	}
	return stop
}

// prepare finds out whether the turn can go on here.
func (r *plainRun) prepare(t *Turn, kept stored) (err error) {
	for _, logged := range kept.logged {
		r.before = append(r.before, logged.Event)
	}
	r.lacks = r.TakeOver(r.before)
	req := r.request
	req.Task, req.Turn, req.Facts.Retracts = t.task, t.id, r.retracts
	r.frame, err = r.turns.Continue(req, r.states, r.before)
	return err
}

// claimTurn makes the turn this process's, and adds to its log what that lacks. It returns a guard
// that has observed all of the turn.
func (s *Service) claimTurn(ctx context.Context, task store.Task, t *Turn, run *plainRun, kept stored) (*stream.Guard, error) {
	t.durable, t.identity.saves, t.takeovers, t.log.saved.size = false, true, run.all+1, run.size
	t.trace.Recorder = kept.record(record.New(s.cfg.Trace, t.id, t.kept.doc.began(t.id, task.Created)))
	c := &closing{n: gap(kept.last)}
	sink := &switching{c}
	guard := stream.NewGuard(sink)
	for _, e := range kept.logged {
		_ = guard.Emit(e.Event)
		c.at = max(c.at, e.At)
	}
	c.open = true
	for _, ev := range run.lacks {
		t.said.note(ev)
		t.trace.Observe(c.at, ev)
		if err := guard.Emit(ev); err != nil {
			return nil, err
		}
	}
	line, _ := json.Marshal(savedLine{Claim: s.holder.Owner})
	err := s.claimTask(ctx, t.task, t, task, c, kept.last, store.Side{Key: store.TurnKey(t.id), Item: line})
	if err == nil {
		err = s.checkClaimed(ctx, t, run)
	}
	if err != nil {
		return nil, err
	}
	for _, ev := range run.lacks {
		if reset, ok := ev.(*stream.Reset); ok && run.frame.OnReset != nil {
			run.frame.OnReset(t.work, reset)
		}
	}
	t.began, t.log.at, t.log.n = time.Now().Add(-c.at), kept.last, kept.last
	if len(c.data) > 0 {
		t.log.at, t.log.n = c.n, c.n
	}
	guard.TakenOver()
	sink.next = stream.NewStamperAt(t.Before(nobody{}), t.began, c.n)
	if len(kept.logged) == 0 {
		t.log.pending = append(append(t.log.room(), run.head...), '\n')
		_ = guard.Emit(&stream.Start{ConversationID: run.request.ConversationID, UserID: run.request.UserID, Model: run.frame.Model})
	}
	return guard, nil
}

// checkClaimed returns an error if the turn that this process has claimed saved more than run has read.
// Its owner was alive, and may make a call of which run does not know. Then the keeper reads it again.
func (s *Service) checkClaimed(ctx context.Context, t *Turn, run *plainRun) error {
	later, err := s.cfg.Store.List(ctx, store.TurnKey(t.id), run.items, 0)
	if err == nil && len(later) != 1 { // one is the claim
		err = store.ErrConflict
	}
	if err != nil {
		s.turns.suspend(t.task)
	}
	return err
}

// giveBack gives the place of the turn back.
func (t *Turn) giveBack() {
	if t.leave != nil {
		t.leave()
	}
}

// claimed logs and counts that this process goes on with a turn of another one, or closes it.
func (s *Service) claimed(task store.Task, takeovers int, outcome string) {
	why := "dead"
	if isLeft(task.Holder) {
		why = "handed_over"
	}
	s.counts.claims.Inc(why, outcome)
	s.cfg.Log.Info().Dict("details", zerolog.Dict().Str("owner", task.Owner).Int64("epoch", task.Epoch).Int("takeovers", takeovers).
		Str("turn_id", task.Turn).Str("outcome", outcome)).Msg("turn_claimed")
}

// How far a turn is followed: so many processes may fail with it one after the other, and so long
// it may have been silent.
const (
	maxClaims  = 5
	maxSilence = 10 * time.Minute
)
