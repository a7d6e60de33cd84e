package keys

import (
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/edge/access"
	"sluice/internal/turn/chat"
)

func TestRenew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ana, _ := newKey("ana")
		ana.Tenant = "acme"
		shop, _ := newKey("shop")
		shop.Scopes = []string{"chat", "act_as"}
		off, _ := newKey("off")
		off.Disabled = true
		late, _ := newKey("late")
		late.Expires = Moment(time.Now().Add(time.Minute))
		f := newFixture(t, ana, shop, off, late)
		time.Sleep(time.Minute)
		who := func(e Entry, tenant, user string) *access.Identity {
			return &access.Identity{Principal: chat.Principal{Tenant: tenant, ID: user, KeyID: e.ID}}
		}
		forBob := who(shop, "", "bob")
		forBob.By = "shop"
		byAna := who(ana, "acme", "bob")
		byAna.By = "ana"
		for name, tt := range map[string]struct {
			id   *access.Identity
			want bool
		}{
			"as it was":            {who(ana, "acme", "ana"), true},
			"another tenant":       {who(ana, "", "ana"), false},
			"another user":         {who(ana, "acme", "bob"), false},
			"a backend for a user": {forBob, true},
			"a user for another":   {byAna, false},
			"a backend as another": {who(shop, "", "bob"), false},
			"a backend itself":     {who(shop, "", "shop"), true},
			"disabled":             {who(off, "", "off"), false},
			"expired":              {who(late, "", "late"), false},
			"unknown":              {who(Entry{ID: "aaaaaaaaaa"}, "", "ana"), false},
		} {
			if got := f.Renew(tt.id); got != tt.want || (tt.id.Revoked != nil) != tt.want {
				t.Errorf("%s: %v, with a way to ask %v", name, got, tt.id.Revoked != nil)
			}
		}
		id := who(ana, "acme", "ana")
		id.Scopes = chat.ScopeChat | chat.ScopeOps
		f.Renew(id)
		if id.Scopes != chat.ScopeChat {
			t.Errorf("the key has the scopes %v, and its identity %v", chat.ScopeChat, id.Scopes)
		}
		f.write(fileOf(shop))
		f.Look()
		if !id.Revoked() {
			t.Error("a key that is gone still counts")
		}
	})
}
