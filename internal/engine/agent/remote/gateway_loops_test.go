package remote_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
)

// neighbours are gateways that know each other by their names, as hosts of one network.
type neighbours struct {
	mu    sync.Mutex // guards the fields below
	hosts map[string]http.RoundTripper
	sent  map[string]int // messages to each
}

func (n *neighbours) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	host := n.hosts[r.URL.Hostname()]
	if r.Method == http.MethodPost {
		n.sent[r.URL.Hostname()]++
	}
	n.mu.Unlock()
	if host == nil {
		return nil, fmt.Errorf("%s is not there yet", r.URL.Hostname())
	}
	return host.RoundTrip(r)
}

// gateway starts one that is called name, of this file. The model of its own agents says
// who it is.
func (n *neighbours) gateway(t *testing.T, name, content string) wholetest.Peer {
	t.Helper()
	cfg, file := wholetest.Configured(t, content, map[string]string{"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"})
	model := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"This is %s.\"}]},\"finishReason\":\"STOP\"}]}\n\n", name)
	})
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), gateway.Seams{Gemini: testnet.Serve(t, model), Agents: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	p := wholetest.Peer{Client: http.Client{Transport: testnet.Serve(t, g)}}
	n.mu.Lock()
	n.hosts[name] = p.Client.Transport
	n.mu.Unlock()
	return p
}

// Two gateways are each other's remote agents: each reaches the other's own agent.
func TestEachOthersAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &neighbours{hosts: map[string]http.RoundTripper{}, sent: map[string]int{}}
		const file = `
a2a: {enabled: true}
agents:
  own: {description: Answers here}
  far: {description: Answers there, card: "http://%s/a2a/agents/own/.well-known/agent-card.json", exposed: false}
`
		one, two := n.gateway(t, "one", fmt.Sprintf(file, "two")), n.gateway(t, "two", fmt.Sprintf(file, "one"))
		time.Sleep(time.Minute) // until each has read the other's card
		for _, tt := range []struct {
			of          wholetest.Peer
			agent, want string
		}{
			{one, "own", "This is one."}, {one, "far", "This is two."}, {two, "own", "This is two."}, {two, "far", "This is one."},
		} {
			if got := tt.of.RunTurn(t, `{"input":"hi","agent":"`+tt.agent+`"}`); got.Final != tt.want || got.Reason != "stop" {
				t.Errorf("%s: %+v, want %q", tt.agent, got, tt.want)
			}
		}
	})
}

// Two gateways each know nobody but the other's team, so that a request goes round. It ends
// after a few rounds, long before its time is over, with a failure on each of them.
func TestLoopOfGateways(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &neighbours{hosts: map[string]http.RoundTripper{}, sent: map[string]int{}}
		const file = `
a2a: {enabled: true}
dispatch: {retries: 5}
agents:
  far: {description: Answers there, card: "http://%s"}
`
		one := n.gateway(t, "one", fmt.Sprintf(file, "two"))
		n.gateway(t, "two", fmt.Sprintf(file, "one"))
		time.Sleep(time.Minute)
		began := time.Now()
		status, text := one.Ask(t, http.MethodPost, "/chat/stream", `{"input":"hi"}`)
		if elapsed := time.Since(began); status != http.StatusOK || strings.Count(text, "event: done") != 1 || !strings.Contains(text, `"error_type":"agent_unavailable"`) || elapsed > time.Second {
			t.Errorf("after %v: %d\n%s", elapsed, status, text)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.sent["one"] != 2 || n.sent["two"] != 2 {
			t.Errorf("messages: %v, want two to each", n.sent)
		}
	})
}

// A sender of nonsense about the gateways that a request has come through gets no further.
func TestHopsThatAreNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &neighbours{hosts: map[string]http.RoundTripper{}, sent: map[string]int{}}
		one := n.gateway(t, "one", "a2a: {enabled: true}\nagents:\n  far: {description: Answers there, card: \"http://two\"}\n")
		n.gateway(t, "two", "a2a: {enabled: true}\nagents:\n  own: {description: Answers here}\n")
		time.Sleep(time.Minute)
		for i, hops := range []string{"", "0", "3", "4", "-1", "99999999999999999999", "many", " "} {
			body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + wholetest.MessageOf(fmt.Sprint("m", i), "hi") + `}`
			_, text := one.Ask(t, http.MethodPost, "/a2a", body, "X-Sluice-Hops", hops)
			if further := strings.Contains(text, "This is two."); further != (i < 3 || hops == " ") {
				t.Errorf("hops %q: %s", hops, text)
			}
		}
	})
}
