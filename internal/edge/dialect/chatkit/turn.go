package chatkit

import (
	"context"
	"errors"
	"time"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// storeTimeout bounds one call of the Store while a turn is streamed.
const storeTimeout = 2 * time.Second

// titleLength is how many characters of the first message become a thread's title.
const titleLength = 60

// turn is a message of a user with the thread in which it is answered. Until its first event it
// changes nothing.
type turn struct {
	server    *Server
	requestID string
	began     time.Time
	ctx       context.Context // of the Store's calls: it has the request's values, and no end
	owner     string
	thread    Thread
	create    bool         // the thread is new
	message   *userMessage // nil: a message of before is answered again
	itemID    string       // of the message, if it was there before
	input     string
}

// openTurn prepares a turn, and sees to it that there is something to answer.
func (s *Server) openTurn(ctx context.Context, req request) (*dialect.Exchange, error) {
	t := &turn{
		server: s, requestID: chat.RequestID(ctx), began: time.Now(),
		ctx: context.WithoutCancel(ctx), owner: req.owner, message: req.message, itemID: req.itemID,
	}
	var err error
	var earlier []chat.HistoryMessage
	switch req.kind {
	case threadsCreate:
		t.create, t.thread = true, Thread{ID: newID("conv")}
	case threadsAddUserMessage:
		t.thread, err = s.findThread(ctx, req)
	default:
		t.thread = Thread{ID: req.threadID}
		t.input, err = s.earlierInput(ctx, req)
	}
	after := ""
	switch isView := s.cfg.Follows != nil; {
	case err != nil || t.create:
	case !isView:
		earlier, err = s.readEarlier(ctx, req.owner, t.thread.ID, req.itemID)
	case t.message == nil:
		after, err = s.cfg.Follows(ctx, req.owner, t.thread.ID, req.itemID)
		err = storeError(err, noMessage)
	}
	if err != nil {
		return nil, err
	}
	if t.message != nil {
		t.input = t.message.input
	}
	asks := chat.Request{Input: t.input, ConversationID: t.thread.ID, UserID: req.user, Location: req.location, Mute: true}
	asks.HasHistory = s.cfg.Store != nil && s.cfg.Follows == nil
	asks.After = after
	asks.History, asks.Pruning = chat.PruneHistory(earlier)
	k := &keeper{turn: t, enc: &encoder{turn: t}}
	return &dialect.Exchange{
		Request: asks,
		Encoder: k.enc,
		Output:  k.wrapOutput,
		Close:   k.close,
	}, nil
}

// earlierInput returns the model's input of an earlier message.
func (s *Server) earlierInput(ctx context.Context, req request) (string, error) {
	if s.cfg.Store == nil {
		input, ok := s.recent.get(recentKey{req.owner, req.threadID, req.itemID})
		if !ok {
			return "", storeError(ErrNotFound, noMessage)
		}
		return input, nil
	}
	item, err := s.cfg.Store.Item(ctx, req.owner, req.threadID, req.itemID)
	if err == nil && item.Input == "" {
		err = ErrNotFound // the item is not a user's message
	}
	return item.Input, storeError(err, noMessage)
}

// effect is something to be done with the Store.
type effect func(context.Context, Store) error

// keeper is a stream.Output in front of the client. It carries out the effects of encoding, so that
// the encoder stays pure.
type keeper struct {
	stream.Output
	turn *turn
	enc  *encoder
}

// wrapOutput puts the keeper in front of out.
func (k *keeper) wrapOutput(out stream.Output) stream.Output {
	k.Output = out
	return k
}

// Write passes the event on, and carries out its effects.
func (k *keeper) Write(s stream.Stamp, ev stream.Event) error {
	err := k.Output.Write(s, ev)
	if _, ok := ev.(*stream.Start); ok && k.turn.server.cfg.Store == nil {
		k.turn.server.recent.put(recentKey{k.turn.owner, k.turn.thread.ID, k.turn.itemID}, k.turn.input)
	}
	k.carryOut()
	return err
}

// close stores the unfinished answer of a client that left.
func (k *keeper) close() {
	k.enc.storePartial()
	k.carryOut()
}

// carryOut makes the changes that encoding has asked for, in their order.
func (k *keeper) carryOut() {
	for _, f := range k.enc.effects {
		k.turn.applyEffect(f)
	}
	clear(k.enc.effects)
	k.enc.effects = k.enc.effects[:0]
}

// applyEffect makes one change. A store that fails or hangs does not fail the turn: the error is
// reported to OnError. A thread that was deleted meanwhile is not reported.
func (t *turn) applyEffect(do effect) {
	ctx, cancel := context.WithTimeout(t.ctx, storeTimeout)
	defer cancel()
	if err := do(ctx, t.server.cfg.Store); err != nil && !errors.Is(err, ErrNotFound) {
		t.server.cfg.OnError(ctx, err)
	}
}
