package servers

import (
	"errors"
	"strings"
	"testing"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
)

// load reads the settings of a machine: those of MCP servers, and the model's key, which they never get.
func load(w configtest.World, args ...string) (config.Config, error) {
	return config.NewLoader(func(c *config.Config) config.Table {
		return config.Table{
			{Name: "model", Settings: []config.Setting{
				config.Key("GEMINI_API_KEY", "GOOGLE_API_KEY", config.Bind[config.Secret](c), "key"),
				config.BaseURL("GEMINI_BASE_URL", new(string), "https://h.test", "any server"),
			}},
			Settings(c),
		}
	}).Load(args, w.Lookup, w.ReadFile)
}

func mustLoad(t *testing.T, w configtest.World, args ...string) config.Config {
	t.Helper()
	c, err := load(w, args...)
	if err != nil {
		t.Fatalf("Load(%q) = %v", args, err)
	}
	return c
}

// listed returns the servers of a machine, which must have no fault.
func listed(t *testing.T, w configtest.World, args ...string) List {
	t.Helper()
	c := mustLoad(t, w, args...)
	return config.Of[List](&c)
}

// faults returns the lines of err, which must be a *config.Error.
func faults(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*config.Error](err)
	if !ok {
		t.Fatalf("error is a %T (%v), want *config.Error", err, err)
	}
	return strings.Split(e.Error(), "\n")
}
