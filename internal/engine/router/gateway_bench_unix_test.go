//go:build unix

package router_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/router"
	"sluice/mcpclient"
)

// BenchmarkTeam is a turn of the whole gateway, client included, over a model that
// answers at once: where a file has no agents, by an agent that the request names, and
// routed to one agent and to two. Each takes turns with a plain turn, of which its CPU
// time is a multiple: x-plain. What it may be, docs/performance.md says.
func BenchmarkTeam(b *testing.B) {
	var team router.Spec
	for _, id := range []string{"light-agent", "music-agent", "climate-agent"} {
		team.Agents = append(team.Agents, router.AgentSpec{ID: id, Description: "Looks after something in the house", MaxSteps: 3,
			Capabilities: []string{"switching it on", "switching it off"}, Examples: []string{"Switch it on", "How is it?"}})
	}
	const asked = `{"input":"Dim the lights and play jazz","accumulated":false}`
	for _, c := range []struct {
		name, body, decision string
		team                 router.Spec
	}{
		{"file-without-agents", asked, "", router.Spec{}},
		{"named", strings.Replace(asked, "{", `{"agent":"music-agent",`, 1), "", team},
		{"routed-1", asked, `{"agentId":"light-agent","confidence":0.9}`, team},
		{"routed-2", asked, `{"agentId":"light-agent","confidence":0.9,"additionalAgents":["music-agent"]}`, team},
	} {
		b.Run(c.name, func(b *testing.B) {
			plain := turns(b, settings.Config{}, "", asked)
			wholetest.Alternate(b, plain, turns(b, settings.Config{File: settings.File{Path: "sluice.yaml", Team: c.team}}, c.decision, c.body))
		})
	}
}

// turns starts a gateway over a canned model and returns a function that runs a turn.
func turns(b *testing.B, cfg settings.Config, decision, body string) func() {
	b.Helper()
	cfg.Config, _ = wholetest.Transcript{Archive: txtar.Parse([]byte("-- config --\nSLUICE_TODO_DB=:memory:\n"))}.Config(b)
	cfg.Version = "test"
	with := gateway.Seams{Gemini: wholetest.NewCanned(decision), Servers: []mcpclient.Server{}}
	g, err := gateway.New(b.Context(), cfg, zerolog.New(io.Discard).Level(zerolog.InfoLevel), with)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(g.Close)
	client := http.Client{Transport: testnet.Serve(b, g)}
	return func() {
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://gateway/chat/stream", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !bytes.Contains(got, []byte(`"finish_reason":"stop"`)) {
			b.Fatalf("%v: %s", err, got)
		}
	}
}

// routingModel is how long the model of BenchmarkRouting takes for a decision, and
// routedAtOnce how many turns wait for one at the same time.
const (
	routingModel = 300 * time.Millisecond
	routedAtOnce = 64
)

// late is a model that thinks before it decides.
type late struct{ *wholetest.CannedTeam }

func (l late) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(routingModel) // also before the answer, whose time is not looked at
	return l.CannedTeam.RoundTrip(r)
}

// BenchmarkRouting is what the router adds to the time of its model, with 64 turns at
// once: added-p95-ms, by the turn's own clock.
func BenchmarkRouting(b *testing.B) {
	var team router.Spec
	for _, id := range []string{"light-agent", "music-agent", "climate-agent"} {
		team.Agents = append(team.Agents, router.AgentSpec{ID: id, Description: "Looks after something in the house", MaxSteps: 3})
	}
	cfg, _ := wholetest.Transcript{Archive: txtar.Parse([]byte("-- config --\nSLUICE_TODO_DB=:memory:\n"))}.Config(b)
	with := gateway.Seams{Gemini: late{wholetest.NewCanned(`{"agentId":"light-agent","confidence":0.9}`)}, Servers: []mcpclient.Server{}}
	g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: settings.File{Path: "sluice.yaml", Team: team}, Version: "test"}, zerolog.Nop(), with)
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	client := http.Client{Transport: testnet.Serve(b, g)}
	elapsed := make(chan float64, routedAtOnce)
	var added []float64
	for b.Loop() {
		for range routedAtOnce {
			go func() { elapsed <- routeMillis(b, &client) }()
		}
		for range routedAtOnce {
			added = append(added, <-elapsed-float64(routingModel.Milliseconds()))
		}
	}
	slices.Sort(added)
	b.ReportMetric(added[len(added)*95/100], "added-p95-ms")
	b.ReportMetric(added[len(added)/2], "added-p50-ms")
}

// routeMillis runs a turn and returns the route_ms of its Done; -1 if there is none.
func routeMillis(b *testing.B, client *http.Client) float64 {
	req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://gateway/chat/stream", strings.NewReader(`{"input":"Dim the lights"}`))
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		b.Error(err)
		return -1
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	_, rest, ok := bytes.Cut(got, []byte(`"route_ms":`))
	end := bytes.IndexAny(rest, ",}")
	if err != nil || !ok || end < 0 {
		b.Errorf("%v: %.300s", err, got)
		return -1
	}
	ms, err := strconv.ParseFloat(string(rest[:end]), 64)
	if err != nil {
		b.Error(err)
	}
	return ms
}
