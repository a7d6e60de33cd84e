package handlers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/access"
	"sluice/chat"
	"sluice/dialect"
	"sluice/fault"
)

// An EventSource sends no headers, so who would need one posts the request first and gets a
// ticket, which a GET can show: it holds the request, sealed, and who has sent it.

// Tickets seal requests that are sent later. It is safe for concurrent use.
type Tickets interface {
	// Seal makes a ticket. Its error says that it would be too long.
	Seal(text []byte) (string, error)
	// Open returns what a ticket holds that this gateway, or one with the same key, has sealed.
	Open(ticket string) ([]byte, error)
}

const (
	// ticketTime is how long a ticket may begin its turn.
	ticketTime = time.Minute
	// ticketPath is where tickets come from, and streamPath where they go to.
	ticketPath = "/chat/tickets"
	streamPath = "/chat/stream"
	// ticketMark is what the query of a request with a ticket has in it.
	ticketMark = "ticket="
)

// ticket is what a ticket holds.
type ticket struct {
	Tenant  string        `json:"t,omitempty"`
	User    string        `json:"u,omitempty"`
	Scopes  chat.Scopes   `json:"s,omitempty"`
	Class   string        `json:"c,omitempty"`
	Method  access.Method `json:"m,omitempty"` // empty: nobody was asked
	KeyID   string        `json:"k,omitempty"`
	Expires int64         `json:"x,omitempty"` // of the credential, in seconds
	Ends    int64         `json:"e,omitempty"`
	Query   string        `json:"q"`
	Key     string        `json:"i"` // idempotency key of its turn
	Origin  string        `json:"o,omitempty"`
	Until   int64         `json:"z"` // of the ticket, in milliseconds

	who *access.Identity // what this gateway knows of them, once the ticket is open
}

// sealedFor returns a ticket of what who sends.
func sealedFor(who *access.Identity, query url.Values) *ticket {
	t := &ticket{Query: query.Encode(), Until: time.Now().Add(ticketTime).UnixMilli()}
	if who == nil {
		return t
	}
	t.Tenant, t.User, t.Scopes, t.Class = who.Tenant, who.ID, who.Scopes, who.Class
	t.Method, t.KeyID = who.Method, who.KeyID
	t.Expires, t.Ends = seconds(who.Expires), seconds(who.Ends)
	return t
}

// seconds is a time in seconds since 1970; 0 if it is zero.
func seconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// fromSeconds is the opposite of seconds.
func fromSeconds(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// identity is who has got the ticket; nil: nobody was asked.
func (t *ticket) identity() *access.Identity {
	if t.Method == "" {
		return nil
	}
	return &access.Identity{
		Principal: chat.Principal{Tenant: t.Tenant, ID: t.User, Scopes: t.Scopes, Class: t.Class},
		Method:    t.Method, KeyID: t.KeyID, Expires: fromSeconds(t.Expires), Ends: fromSeconds(t.Ends),
	}
}

// issueTicket replies with a ticket for the request in the body.
func (s *Server) issueTicket(w http.ResponseWriter, r *http.Request, who *access.Identity) error {
	if err := s.gate.vacant(); err != nil {
		return err
	}
	if err := wantType(r, "application/json"); err != nil {
		return err
	}
	body, err := s.readBody(w, r, dialect.MaxBody)
	if err != nil {
		return err
	}
	query, key, err := chat.TicketQuery(body)
	s.buffers.put(body)
	if err != nil {
		return err
	}
	t, err := s.newTicket(r, who, query, key)
	if err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	sealed, err := s.cfg.Tickets.Seal(text)
	if err != nil {
		return &fault.Error{Type: fault.PayloadTooLarge, Message: "The request is too long for a ticket; send it by POST", Err: err}
	}
	s.metrics.tickets.Inc("issued")
	s.audit(r, "ticket_issued", describing(who))
	expires := time.UnixMilli(t.Until).UTC().Format(time.RFC3339Nano)
	return writeJSON(w, http.StatusCreated, issuedTicket{sealed, streamPath + "?" + ticketMark + sealed, expires})
}

// issuedTicket is the reply of POST /chat/tickets, which web/openapi.yaml documents.
type issuedTicket struct {
	Ticket    string `json:"ticket"`
	URL       string `json:"url"`
	ExpiresAt string `json:"expires_at"`
}

// newTicket returns the ticket of a request, for the one whom it is carried out for.
func (s *Server) newTicket(r *http.Request, who *access.Identity, query url.Values, key []string) (*ticket, error) {
	own, err := dialect.Key(key, nil)
	if err != nil {
		return nil, err
	}
	if who != nil {
		p, ok := who.For(query.Get("user_id"))
		if !ok {
			return nil, dialect.ForeignUser()
		}
		named := *who
		named.Principal = p
		who = &named
		query.Del("user_id")
	}
	t := sealedFor(who, query)
	if t.Key = own; own == "" {
		t.Key = newNonce()
	}
	t.Origin = r.Header.Get("Origin")
	return t, nil
}

// newNonce returns an idempotency key that nobody has used.
func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "ticket_" + hex.EncodeToString(b[:])
}

