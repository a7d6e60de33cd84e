package peers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/sim/geminisim"
	demo "sluice/internal/sim/offline"
)

// gemini is a simulated Gemini API on loopback.
type gemini struct {
	*geminisim.Server
	url string
}

// scripted serves a script (see geminisim.ParseScript). A request that the real API
// would refuse, or that the script did not expect, fails the test; so the schemas
// that a peer's tools have are judged as the real API judges them.
func scripted(t testing.TB, script string) *gemini {
	t.Helper()
	sim := simulator(t, geminisim.Config{Script: parse(t, script)})
	return &gemini{Server: sim, url: serve(t, sim)}
}

// offline serves the offline model, which knows todo phrases, without the pauses
// that it makes in the gateway.
func offline(t testing.TB) *gemini {
	t.Helper()
	sim := simulator(t, geminisim.Config{Model: demo.Model{}})
	return &gemini{Server: sim, url: serve(t, sim)}
}

func parse(t testing.TB, script string) *geminisim.Script {
	t.Helper()
	parsed, err := geminisim.ParseScript(script)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// simulator returns a simulator whose complaints fail the test.
func simulator(t testing.TB, cfg geminisim.Config) *geminisim.Server {
	t.Helper()
	sim := geminisim.New(cfg)
	t.Cleanup(func() {
		for _, f := range sim.Failures() {
			t.Errorf("Gemini: %s", f)
		}
	})
	return sim
}

// byMarker serves many scripts at once: a request goes to the one whose marker
// stands in its body. Markers must not be parts of one another.
func byMarker(t testing.TB, scripts map[string]string) *gemini {
	t.Helper()
	return byMarkerAs(t, geminisim.Config{}, scripts)
}

// byMarkerAs is byMarker with simulators that are cfg but for their scripts.
func byMarkerAs(t testing.TB, cfg geminisim.Config, scripts map[string]string) *gemini {
	t.Helper()
	sims := map[string]*geminisim.Server{}
	for marker, script := range scripts {
		cfg.Script = parse(t, script)
		sims[marker] = simulator(t, cfg)
	}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the gateway has left
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		for marker, sim := range sims {
			if strings.Contains(string(body), marker) {
				sim.ServeHTTP(w, r)
				return
			}
		}
		http.Error(w, "no marker", http.StatusBadRequest)
	}))
	return &gemini{url: url}
}

// env points a gateway at the simulator, with names and values added.
func (g *gemini) env(more ...string) map[string]string {
	return with(map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": g.url}, more...)
}

func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
