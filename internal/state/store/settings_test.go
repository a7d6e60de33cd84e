package store_test

import (
	"strings"
	"testing"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/state/store"
)

// What is set of the store is in its part, and the password in no log. A location that has a
// fault counts as one: nothing else is at fault for the want of a store.
func TestSettings(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]struct {
		kind  store.Kind
		on    bool
		fault string
	}{
		"":                               {store.None, false, ""},
		"none":                           {store.None, false, ""},
		"memory":                         {store.Memory, true, ""},
		"redis://me:password-9@h.test/1": {store.Redis, true, ""},
		"disk":                           {"unknown", true, "SLUICE_STORE: "},
	} {
		var cfg *config.Config
		w := configtest.World{Env: map[string]string{"SLUICE_STORE": at, "SLUICE_STORE_PREFIX": "p:", "SLUICE_STORE_REQUIRED": "true"}}
		loaded, err := config.NewLoader(func(c *config.Config) config.Table {
			cfg = c
			return config.Table{store.Settings(c)}
		}).Load(nil, w.Lookup, w.ReadFile)
		got := config.Of[store.Config](cfg)
		if got.At.Kind != want.kind || got.On() != want.on || got.Prefix != "p:" || !got.Required {
			t.Errorf("%s: got %+v", at, got)
		}
		if (err == nil) != (want.fault == "") || err != nil && !strings.HasPrefix(err.Error(), want.fault) {
			t.Errorf("%s: %v", at, err)
		}
		if hidden := strings.Join(loaded.Secrets(), " "); strings.Contains(at, "@") && hidden != "password-9" {
			t.Errorf("%s: %q is hidden", at, hidden)
		}
	}
	if (store.Config{}).On() {
		t.Error("there is a store where nothing is set")
	}
}
