package health_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"sluice/telemetry/health"
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
		`gemini false {"service":"gemini","state":"open","failure_count":3,"retry_after_ms":1}`,
		`mcp:a true {"service":"mcp:a","state":"closed","failure_count":0,"retry_after_ms":0}`,
		`mcp:b false {"service":"mcp:b","state":"half-open","failure_count":0,"retry_after_ms":0}`,
		`a true {"server":"a","connected":true,"tools":2}`,
		`b false {"server":"b","connected":false,"tools":0}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
