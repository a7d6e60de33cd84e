package loadtest

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the gateway is asked.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		var mu sync.Mutex
		var inputs []string
		keys := map[string]bool{}
		rep := inBubble(t, Config{
			Method: method, Clients: 1, Turns: 4, Inputs: []string{"one & \"two\"", "three"}, Accumulated: false,
			Header: http.Header{"Authorization": {"Bearer x"}, "Host": {"chat.example"}},
		}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			defer mu.Unlock()
			if r.Method != method || r.URL.Path != "/chat/stream" || r.Header.Get("Authorization") != "Bearer x" || r.Host != "chat.example" {
				t.Errorf("%s %s for %s, %v", r.Method, r.URL, r.Host, r.Header)
			}
			if method == http.MethodPost {
				inputs = append(inputs, r.Header.Get("Content-Type")+" "+string(body))
			} else {
				q := r.URL.Query()
				inputs = append(inputs, q.Get("input")+" "+q.Get("accumulated"))
				keys[q.Get("idempotency_key")] = true
			}
			play(good())(w, r)
		})
		wantOutcome(t, rep, outcome{class: done}, 4)
		one, two := `application/json {"input":"one & \"two\"","accumulated":false}`, `application/json {"input":"three","accumulated":false}`
		if method == http.MethodGet {
			one, two = `one & "two" false`, `three false`
			if len(keys) != 4 || keys[""] {
				t.Errorf("keys %v, want one for each turn", keys)
			}
		}
		if diff := cmp.Diff([]string{one, two, one, two}, inputs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", method, diff)
		}
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	good := Config{URL: address, Clients: 1, Turns: 1, Inputs: []string{"hi"}}
	for name, change := range map[string]func(*Config){
		"Clients or Rate must": func(c *Config) { c.Clients = 0 },
		"either Clients":       func(c *Config) { c.Rate = 1 },
		"Turns or Duration":    func(c *Config) { c.Turns = 0 },
		"no input":             func(c *Config) { c.Inputs = nil },
		"POST or GET":          func(c *Config) { c.Method = "PUT" },
		"http:// or https://":  func(c *Config) { c.URL = "localhost:8080" },
		"must not hold":        func(c *Config) { c.URL = "http://localhost/?a=b" },
	} {
		c := good
		change(&c)
		if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}

// More streams than files is said before it begins, and not counted as a fault of
// the gateway.
func TestTooFewFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cfg   Config
		limit int
		ok    bool
	}{
		{Config{Clients: 100}, 1024, true},
		{Config{Clients: 1000}, 1024, false},
		{Config{Rate: 1, Duration: time.Second}, 1024, false}, // 1000 at once, unless something else is said
		{Config{Rate: 1, MaxInFlight: 10}, 1024, true},
		{Config{Clients: 1000}, 0, true}, // not known
	} {
		err := tt.cfg.withDefaults().checkFiles(tt.limit)
		if (err == nil) != tt.ok {
			t.Errorf("%+v, %d: %v", tt.cfg, tt.limit, err)
		}
	}
}
