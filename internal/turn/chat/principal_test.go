package chat_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
)

// One person has one owner, by whichever way they came; what somebody claims to be is never
// what somebody has proved.
func TestOwnerAndCaller(t *testing.T) {
	t.Parallel()
	ann := chat.Principal{Tenant: "acme", ID: "ann", Scopes: chat.ScopeChat}
	backend := chat.Principal{Tenant: "acme", ID: "bot", Scopes: chat.ScopeChat | chat.ScopeActAs}
	nobody := chat.Principal{ID: chat.AnonymousID, Scopes: chat.ScopeChat | chat.ScopeActAs}
	for _, tt := range []struct {
		name  string
		by    chat.Principal
		user  string
		owner string
		want  chat.Caller
	}{
		{"nobody", chat.Principal{}, "", "", chat.Caller{}},
		{"a claim", chat.Principal{}, "ann", "ann", chat.Caller{User: "ann", Key: "ann"}},
		{"a credential", ann, "", "\x00ann", chat.Caller{Tenant: "acme", User: "ann", Key: "\x00ann"}},
		{"a credential and its user", ann, "ann", "\x00ann", chat.Caller{Tenant: "acme", User: "ann", Key: "\x00ann"}},
		{"a credential and a label", ann, "bob", "\x00ann", chat.Caller{Tenant: "acme", User: "ann", Key: "\x00ann"}},
		{"a backend for ann", backend, "ann", "\x00ann", chat.Caller{Tenant: "acme", User: "ann", Key: "\x00ann"}},
		{"a backend for itself", backend, "", "\x00bot", chat.Caller{Tenant: "acme", User: "bot", Key: "\x00bot"}},
		{"anonymous", nobody, "", "\x00\x00", chat.Caller{Key: "\x00\x00"}},
		{"anonymous with a label", nobody, "ann", "\x00\x00", chat.Caller{User: "ann", Key: "\x00\x00"}},
	} {
		req := chat.Request{Principal: tt.by, UserID: tt.user}
		if got := req.Owner(); got != tt.owner {
			t.Errorf("%s: owner %q, want %q", tt.name, got, tt.owner)
		}
		if diff := cmp.Diff(tt.want, req.Caller()); diff != "" {
			t.Errorf("%s: Caller (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestWhomARequestIsCarriedOutFor(t *testing.T) {
	t.Parallel()
	ann := chat.Principal{Tenant: "acme", ID: "ann", Scopes: chat.ScopeChat}
	backend := chat.Principal{Tenant: "acme", ID: "bot", Scopes: chat.ScopeChat | chat.ScopeActAs}
	nobody := chat.Principal{ID: chat.AnonymousID, Scopes: chat.ScopeChat | chat.ScopeActAs}
	for _, tt := range []struct {
		by   chat.Principal
		user string
		want string // empty with by's ID not: refused
	}{
		{chat.Principal{}, "ann", ""}, {chat.Principal{}, "", ""},
		{ann, "", "ann"}, {ann, "ann", "ann"}, {ann, "bob", "refused"}, {ann, "Ann", "refused"},
		{backend, "", "bot"}, {backend, "ann", "ann"}, {backend, "bot", "bot"},
		{nobody, "", chat.AnonymousID}, {nobody, "ann", "refused"},
	} {
		got, ok := tt.by.For(tt.user)
		if !ok {
			got.ID = "refused"
		}
		if got.ID != tt.want || ok && got.Tenant != tt.by.Tenant {
			t.Errorf("%+v for %q: %+v, want %q", tt.by, tt.user, got, tt.want)
		}
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	set, unknown := chat.ParseScopes([]string{"ops", "chat", "CHAT", "openid", "chat:readonly"})
	if set != chat.ScopeChat|chat.ScopeReadOnly|chat.ScopeOps || !cmp.Equal(unknown, []string{"CHAT", "openid"}) {
		t.Errorf("%v, unknown %q", set, unknown)
	}
	if got := set.String(); got != "chat chat:readonly ops" {
		t.Errorf("String: %q", got)
	}
	all, unknown := chat.ParseScopes(chat.ScopeNames())
	if all != chat.ScopeAdmin<<1-1 || unknown != nil {
		t.Errorf("all scopes: %b, unknown %q", all, unknown)
	}
	for _, tt := range []struct {
		by     chat.Principal
		wanted chat.Scopes
		want   bool
	}{
		{chat.Principal{}, chat.ScopeAdmin, true}, // nobody was asked
		{chat.Principal{ID: "ann"}, chat.ScopeChat, false},
		{chat.Principal{ID: "ann", Scopes: chat.ScopeOps}, chat.ScopeChat | chat.ScopeReadOnly, false},
		{chat.Principal{ID: "ann", Scopes: chat.ScopeReadOnly}, chat.ScopeChat | chat.ScopeReadOnly, true},
	} {
		if got := tt.by.May(tt.wanted); got != tt.want {
			t.Errorf("%+v may %v: %v", tt.by, tt.wanted, got)
		}
	}
}
