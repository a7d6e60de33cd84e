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
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
	"sluice/internal/edge/dialect"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// An EventSource cannot send headers. So its client posts the request first and gets a ticket for a
// GET: it holds the request, sealed, and its sender.

// Tickets seal requests that are sent later. It is safe for concurrent use.
type Tickets interface {
	// Seal makes a ticket. Its error says that it would be too long.
	Seal(text []byte) (string, error)
	// Open returns the content of a ticket that this gateway, or one with the same key, has sealed.
	Open(ticket string) ([]byte, error)
}

const (
	// ticketTime is how long a ticket may begin its turn.
	ticketTime = time.Minute
	// ticketPath is where tickets come from, and streamPath where they go to.
	ticketPath = "/chat/tickets"
	streamPath = "/chat/stream"
)

// ticket is the content of a ticket.
type ticket struct {
	Tenant  string        `json:"t,omitempty"`
	User    string        `json:"u,omitempty"`
	By      string        `json:"b,omitempty"` // the sender, if another one is named
	Scopes  chat.Scopes   `json:"s,omitempty"`
	Class   string        `json:"c,omitempty"`
	Method  access.Method `json:"m,omitempty"` // empty without authentication
	KeyID   string        `json:"k,omitempty"`
	Expires int64         `json:"x,omitempty"` // of the credential, in seconds
	Ends    int64         `json:"e,omitempty"`
	Query   string        `json:"q"`
	Key     string        `json:"i"` // idempotency key of its turn
	Origin  string        `json:"o,omitempty"`
	Until   int64         `json:"z"` // of the ticket, in milliseconds
}

// sealedFor returns a ticket with the query of who.
func sealedFor(who *access.Identity, query url.Values) *ticket {
	t := &ticket{Query: query.Encode(), Until: time.Now().Add(ticketTime).UnixMilli()}
	if who == nil {
		return t
	}
	t.Tenant, t.User, t.Scopes, t.Class = who.Tenant, who.ID, who.Scopes, who.Class
	t.Method, t.KeyID, t.By = who.Method, who.KeyID, who.By
	t.Expires, t.Ends = unixSeconds(who.Expires), unixSeconds(who.Ends)
	return t
}

// unixSeconds is a time in seconds since 1970; 0 if it is zero.
func unixSeconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// fromUnixSeconds is the opposite of unixSeconds.
func fromUnixSeconds(s int64) time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// issuedTo returns the owner of the ticket, or nil without authentication.
func (t *ticket) issuedTo() *access.Identity {
	if t.Method == "" {
		return nil
	}
	return &access.Identity{
		Principal: chat.Principal{Tenant: t.Tenant, ID: t.User, Scopes: t.Scopes, Class: t.Class, By: t.By, KeyID: t.KeyID},
		Method:    t.Method, Expires: fromUnixSeconds(t.Expires), Ends: fromUnixSeconds(t.Ends),
	}
}

// ticketOffice issues tickets, and redeems them.
type ticketOffice struct {
	tickets Tickets // nil redeems no ticket
	tasks   *task.Service
	guard   *guard
	senders *senders
	limits  *limits
	bodies  *bodyReader
	metrics *instruments
}

// addRoutes routes the request for a ticket. It is admitted like the turn that the ticket is for.
func (to *ticketOffice) addRoutes(ro *router) {
	rt := &newRouted(dialect.Route{Path: ticketPath}).Route
	ro.addRoute(http.MethodPost, ticketPath, ruleOf(rt), netHandler(func(w http.ResponseWriter, r *http.Request) error { return to.issueTicket(w, r, rt) }))
}

// issueTicket replies with a ticket for the request in the body. The ticket counts as the request.
func (to *ticketOffice) issueTicket(w http.ResponseWriter, r *http.Request, rt *dialect.Route) error {
	who, err := to.guard.admitRequest(r, rt, nil)
	if err != nil {
		return err
	}
	t, sealed, err := to.sealTicket(w, r, who)
	if err != nil {
		return err
	}
	charged, err := to.limits.chargeRequest(r, principalOf(t.issuedTo()), SpendRequest)
	if err != nil {
		return err
	}
	charged.Headers(w.Header())
	to.metrics.tickets.Inc("issued")
	to.senders.audit.recordEvent(r, "ticket_issued", describeSender(who))
	expires := time.UnixMilli(t.Until).UTC().Format(time.RFC3339Nano)
	return writeJSON(w, http.StatusCreated, issuedTicket{sealed, streamPath + "?" + ticketMark + sealed, expires})
}

// sealTicket returns the ticket for the request in the body, and its text.
func (to *ticketOffice) sealTicket(w http.ResponseWriter, r *http.Request, who *access.Identity) (*ticket, string, error) {
	body, err := to.bodies.readBody(w, r, dialect.MaxBody)
	if err != nil {
		return nil, "", err
	}
	query, key, err := chat.TicketQuery(body)
	to.bodies.releaseBody(body)
	if err != nil {
		return nil, "", err
	}
	t, err := to.newTicket(r, who, query, key)
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, "", err
	}
	sealed, err := to.tickets.Seal(text)
	if err != nil {
		return nil, "", &fault.Error{Type: fault.PayloadTooLarge, Message: "The request is too long for a ticket; send it by POST", Err: err}
	}
	return t, sealed, nil
}

// issuedTicket is the reply of POST /chat/tickets, which web/openapi.yaml documents.
type issuedTicket struct {
	Ticket    string `json:"ticket"`
	URL       string `json:"url"`
	ExpiresAt string `json:"expires_at"`
}

