// Package conversation remembers the turns of a conversation: each turn is shown the turns before
// it. A Memory wraps the runner of an agent or a team:
//
//	stream.Runner ── Memory ── the runner of an agent or a team
//	                    └───── a list in a store
//
// A conversation is of a tenant, a user and an id. A request that comes with a history of
// its own is its client's business: for it nothing is read, and nothing written.
package conversation

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Defaults of Config.
const (
	DefaultTTL         = 24 * time.Hour
	DefaultMaxMessages = 50
	DefaultMaxTokens   = 8000
)

// Config describes a Memory. Store is required.
type Config struct {
	Store store.Lists
	// Location is the time zone of requests without one; nil: UTC.
	Location *time.Location
	Spec
}

// Memory remembers conversations. It is safe for concurrent use. Use New.
type Memory struct {
	cfg   Config
	clock chat.Clock
}

// New returns a Memory.
func New(cfg Config) *Memory {
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
	}
	if cfg.MaxMessages == 0 {
		cfg.MaxMessages = DefaultMaxMessages
	}
	if cfg.MaxTokens == 0 {
		cfg.MaxTokens = DefaultMaxTokens
	}
	return &Memory{cfg: cfg, clock: chat.Clock{Zone: cfg.Location}}
}

// Around returns a runner that shows the earlier turns to next, and remembers its answer. before
// are the events of the turn's first part, if a dead process emitted them: the memory begins with
// them.
func (m *Memory) Around(next stream.Runner, before ...stream.Event) stream.Runner {
	return runner{m, next, before}
}

// Forget forgets a conversation of an owner: chat.Request.Owner.
func (m *Memory) Forget(ctx context.Context, tenant, owner, conversation string) error {
	return m.cfg.Store.DeleteList(ctx, store.MemoryKey(tenant, owner, conversation))
}

// loadHistory returns the newest turns, as far as they keep the bounds, as messages; and how many they
// are.
func (m *Memory) loadHistory(ctx context.Context, key string) (history []chat.Message, n int, err error) {
	items, err := m.cfg.Store.List(ctx, key, 0, 0)
	if err != nil || len(items) == 0 {
		return nil, 0, err
	}
	var turns []record
	for _, item := range items {
		if r, ok := readRecord(item); ok {
			turns = append(turns, r)
		}
	}
	if n := len(items) - len(turns); n > 0 {
		zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().Int("turns", n)).Msg("memory_damaged")
	}
	turns = m.newestWithin(turns)
	for i := range turns {
		history = append(history, turns[i].asMessages()...)
	}
	return history, len(turns), nil
}

// newestWithin returns the newest turns that keep the bounds: whole turns leave first, in blocks
// (chat.Bounds.First). Turns that were left out when the newest turn began stay out, as the store
// does not keep all turns from the first on. If the last turn alone is too long, calls are left out
// with their results, and then its texts are cut.
func (m *Memory) newestWithin(turns []record) []record {
	if n := len(turns); n > 0 && turns[n-1].ShownTurns > 0 {
		turns = turns[max(0, n-turns[n-1].ShownTurns):]
	}
	if len(turns) == 0 {
		return nil
	}
	sizes := make([][2]int, len(turns))
	for i := range turns {
		sizes[i][0], sizes[i][1] = turns[i].countSize()
	}
	first := chat.Bounds{Messages: m.cfg.MaxMessages, Length: m.cfg.MaxTokens}.First(len(turns), func(i int) (int, int) { return sizes[i][0], sizes[i][1] })
	turns = turns[first:]
	if len(turns) == 1 {
		turns = []record{m.shortenTurn(turns[0])}
	}
	return turns
}

