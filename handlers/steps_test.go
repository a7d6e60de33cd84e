package handlers_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// byHeader is a door that makes sure of nothing: it takes the headers' word.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (*access.Identity, error) {
	tenant, id := r.Header.Get("X-Tenant"), r.Header.Get("X-Principal")
	if id == "" {
		return nil, access.Missing()
	}
	scopes, _ := chat.ParseScopes(strings.Fields(scopesOf(r)))
	return &access.Identity{Principal: chat.Principal{Tenant: tenant, ID: id, Scopes: scopes}, Method: access.ByKey}, nil
}

func (byHeader) Knows(r *http.Request) bool { return r.Header.Get("X-Principal") != "" }

func (byHeader) Counts(who *access.Identity) bool { return who.ID != "gone" }

func TestTurnKnowsItsPrincipal(t *testing.T) {
	t.Parallel()
	var got []chat.Principal
	run := runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		got = append(got, req.Principal)
		return sends(&stream.Start{Model: "m"}, &stream.Done{Reason: stream.Stop})(ctx, req, sink)
	})
	serve(t, handlers.Config{Runner: run}).chat(t, "X-Principal: ann")
	g := serve(t, handlers.Config{Runner: run, Door: byHeader{}})
	g.chat(t, "X-Principal: ann", "X-Tenant: t")
	if refused := g.chat(t); refused.status != 401 {
		t.Errorf("status %d", refused.status)
	}
	if diff := cmp.Diff([]chat.Principal{{}, {Tenant: "t", ID: "ann", Scopes: chat.ScopeChat}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Two who choose the same key do not see each other's turns.
func TestIdempotencyKeysBelongToAPrincipal(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Door: byHeader{}})
	for _, tt := range []struct {
		tenant, id, user string
		want             int
	}{
		{"a", "ann", "ann", 200}, {"a", "ann", "ann", 409}, {"a", "ann", "", 409},
		{"b", "ann", "", 200}, {"a", "bob", "", 200}, {"a", "ann", "bob", 403}, {"", "aann", "", 200},
		{"b", "ann", "ann", 409},
	} {
		got := g.do(t, "POST", "/chat/stream", `{"input":"hi"`+named(tt.user)+`}`,
			jsonType, "Idempotency-Key: 01234567", "X-Tenant: "+tt.tenant, "X-Principal: "+tt.id)
		if got.status != tt.want {
			t.Errorf("%+v: status %d: %s", tt, got.status, got.body)
		}
	}
}

// What is decided before the body is read, in this order: each request lacks all that
// is asked for from its step on.
func TestOrderOfAdmission(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Door: byHeader{}})
	all := []string{"Origin: http://evil.test", "Last-Event-ID: a:1", "Content-Type: text/plain"}
	for _, tt := range []struct {
		headers []string
		want    int
	}{
		{all, 403}, {all[1:], 401}, {all[2:], 401},
		{append(all[1:], "X-Principal: ann"), 204}, {append(all[2:], "X-Principal: ann", "X-Scopes: ops"), 403},
		{append(all[2:], "X-Principal: ann"), 415}, {[]string{jsonType, "X-Principal: ann"}, 422},
	} {
		if got := g.do(t, "POST", "/chat/stream", `{}`, tt.headers...); got.status != tt.want {
			t.Errorf("%q: status %d, want %d: %s", tt.headers, got.status, tt.want, got.body)
		}
	}
	g.Drain()
	if got := g.do(t, "POST", "/chat/stream", `{}`, all[0], all[2]); got.status != 503 {
		t.Errorf("while draining: status %d: %s", got.status, got.body)
	}
}

// named returns the member of a body that names a user, if there is one.
func named(user string) string {
	if user == "" {
		return ""
	}
	return `,"user_id":"` + user + `"`
}

// scopesOf returns the scopes that a request claims: chat, unless it says others.
func scopesOf(r *http.Request) string {
	if scopes := r.Header.Get("X-Scopes"); scopes != "" {
		return scopes
	}
	return "chat"
}
