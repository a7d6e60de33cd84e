package health_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/health"
)

// reported is a part that reports itself.
type reported struct{ health.Status }

func (r reported) Check() health.Status { return r.Status }

func TestAbsentRegistryHasNoParts(t *testing.T) {
	t.Parallel()
	var r *health.Registry
	r.Add(reported{health.Session{}})
	if got := r.Check(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestPartsAreReportedInTheirOrder(t *testing.T) {
	t.Parallel()
	var r health.Registry
	r.Add(reported{health.Breaker{Service: "gemini", State: health.Open, FailureCount: 3, RetryAfter: 1999999 * time.Nanosecond}},
		reported{health.Breaker{Service: "mcp:a", State: health.Closed}}, reported{health.Breaker{Service: "mcp:b", State: health.HalfOpen}})
	r.Add(reported{health.Session{Server: "a", Connected: true, Tools: 2}}, reported{health.Session{Server: "b"}})
	var got []string
	for _, s := range r.Check() {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(s.Name(), " ", s.OK(), " ", string(text)))
	}
	want := []string{
		`gemini false {"service":"gemini","state":"open","failure_count":3,"retry_after_ms":1,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0}`,
		`mcp:a true {"service":"mcp:a","state":"closed","failure_count":0,"retry_after_ms":0,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0}`,
		`mcp:b false {"service":"mcp:b","state":"half-open","failure_count":0,"retry_after_ms":0,"last_failure_time":null,"last_state_change":null,"consecutive_successes":0}`,
		`a true {"server":"a","connected":true,"tools":2}`,
		`b false {"server":"b","connected":false,"tools":0}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What is slow, new or warned of is no failure. What does not answer, is full or has old keys is one.
func TestPartsThatHaveFailed(t *testing.T) {
	t.Parallel()
	issuers := func(states ...health.KeysState) (all []health.Issuer) {
		for _, s := range states {
			all = append(all, health.Issuer{State: s})
		}
		return all
	}
	for _, tt := range []struct {
		part health.Status
		name string
		ok   bool
	}{
		{health.Model{Key: "fast", Breaker: health.Open}, "fast", true}, // its breaker reports for itself
		{health.Model{Key: "fast", Breaker: health.Closed, MissingKey: "GROQ_API_KEY"}, "fast", false},
		{health.Store{State: health.Available, Warnings: []string{"it forgets"}}, "store", true},
		{health.Store{State: health.Unavailable}, "store", false},
		{health.Store{State: health.Full}, "store", false},
		{health.Store{}, "store", false},
		{health.Auth{}, "auth", true},
		{health.Auth{Rejected: true}, "auth", false},
		{health.Auth{Issuers: issuers(health.KeysFresh, health.KeysFresh)}, "auth", true},
		{health.Auth{Issuers: issuers(health.KeysFresh, health.KeysStale)}, "auth", false},
		{health.Auth{Issuers: issuers(health.KeysUnavailable)}, "auth", false},
	} {
		if tt.part.Name() != tt.name || tt.part.OK() != tt.ok {
			t.Errorf("%+v: %s, %t", tt.part, tt.part.Name(), tt.part.OK())
		}
	}
}