// newTicket returns the ticket of a request, for the one whom it is carried out for.
func (to *ticketOffice) newTicket(r *http.Request, who *access.Identity, query url.Values, key []string) (*ticket, error) {
	own, err := dialect.Key(key, nil)
	if err != nil {
		return nil, err
	}
	if who != nil {
		p, ok := who.For(query.Get("user_id"))
		if !ok {
			return nil, to.senders.refuseUser(r, who)
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

// newNonce returns a random idempotency key, not used before.
func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "ticket_" + hex.EncodeToString(b[:])
}

// describeSender adds the sender to a line of the audit.
func describeSender(who *access.Identity) func(*zerolog.Event) {
	return func(d *zerolog.Event) {
		if who != nil {
			d.Str("method", string(who.Method))
		}
	}
}

// redeemedTicket is the ticket of a request.
type redeemedTicket struct {
	sender *access.Identity // nil without authentication
	route  *dialect.Route   // of the request, which its ticket has paid for
}

// redeemTicket reads the ticket of a request for a stream, if it shows one, and returns the request
// that it holds. Its second result is nil without a ticket. A request that is refused before its
// credential is checked is refused before its ticket is checked.
func (to *ticketOffice) redeemTicket(r *http.Request, rt *dialect.Route) (*http.Request, *redeemedTicket, error) {
	if !to.isTicketed(r, rt) {
		return r, nil, nil
	}
	if err := to.guard.origins.checkOrigin(r); err != nil {
		return r, nil, err
	}
	if _, err := to.guard.notDraining(r, rt, nil); err != nil && !isReconnect(r) {
		return r, nil, err
	}
	t, who, err := to.openTicket(r, ruleOf(rt))
	if err != nil {
		to.metrics.tickets.Inc("refused")
		to.senders.audit.recordEvent(r, "ticket_refused", func(d *zerolog.Event) { d.Str("reason", reasonOf(err)) })
		return r, nil, err
	}
	own := *r
	held := *r.URL
	query, _ := url.ParseQuery(t.Query)
	query.Set("idempotency_key", t.Key)
	held.RawQuery = query.Encode()
	if who != nil {
		logIdentity(r.Context(), who)
	}
	own.URL = &held
	to.metrics.tickets.Inc("redeemed")
	paid := *rt
	paid.Use = dialect.Paid
	return &own, &redeemedTicket{who, &paid}, nil
}

// isTicketed reports whether a request shows a ticket where one is read.
func (to *ticketOffice) isTicketed(r *http.Request, rt *dialect.Route) bool {
	return to.tickets != nil && rt.Reconnects && hasTicket(r)
}

// reasonOf returns why a ticket was refused, for the audit.
func reasonOf(err error) string {
	if refused, ok := errors.AsType[*access.Refused](err); ok {
		return refused.Reason
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return string(f.Type)
	}
	return "form"
}

// openTicket checks the ticket of a request. It also returns the owner of the ticket, or nil
// without authentication.
func (to *ticketOffice) openTicket(r *http.Request, of rule) (*ticket, *access.Identity, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, nil, access.Invalid("form")
	}
	if len(query["ticket"]) > 1 || len(query) > 1 {
		return nil, nil, refuseAlongside(query)
	}
	if to.senders.door != nil && isShown(r) { // else a proxy in front may have asked for it
		return nil, nil, access.Invalid("several")
	}
	text, err := to.tickets.Open(query.Get("ticket"))
	t := new(ticket)
	if err != nil || json.Unmarshal(text, t) != nil {
		return nil, nil, access.Invalid("altered")
	}
	if origin := r.Header.Get("Origin"); origin != "" && origin != t.Origin {
		return nil, nil, access.Invalid("origin")
	}
	who := t.issuedTo()
	if (who == nil) != (to.senders.door == nil) || who != nil && !to.senders.mayStill(who, of) {
		return nil, nil, access.Invalid("credential")
	}
	return t, who, to.inTime(r, t)
}

// inTime refuses a ticket that comes too late to begin its turn, or to go on with another one.
func (to *ticketOffice) inTime(r *http.Request, t *ticket) error {
	isLate := time.Now().UnixMilli() >= t.Until
	turn, _, isKept := eventID(r)
	if to.tasks == nil || !isKept { // the request cannot continue a turn
		if isLate {
			return access.Invalid("late")
		}
		return nil
	}
	own, err := to.ownTurn(r.Context(), t)
	switch {
	case err != nil:
		return err
	case turn == own:
		return nil
	case isLate:
		return access.Invalid("late")
	}
	return access.Invalid("turn")
}

// ownTurn returns the turn that a ticket began. It is empty if the ticket is unused, or was used
// too long ago.
func (to *ticketOffice) ownTurn(ctx context.Context, t *ticket) (string, error) {
	query, _ := url.ParseQuery(t.Query)
	p := chat.Principal{Tenant: t.Tenant, ID: t.User}
	return to.tasks.KeyedTurn(ctx, t.Tenant, p.Owner(query.Get("user_id")), t.Key)
}

// refuseAlongside refuses parameters next to a ticket.
func refuseAlongside(query url.Values) error {
	e := new(chat.ValidationError)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "ticket" || len(query[name]) > 1 {
			e.Add("/"+chat.Clip(name, maxLoggedMethod), &chat.FieldError{Code: chat.CodeNotAllowed, Message: "has no place next to a ticket, which holds the whole request, once"})
		}
	}
	return e
}
