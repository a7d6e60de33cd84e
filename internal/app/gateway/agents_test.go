package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/settings"
	"sluice/internal/engine/router"
)

// One of the agents can be looked at by itself; what is not there is a 404, and an
// agent that is named where there are none a 422.
func TestAgentsOverHTTP(t *testing.T) {
	t.Parallel()
	house := router.Spec{Agents: []router.AgentSpec{{ID: "a", Description: "Does a", Tools: []string{"todo"}}, {ID: "b", Name: "Bee", Description: "Does b", Hidden: true, Model: "large"}}}
	with := serveTeam(t, settings.Config{File: settings.File{Path: "sluice.yaml", Team: house}})
	without := serveTeam(t, settings.Config{})
	const (
		a = `{"id":"a","name":"a","description":"Does a","capabilities":[],"examples":[],"kind":"local","routable":true,"available":true,"model":"default","tools":["todo"]}`
		b = `{"id":"b","name":"Bee","description":"Does b","capabilities":[],"examples":[],"kind":"local","routable":false,"available":true,"model":"large","tools":[]}`
	)
	for _, tt := range []struct {
		g            *gateway.Gateway
		method, path string
		status       int
		body         string
	}{
		{with, "GET", "/agents", 200, `{"agents":[` + a + `,` + b + `],"router":{"model":"default","threshold":0.7},"version":"` + with.TeamVersion() + `"}`},
		{with, "GET", "/agents/b", 200, b},
		{with, "GET", "/agents/c", 404, `"error_type":"not_found"`},
		{with, "DELETE", "/agents/b", 405, `"error_type":"method_not_allowed"`},
		{without, "GET", "/agents", 200, `{"agents":[],"version":""}`},
		{without, "GET", "/agents/a", 404, `"error_type":"not_found"`},
		{without, "POST", "/chat/stream", 422, `"code":"unknown_value"`},
		{with, "GET", "/chat/stream?input=x&agent=c", 422, `"code":"unknown_value"`},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(`{"input":"x","agent":"a"}`))
		r.Header.Set("Content-Type", "application/json")
		tt.g.ServeHTTP(w, r)
		if got := w.Body.String(); w.Code != tt.status || !strings.Contains(got, tt.body) {
			t.Errorf("%s %s: %d %s (-want +got):\n%s", tt.method, tt.path, w.Code, got, cmp.Diff(tt.body, got))
		}
	}
	w := httptest.NewRecorder()
	with.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/agents/a", nil))
	if w.Code != http.StatusOK {
		t.Errorf("HEAD: %d", w.Code)
	}
}

func serveTeam(t *testing.T, cfg settings.Config) *gateway.Gateway {
	t.Helper()
	cfg.Config, cfg.Version = faultyConfig(t, "SLUICE_TODO_DB=:memory:\n"), "test"
	g, err := gateway.New(t.Context(), cfg, zerolog.New(io.Discard).Level(zerolog.ErrorLevel), gateway.Seams{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}
