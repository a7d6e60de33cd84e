package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
)

func TestLocations(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want store.Location
	}{
		{"", store.Location{Kind: store.None}},
		{"none", store.Location{Kind: store.None}},
		{"memory", store.Location{Kind: store.Memory}},
		{"sqlite:state.db", store.Location{Kind: store.SQLite, Path: "state.db"}},
		{"sqlite:/var/lib/a b.db", store.Location{Kind: store.SQLite, Path: "/var/lib/a b.db"}},
		{"redis://host", store.Location{Kind: store.Redis, Addrs: []string{"host:6379"}}},
		{"redis://u:p%40w@host:7000/3", store.Location{Kind: store.Redis, Addrs: []string{"host:7000"}, User: "u", Password: "p@w", DB: 3}},
		{"rediss://:pw@[::1]:7000/", store.Location{Kind: store.Redis, Addrs: []string{"[::1]:7000"}, TLS: true, Password: "pw"}},
		{"unix:///run/r.sock", store.Location{Kind: store.Redis, Addrs: []string{"/run/r.sock"}, Socket: true}},
		{"unix://u:p@/run/r.sock?db=2", store.Location{Kind: store.Redis, Addrs: []string{"/run/r.sock"}, Socket: true, User: "u", Password: "p", DB: 2}},
		{"redis+sentinel://a:1,b/main", store.Location{Kind: store.Redis, Addrs: []string{"a:1", "b:26379"}, Master: "main"}},
		{"redis+sentinel://u:p@a,b:2/main/5", store.Location{Kind: store.Redis, Addrs: []string{"a:26379", "b:2"}, Master: "main", User: "u", Password: "p", DB: 5}},
	}
	for _, tt := range tests {
		got, err := store.ParseLocation(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

// Each form that is documented is read, at least as far as its address, and the fault of any other names all.
func TestFormsOfLocations(t *testing.T) {
	t.Parallel()
	for _, form := range store.Forms() {
		if got, err := store.ParseLocation(form); errors.Is(err, store.ErrScheme) || err == nil && got.Kind == "" {
			t.Errorf("%s: %+v, %v", form, got, err)
		}
	}
	const want = "must be none, memory, sqlite:PATH, redis://, rediss://, unix:// or redis+sentinel://"
	if _, err := store.ParseLocation("mysql://host"); !errors.Is(err, store.ErrScheme) || err.Error() != want {
		t.Errorf("another form: %v, want %s", err, want)
	}
}

func TestFaultyLocationsDoNotShowTheirPassword(t *testing.T) {
	t.Parallel()
	tests := []string{
		"redis", "Memory", "redis:canary", "mysql://u:canary@host", "sqlite:", "sqlite://x", "sqlite::memory:",
		"redis://", "redis://:6379", "redis://u:canary@", "redis://u:canary@host:x", "redis://u:canary@host:0", "redis://u:canary@host:70000",
		"redis://u:canary@host/x", "redis://u:canary@host/-1", "redis://u:canary@host/1024", "redis://u:canary@host/1?x=1", "redis://u:canary@host#f",
		"redis://u:canary%zz@host", "redis://u:can ary@ho st", "unix://u:canary@/", "unix://host/path", "unix:///x?db=a", "unix:///x?db=1&db=2", "unix:///x?password=canary",
		"redis+sentinel://u:canary@a,b", "redis+sentinel://u:canary@/main", "redis+sentinel://u:canary@a,,b/main", "redis+sentinel://a:x/main", "redis+sentinel://a/main/x",
	}
	for _, text := range tests {
		got, err := store.ParseLocation(text)
		if err == nil {
			t.Errorf("%s: read as %+v, want a fault", text, got)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the fault shows the password: %v", text, err)
		}
		if diff := cmp.Diff(store.Location{}, got); err != nil && diff != "" {
			t.Errorf("%s: a fault with a location: %s", text, diff)
		}
	}
}
