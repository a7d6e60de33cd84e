package handlers_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/chat"
	"sluice/fault"
	"sluice/handlers"
	"sluice/stream"
)

// byHeader makes sure of nothing: it takes the header's word.
func byHeader(r *http.Request) (chat.Principal, error) {
	tenant, id := r.Header.Get("X-Tenant"), r.Header.Get("X-Principal")
	if id == "" {
		return chat.Principal{}, &fault.Error{Type: fault.OriginRefused, Message: "Who are you?"}
	}
	return chat.Principal{Tenant: tenant, ID: id}, nil
}

func TestTurnKnowsItsPrincipal(t *testing.T) {
	t.Parallel()
	var got []chat.Principal
	run := runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		got = append(got, req.Principal)
		return sends(&stream.Start{Model: "m"}, &stream.Done{Reason: stream.Stop})(ctx, req, sink)
	})
	serve(t, handlers.Config{Runner: run}).chat(t, "X-Principal: ann")
	g := serve(t, handlers.Config{Runner: run, Authenticate: byHeader})
	g.chat(t, "X-Principal: ann", "X-Tenant: t")
	if refused := g.chat(t); refused.status != 403 {
		t.Errorf("status %d", refused.status)
	}
	if diff := cmp.Diff([]chat.Principal{{}, {Tenant: "t", ID: "ann"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Two who choose the same key do not see each other's turns.
func TestIdempotencyKeysBelongToAPrincipal(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Authenticate: byHeader})
	for _, tt := range []struct {
		tenant, id, user string
		want             int
	}{
		{"a", "ann", "u", 200}, {"a", "ann", "u", 409},
		{"b", "ann", "u", 200}, {"a", "bob", "u", 200}, {"a", "ann", "v", 200}, {"", "aann", "u", 200},
		{"b", "ann", "u", 409},
	} {
		got := g.do(t, "POST", "/chat/stream", `{"input":"hi","user_id":"`+tt.user+`"}`,
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
	g := serve(t, handlers.Config{Authenticate: byHeader})
	all := []string{"Origin: http://evil.test", "Last-Event-ID: a:1", "Content-Type: text/plain"}
	for _, tt := range []struct {
		headers []string
		want    int
	}{
		{all, 403}, {all[1:], 204}, {all[2:], 415}, {[]string{jsonType}, 403},
		{[]string{jsonType, "X-Principal: ann"}, 422},
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
