package conversation

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Around returns a runner that appends its turns to their conversations, and shows next the earlier
// turns if there is a memory. before are the events of the turn's first part, if a dead process
// emitted them.
func (j *Journal) Around(next stream.Runner, before ...stream.Event) stream.Runner {
	return journalled{j, next, before}
}

// journalled is the result of Journal.Around.
type journalled struct {
	journal *Journal
	next    stream.Runner
	before  []stream.Event
}

// Run implements stream.Runner.
func (r journalled) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (result stream.Result, err error) {
	if req.ConversationID == "" || req.Principal.IsAnonymous() {
		return r.next.Run(ctx, req, sink)
	}
	a := &appending{journal: r.journal, req: *req, began: time.Now()}
	a.listener = listener{Sink: sink, Fold: stream.Fold{Only: stream.Answer | stream.Tools, Max: maxText}}
	if !a.journal.cfg.OmitCalls {
		a.Only |= stream.Payloads
	}
	for _, ev := range r.before {
		a.Add(ev)
	}
	if s := req.Facts.Saving; s != nil {
		a.takeovers = s.Takeovers
	}
	if err := a.beginTurn(ctx); err != nil {
		return stream.Result{}, err
	}
	ended := false
	defer func() {
		if !ended { // a panic: the turn fails
			a.appendTurn(context.WithoutCancel(ctx), &stream.Result{}, stream.NewPanic("lost"))
		}
	}()
	result, err = r.next.Run(ctx, &a.req, &a.listener)
	ended = true
	lost := a.appendTurn(ctx, &result, err)
	result.TurnMessages = nil // it was for this
	if lost != nil && a.listener.err == nil && ctx.Err() == nil {
		if failed := reportFailure(ctx, sink, "The conversation could not be written", lost); err == nil {
			err = failed
		}
	}
	return result, err
}

// appending is a turn of a conversation, from its begin until it is appended.
type appending struct {
	listener
	journal    *Journal
	req        chat.Request // as next gets it
	began      time.Time
	current    *current // nil: the record cannot be read
	takeovers  int
	shownTurns int // turns that models are shown, this one included
}

// conversation returns the name of the turn's conversation.
func (a *appending) conversation() name {
	return name{a.req.Principal.Tenant, a.req.Owner(), a.req.ConversationID}
}

// beginTurn records that the turn runs, and gives the request the earlier turns. If the store is
// unavailable, the turn runs without them.
func (a *appending) beginTurn(ctx context.Context) error {
	j, req := a.journal, &a.req
	own := mark{req.Turn, req.Task, a.began.UnixMilli()}
	var err error
	a.current, err = j.beginTurn(ctx, a.conversation(), req.Input, func(h *header) { h.addRunning(own) })
	if m := j.cfg.Memory; m != nil && !req.HasHistory {
		req.Line = m.clock.Line(req.Location)
		if err == nil {
			err = a.recallTurns(ctx, m)
		}
	}
	req.Record = req.Record || !j.cfg.OmitCalls
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrFull):
		if a.current == nil {
			a.current = &current{name: a.conversation()}
		}
	}
	return reportFailure(ctx, a.Sink, "The conversation could not be read", err)
}

// recallTurns gives the request the line of turns that it follows.
func (a *appending) recallTurns(ctx context.Context, m *Memory) error {
	if a.current.Turns == 0 || a.req.After == chat.AfterStart {
		a.shownTurns = 1
		return nil
	}
	q := query{end: a.req.After, limit: m.cfg.MaxMessages/2 + 1, bare: true}
	if n := a.current.HeadShown; n > 0 && q.end == "" { // older ones have left
		q.limit = min(q.limit, n)
	}
	page, err := a.journal.readLine(ctx, a.current, q)
	if err != nil {
		return err
	}
	records := make([]record, len(page.turns))
	for i := range page.turns {
		records[i] = page.turns[i].forModel(m.cfg.MaxTokens * tokenBytes)
	}
	records = m.newestWithin(records)
	a.req.History = nil
	for i := range records {
		a.req.History = append(a.req.History, records[i].asMessages()...)
	}
	a.shownTurns = len(records) + 1
	return nil
}

// appendTurn appends the turn. A turn that another process has, or that continues later, is
// appended by the process that ends it.
func (a *appending) appendTurn(ctx context.Context, result *stream.Result, err error) error {
	if continuesLater(&a.req, err) || isLost(err) || a.current == nil {
		return nil
	}
	t := &turn{ID: a.req.Turn, Task: a.req.Task, Takeovers: a.takeovers, Began: a.began.UnixMilli(), Ended: time.Now().UnixMilli()}
	if t.ID == "" {
		t.ID = newTurnID()
	}
	if t.Forked = a.req.After != ""; t.Forked && a.req.After != chat.AfterStart {
		t.After = a.req.After
	}
	t.Input, t.ShownTurns = a.req.Input, a.shownTurns
	t.Continues = a.req.Resumed != nil && !a.req.Resumed.TakenOver || a.req.App != nil && len(a.req.App.Continues) > 0
	if !a.req.HasHistory {
		t.At = shownTimeLine(&a.req, result)
	}
	t.fillFrom(&a.listener, result.Reason, causeOf(ctx, err), result.TurnMessages, !a.journal.cfg.OmitCalls)
	if c := result.Checks; c != nil && err == nil { // the events have reported the form of a channel
		t.Markdown = clipText(c.Markdown, maxText)
	}
	lost := a.journal.appendTurn(context.WithoutCancel(ctx), a.current, t)
	if lost != nil {
		zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().
			Str("error_type", string(fault.StoreUnavailable)).AnErr("error_message", lost).Bool("recoverable", true)).Msg("error_occurred")
		a.journal.appendLater(a.current, t)
	}
	return lost
}

// newTurnID returns the id of a turn that is not stored as a task.
func newTurnID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return chat.TurnPrefix + idText.EncodeToString(b[:])
}

// idText writes 26 of [0-9a-v] for 16 bytes.
var idText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// Lost is a turn that ended without a process of its own: its process died, and no other continued
// it.
type Lost struct {
	Tenant, Owner, Conversation string
	Turn, Task, Input           string
	Began                       time.Time
	Takeovers                   int
	Events                      []stream.Event // of its log
	Err                         error          // the reason
	Reason                      stream.FinishReason
}

// AppendLost appends a lost turn, if its conversation exists.
func (j *Journal) AppendLost(ctx context.Context, l Lost) error {
	c, err := j.loadRecord(ctx, name{l.Tenant, l.Owner, l.Conversation})
	if err != nil || c.version == 0 {
		return err
	}
	said := listener{Fold: stream.Fold{Only: stream.Answer | stream.Tools | stream.Payloads, Max: maxText}}
	for _, ev := range l.Events {
		said.Add(ev)
	}
	t := &turn{ID: l.Turn, Task: l.Task, Takeovers: l.Takeovers, Began: l.Began.UnixMilli(), Ended: time.Now().UnixMilli()}
	t.Input = l.Input
	t.fillFrom(&said, l.Reason, l.Err, nil, !j.cfg.OmitCalls)
	return j.appendTurn(ctx, c, t)
}
