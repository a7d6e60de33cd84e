// Package chatkit speaks the protocol between OpenAI's ChatKit component and a
// server that hosts its threads itself, as the Python package openai-chatkit 1.6.5
// defines it.
//
// Every request is a POST of {"type","params","metadata"}. The reply is a JSON object. For a turn
// it is a stream of frames of this form only:
//
//	data: {"type":"thread.item.updated",...}
//
// A thread holds items: messages of the user, workflows with the model's thoughts and calls as
// tasks, and answers of the model. An item that is streamed is added, updated and done, and not
// touched any more.
//
// The verbs: read (a member), add (a piece, task or fault), open and close (an item), store (as an
// effect), find (a thread).
package chatkit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
)

// Config describes a Server. Its zero value keeps no history.
type Config struct {
	// Store stores the threads. nil turns the history off: a message is then remembered for ten
	// minutes, for a retry.
	Store Store
	// Follows returns the turn that a retry of an item follows: see chat.Past.After. It is set if
	// Store is a view of conversations: then the gateway shows models the earlier turns. nil: a
	// retry removes the later items, and models are shown the Store's messages.
	Follows func(ctx context.Context, owner, threadID, itemID string) (after string, err error)
	// Listing begins a list, and returns what ends it. Its error is that of too many at once. nil: lists
	// are not counted.
	Listing func() (done func(), err error)
	// OnFeedback receives what users think of items, with the context of Open. May be nil.
	OnFeedback func(context.Context, Feedback)
	// OnError is called when Store fails while a turn is streamed, which its user does not
	// notice. A thread that was deleted meanwhile is not a failure. May be nil.
	OnError func(context.Context, error)
}

// Feedback is a user's verdict on items of a thread.
type Feedback struct {
	UserID   string // empty: not given
	ThreadID string
	ItemIDs  []string
	Kind     string // positive or negative
}

// Server answers the component's requests. It is safe for concurrent use. Use New.
type Server struct {
	cfg    Config
	recent *recent // of a Server without history
}

// New returns a Server.
func New(cfg Config) *Server {
	if cfg.OnFeedback == nil {
		cfg.OnFeedback = func(context.Context, Feedback) {}
	}
	if cfg.OnError == nil {
		cfg.OnError = func(context.Context, error) {}
	}
	return &Server{cfg: cfg, recent: newRecent()}
}

// Path is where the component sends its requests.
const Path = "/chatkit"

// Routes implements dialect.Dialect.
func (s *Server) Routes() []dialect.Route {
	return []dialect.Route{{Dialect: "chatkit", Methods: []string{http.MethodPost}, Path: Path, Use: dialect.Either, Retracts: true, Open: s.openRequest}}
}

// openRequest looks at the key first, because a request that is not a turn takes effect at once.
func (s *Server) openRequest(r *http.Request, body []byte) (*dialect.Exchange, error) {
	key, err := dialect.HeaderKey(r, nil)
	if err != nil {
		return nil, err
	}
	x, err := s.Open(r.Context(), body)
	if err != nil {
		return nil, err
	}
	x.Key, x.Attach = key, true
	return x, nil
}

// Open reads a request; that of a turn has the thread's id as its ConversationID. Until its first
// event a turn has changed nothing. The error is a *chat.ValidationError, a *fault.Error of type
// NotFound, or an error of the Store. ctx serves the Store; an opened turn continues using its
// values after its end.
func (s *Server) Open(ctx context.Context, body []byte) (*dialect.Exchange, error) {
	req, err := readRequest(body)
	if err != nil {
		return nil, err
	}
	who := chat.TurnOf(ctx).Principal
	if _, ok := who.For(req.user); !ok {
		return nil, dialect.ForeignUser()
	}
	req.owner, req.listsNone = ownerOf(who, req.user), who.IsAnonymous()
	if err := dialect.ChargeFor(ctx, req.limitUse()); err != nil {
		return nil, err
	}
	switch req.kind {
	case threadsCreate, threadsAddUserMessage, threadsRetryAfterItem:
		return s.openTurn(ctx, req)
	}
	reply, err := s.replyInTurn(ctx, req)
	if err != nil {
		return nil, err
	}
	return &dialect.Exchange{Reply: dialect.JSON(reply)}, nil
}

// ownerOf returns whose threads a request is about: those of its tenant's user, as tasks and the
// memory of conversations are. Without authentication it is the user_id alone.
func ownerOf(who chat.Principal, user string) string {
	return OwnerOf(who.Tenant, (&chat.Request{Principal: who, UserID: user}).Owner())
}

// OwnerOf returns the owner of threads that stands for an owner in a tenant.
func OwnerOf(tenant, owner string) string {
	if tenant == "" {
		return owner
	}
	return tenant + "\x00\x00" + owner // a begin that other owners cannot have
}

// storeError converts a Store's error. A thing that does not exist gives a NotFound with the
// message.
func storeError(err error, message string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return &fault.Error{Type: fault.NotFound, Message: message, Err: err}
	}
	return fmt.Errorf("chatkit store: %w", err)
}

const (
	noThread  = "There is no such thread; it may have expired. Start a new one"
	noMessage = "This message is not remembered any more; send it again"
)
