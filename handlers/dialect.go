package handlers

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"unicode/utf8"

	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// The handlers leave reading to functions of their own: an open stream keeps the frames of its
// callers on its stack. That has room for them in 8 KB, but would otherwise grow to 16
// (docs/performance.md).

// entrance reads turns from the requests of a protocol, and hands each to the part that serves it.
type entrance struct {
	tickets *ticketOffice
	guard   *guard
	senders *senders
	limits  *limits
	bodies  *bodyReader
	answers *answers
	readers *readers
	turns   *turns
	hasKeys bool // the store remembers keys
}

// serveRoute routes the paths of a protocol.
func (en *entrance) serveRoute(ro *router, rt *routed) {
	ro.addProtocolRoute(rt, netHandler(en.answerRequest(&rt.Route)))
}

// answerRequest serves a route: decode, validate, decide, run, stream.
func (en *entrance) answerRequest(rt *dialect.Route) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		t, err := en.openTurn(w, r, rt)
		if t == nil {
			return err
		}
		if t.Approval != nil {
			err = en.answers.acceptAnswer(r, t)
		}
		if err == nil && t.Follow != nil {
			err = en.readers.followStream(w, r, t)
		} else if err == nil {
			err = en.turns.serveTurn(w, r, t)
		}
		if replay, ok := errors.AsType[*task.Replay](err); ok {
			err = en.readers.replayUsedKey(w, r, t, replay)
		}
		if err != nil {
			err = &refusedTurn{err, utf8.RuneCountInString(t.Request.Input)}
		}
		if err != nil && t.Refuse != nil {
			return &worded{err, t.Refuse}
		}
		if rt.Reconnects && isRepetition(err) {
			return replyNoContent(w)
		}
		return err
	}
}

// openTurn reads the turn of a request. It returns nil without a turn: the error says why, or the
// reply was given. A dialect's Open may take effect at once, so everything else about the request
// is checked before.
func (en *entrance) openTurn(w http.ResponseWriter, r *http.Request, rt *dialect.Route) (*turn, error) {
	t := &turn{began: chat.TurnOf(r.Context()).Began, route: rt}
	r, by, err := en.tickets.redeemTicket(r, rt)
	if err != nil {
		return nil, err
	}
	if isReconnect(r) {
		return nil, en.readers.serveReconnect(w, r, rt, by)
	}
	who, err := en.admitRequest(r, rt, by)
	if err != nil {
		return nil, err
	}
	body, err := en.readBody(w, r, rt)
	if err != nil {
		return nil, err
	}
	t.identity = who
	r = en.limits.withCharge(sentBy(r, who), t)
	if t.Exchange, err = rt.Open(asGet(r), body); err != nil {
		return nil, &refusedTurn{err, inputLength(r, body)}
	}
	if by != nil {
		t.Request.Tools, t.ticketed = chat.ToolsAll, true // it was posted
	}
	if err := en.senders.bindPrincipal(r, t); err != nil {
		return nil, err
	}
	if t.Key != "" && en.hasKeys {
		t.sum = checksum(r, body, t.Keyed)
	}
	if rt.Repeats != nil && t.Key == "" {
		t.content = contentOf(r, body, &t.Request)
	}
	if t.Reply != nil {
		en.limits.chargeReply(r, t)
		writeReply(w, t.Reply)
		return nil, nil
	}
	return t, nil
}

// admitRequest returns the sender of a request that the guard admits. by is its ticket, or nil.
func (en *entrance) admitRequest(r *http.Request, rt *dialect.Route, by *redeemedTicket) (*access.Identity, error) {
	if by != nil {
		return en.guard.admitRequest(r, by.route, by.sender)
	}
	return en.guard.admitRequest(r, rt, nil)
}

// asGet returns the GET of the same path for a HEAD, and any other request itself.
func asGet(r *http.Request) *http.Request {
	if r.Method != http.MethodHead {
		return r
	}
	get := r.WithContext(r.Context())
	get.Method = http.MethodGet
	return get
}

// readBody reads the body. It returns nil for a route without one.
func (en *entrance) readBody(w http.ResponseWriter, r *http.Request, rt *dialect.Route) ([]byte, error) {
	if rt.NoBody {
		return nil, en.bodies.dropBody(w, r)
	}
	return en.bodies.readBody(w, r, rt.MaxBody)
}

// checksum returns the SHA-256 of keyed, or of path, query and body if keyed is nil.
func checksum(r *http.Request, body, keyed []byte) *[32]byte {
	if keyed != nil {
		sum := sha256.Sum256(keyed)
		return &sum
	}
	h := sha256.New()
	_, _ = h.Write([]byte(r.URL.Path + "?" + r.URL.RawQuery + "\n"))
	_, _ = h.Write(body)
	return (*[32]byte)(h.Sum(nil))
}