// shortenTurn makes one turn keep the bounds.
func (m *Memory) shortenTurn(r record) record {
	for {
		messages, tokens := r.countSize()
		switch {
		case messages <= m.cfg.MaxMessages && tokens <= m.cfg.MaxTokens:
			return r
		case len(r.Steps) > 0:
			r.Steps = r.Steps[1:]
		default: // each text gets the room that the other one does not need, and half in any case
			room := m.cfg.MaxTokens * tokenBytes
			r.Input, r.Answer = clipText(r.Input, max(room/2, room-len(r.Answer))), clipText(r.Answer, max(room/2, room-len(r.Input)))
			return r
		}
	}
}

// appendTurn adds a turn.
func (m *Memory) appendTurn(ctx context.Context, key string, r *record) error {
	// One turn more than can be shown exceeds the bound, and so a block is left out.
	bounds := store.Bounds{Items: m.cfg.MaxMessages/2 + 1, Bytes: maxBytes + m.cfg.MaxTokens*4*tokenBytes}
	data := r.encode()
	if len(data) > bounds.Bytes { // because of signatures, as they do not count as tokens
		r.Steps = nil
		data = r.encode()
	}
	return m.cfg.Store.PushList(ctx, key, data, bounds, m.cfg.TTL)
}

// maxBytes is the room that a conversation may have in the store, besides its tokens in JSON.
const maxBytes = 256 << 10

// runner is the result of Around.
type runner struct {
	memory *Memory
	next   stream.Runner
	before []stream.Event
}

// Run implements stream.Runner.
func (r runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	if req.ConversationID == "" || req.HasHistory || req.Principal.IsAnonymous() {
		return r.next.Run(ctx, req, sink)
	}
	m := r.memory
	key := store.MemoryKey(req.Principal.Tenant, req.Owner(), req.ConversationID)
	history, turns, err := m.loadHistory(ctx, key)
	if err != nil {
		if err := reportFailure(ctx, sink, "The conversation's memory could not be read", err); err != nil {
			return stream.Result{}, err
		}
	}
	own := *req
	own.History, own.Record = history, !m.cfg.OmitCalls
	own.Line = m.clock.Line(req.Location)
	said := &listener{Sink: sink, Fold: stream.Fold{Only: stream.Answer | stream.Tools, Max: m.cfg.MaxTokens * tokenBytes}}
	for _, ev := range r.before {
		said.Add(ev)
	}
	result, err := r.next.Run(ctx, &own, said)
	if continuesLater(req, err) {
		return result, err
	}
	turn := said.recordOf(req.Input, &result, causeOf(ctx, err))
	turn.At, turn.ShownTurns = shownTimeLine(&own, &result), turns+1
	result.TurnMessages = nil // it was for this
	if lost := m.appendTurn(context.WithoutCancel(ctx), key, &turn); lost != nil && said.err == nil && ctx.Err() == nil {
		if failed := reportFailure(ctx, sink, "The conversation's memory could not be written", lost); err == nil {
			err = failed
		}
	}
	return result, err
}

// shownTimeLine returns the line of the time that stood with the input. A paused turn showed its line to
// the model when it began, so its State has the line.
func shownTimeLine(req *chat.Request, result *stream.Result) string {
	if req.Resumed != nil {
		for i := range result.TurnMessages {
			if line := result.TurnMessages[i].Line; line != "" {
				return line
			}
		}
	}
	return req.Line
}

// causeOf returns why a turn failed. An error after the end of ctx has the cause of that end.
func causeOf(ctx context.Context, err error) error {
	if end := fault.Cause(ctx); err != nil && end != nil {
		return end
	}
	return err
}

// reportFailure emits that a store failed. The turn continues.
func reportFailure(ctx context.Context, sink stream.Sink, message string, err error) error {
	if ctx.Err() != nil {
		return nil // the turn ends, and says why
	}
	zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().
		Str("error_type", string(fault.StoreUnavailable)).AnErr("error_message", err).Bool("recoverable", true)).Msg("error_occurred")
	if err := sink.Emit(stream.NewError(&fault.Error{Type: fault.StoreUnavailable, Message: message, Service: "store", Err: err}, false)); err != nil {
		return err
	}
	return sink.Flush()
}