// describing adds who did something to a line of the audit.
func describing(who *access.Identity) func(*zerolog.Event) {
	return func(d *zerolog.Event) {
		if who != nil {
			d.Str("method", string(who.Method))
		}
	}
}

// hasTicket says whether a request shows a ticket.
func hasTicket(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, ticketMark) && r.URL.Query().Has("ticket")
}

// ticketed is a request that came by a ticket.
type ticketed struct {
	who *access.Identity // nil: nobody was asked
	key string
}

// redeem reads the ticket of a request for a stream, if it shows one, and returns the request
// that it holds. Its second result is nil if there is no ticket.
func (s *Server) redeem(r *http.Request, rt *dialect.Route) (*http.Request, *ticketed, error) {
	if s.cfg.Tickets == nil || !rt.Reconnects || !hasTicket(r) {
		return r, nil, nil
	}
	t, err := s.openTicket(r)
	if err != nil {
		s.metrics.tickets.Inc("refused")
		s.audit(r, "ticket_refused", func(d *zerolog.Event) { d.Str("reason", reasonOf(err)) })
		return r, nil, err
	}
	own := *r
	held := *r.URL
	query, _ := url.ParseQuery(t.Query)
	query.Set("idempotency_key", t.Key)
	held.RawQuery = query.Encode()
	if t.who != nil {
		logIdentity(r.Context(), t.who)
	}
	own.URL = &held
	s.metrics.tickets.Inc("redeemed")
	return &own, &ticketed{t.who, t.Key}, nil
}

// reasonOf returns why a ticket was refused, for the audit.
func reasonOf(err error) string {
	if bad, ok := errors.AsType[*access.Refused](err); ok {
		return bad.Reason
	}
	return "form"
}

// openTicket checks the ticket of a request.
func (s *Server) openTicket(r *http.Request) (*ticket, error) {
	query := r.URL.Query()
	if len(query["ticket"]) > 1 || len(query) > 1 {
		return nil, besides(query)
	}
	if isShown(r) {
		return nil, access.Invalid("several")
	}
	text, err := s.cfg.Tickets.Open(query.Get("ticket"))
	t := new(ticket)
	if err != nil || json.Unmarshal(text, t) != nil {
		return nil, access.Invalid("altered")
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != t.Origin {
		return nil, access.Invalid("origin")
	}
	who := t.identity()
	t.who = who
	switch {
	case (who == nil) != (s.cfg.Door == nil), who != nil && !s.cfg.Door.Counts(who):
		return nil, access.Invalid("credential")
	case time.Now().UnixMilli() < t.Until:
		return t, nil
	case !lost(r) || !s.isOwnTurn(r.Context(), r, t):
		return nil, access.Invalid("late")
	}
	return t, nil
}

// isOwnTurn says whether the turn that a client lost is the one that its ticket began.
func (s *Server) isOwnTurn(ctx context.Context, r *http.Request, t *ticket) bool {
	if s.cfg.Tasks == nil {
		return false
	}
	turn, _, ok := eventID(r)
	if !ok {
		return false
	}
	query, _ := url.ParseQuery(t.Query)
	p := chat.Principal{Tenant: t.Tenant, ID: t.User}
	return s.cfg.Tasks.KeyedTurn(ctx, t.Tenant, p.Owner(query.Get("user_id")), t.Key) == turn
}

// besides refuses what stands next to a ticket.
func besides(query url.Values) error {
	e := new(chat.ValidationError)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "ticket" || len(query[name]) > 1 {
			e.Add("/"+chat.Clip(name, maxLoggedMethod), &chat.FieldError{Code: chat.CodeNotAllowed, Message: "has no place next to a ticket, which holds the whole request, once"})
		}
	}
	return e
}

// isShown says whether a request shows a credential in its head.
func isShown(r *http.Request) bool {
	return len(r.Header["Authorization"]) > 0 || len(r.Header["X-Api-Key"]) > 0
}
