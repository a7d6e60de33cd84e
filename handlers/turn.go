package handlers

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/engine/approval"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// turn is a request that has passed validation.
type turn struct {
	*dialect.Exchange
	route    *dialect.Route
	identity *access.Identity // sender; nil without authentication
	began    time.Time
	frame    stream.Frame
	// noRoom is true from when the store is full for the turn until its client is warned. nil: the
	// store cannot be full.
	noRoom *atomic.Bool
	// The next two are set if the client sends requests again by itself, without a key.
	content     *[32]byte // equal for equal requests; nil for other clients
	contentNote *admittedTurn
	// The next fields are set if the turn is stored.
	stored *task.Turn
	sum    *[32]byte // SHA-256 of the request with Key; nil without a key
	// releaseKey ends the use of Key in the keyring; nil if the keyring does not have it.
	releaseKey func()
	early      *firstReply // what its client gets while it runs; nil: the client waits
	// The next field is set if the turn continues with a person's answer.
	accepted *approval.Accepted
	ticketed bool // it came by a ticket
	// chargedAs is true once the dialect has said the use of a request of dialect.Either.
	chargedAs  bool
	first      bool      // its content has not come before
	charged    Allowance // nil: it is not admitted yet, or nothing limits turns
	sender     *string   // owner of keys who has answered; nil: the turn begins
	askingTurn string    // the kept turn that waited; empty: it was not kept
	question   string    // that was answered
}

// endKey undoes turns.reserveKey.
func (t *turn) endKey() {
	if t.releaseKey != nil {
		t.releaseKey()
	}
}

// claimAnswer uses the answer up, if the turn has one.
func (t *turn) claimAnswer(ctx context.Context) error {
	if t.accepted == nil {
		return nil
	}
	return t.accepted.Claim(ctx)
}

// unclaimAnswer undoes claimAnswer.
func (t *turn) unclaimAnswer() {
	if t.accepted != nil {
		t.accepted.Unclaim()
	}
}

// undoCharge undoes limits.chargeTurn.
func (t *turn) undoCharge() {
	if t.charged != nil {
		t.charged.Cancel()
	}
}

// chargedContext returns the context of a turn, whose calls of models are charged to it.
func (t *turn) chargedContext(ctx context.Context) context.Context {
	if t.charged == nil || t.charged == (nothing{}) {
		return ctx
	}
	turn := chat.TurnOf(ctx)
	turn.Admission = t.charged
	return chat.WithTurn(ctx, turn)
}

// endCharge ends the charge of a turn that is over.
func (t *turn) endCharge() {
	if t.charged != nil {
		t.charged.End()
	}
}

// replyHeader returns the header of the reply. The headers of a turn without a reader are dropped.
func (t *turn) replyHeader(w http.ResponseWriter) http.Header {
	switch {
	case t.early != nil:
		return t.early.header
	case w == nil:
		return http.Header{}
	}
	return w.Header()
}

// outputChain returns the output of the turn's events. They pass the log of a stored turn first,
// then the output of the dialect, then out.
func (t *turn) outputChain(out stream.Output) stream.Output {
	if t.Output != nil {
		out = t.Output(out)
	}
	if t.stored != nil {
		return t.stored.Before(out)
	}
	return out
}

// userFor returns the user that a request names, or "". If names are only labels, only names that
// are given for others count.
func (t *turn) userFor(who *access.Identity) string {
	if t.route.LabelsUsers && !who.ActsForOthers() {
		return ""
	}
	return t.Request.UserID
}

// replayEncoder returns the maker of the encoder for a replayed turn; nil: it cannot be replayed.
func (t *turn) replayEncoder() func(dialect.StoredTurn) stream.Encoder {
	switch {
	case t.Attach && t.RepeatEncoder != nil:
		return t.RepeatEncoder
	case t.Attach:
		return func(dialect.StoredTurn) stream.Encoder { return t.Encoder }
	case t.Form != dialect.Streamed:
		return nil
	}
	return t.route.Resume
}

// isDurable reports whether a turn is a run of a workflow.
func isDurable(req *chat.Request) bool {
	return req.Workflow != "" || req.Resumed != nil && req.Resumed.By == chat.PausedWorkflow
}

// taskRequest returns the request to store a turn. With recalls, agents may read the turn later.
func (t *turn) taskRequest(r *http.Request, recalls bool) task.Request {
	var asked task.Protocol
	if t.route.Dialect != "" {
		asked = task.Protocol{Dialect: t.route.Dialect, Began: t.began.UnixNano(), Facts: t.Facts}
	}
	return task.Request{
		Protocol: asked, Chat: &t.Request, TaskID: t.TaskID, AskingTurn: t.askingTurn, Question: t.question, RequestID: chat.RequestID(r.Context()), Accumulated: t.Accumulated,
		Recall: recalls, Detached: t.Mode != dialect.Attached, Retracts: t.route.Retracts, Durable: isDurable(&t.Request), Key: t.Key, KeyMade: t.KeyMade, Body: t.sum, MessageID: t.MessageID,
		Sender: t.sender,
	}
}

// spentBefore returns the usage that a continued turn reported before it was paused.
func spentBefore(t *turn) chat.Usage {
	if t.Request.Resumed == nil {
		return chat.Usage{}
	}
	return t.Request.Resumed.Usage
}
