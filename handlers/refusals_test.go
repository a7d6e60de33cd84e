package handlers_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
)

// Ten refusals of a second have a line each. The others have one line together, with
// counts, and none is lost, not even at the end.
func TestRefusalsBeyondTenASecondAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Health: buggy()})
		defer stop()
		flood := func(each int) {
			for range each {
				g.do(t, "GET", "/nowhere", "")
				g.do(t, "GET", "/chat/stream", "")
			}
		}
		flood(50)
		g.do(t, "GET", "/readyz", "") // ours to mend: never counted only
		time.Sleep(1500 * time.Millisecond)
		g.Drain()
		flood(20)
		g.Close()
		last := g.log.lines(t)
		if got := last[len(last)-1].Event; got != "requests_refused" {
			t.Errorf("the last line at the end is %s: counts are lost", got)
		}
		g.Close()
		time.Sleep(time.Minute)
		flood(1)

		var counts []map[string]any
		single := map[string]int{}
		for _, ln := range g.log.lines(t) {
			switch ln.Event {
			case "requests_refused":
				counts = append(counts, map[string]any{"level": ln.Level, "details": ln.Details})
			case "error_occurred":
				single[ln.Details["error_type"].(string)]++
			case "request_received": // of a turn that was refused
			default:
				t.Errorf("unexpected line %+v", ln)
			}
		}
		want := []map[string]any{
			{"level": "info", "details": map[string]any{"count": 90.0, "error_types": map[string]any{"not_found": 45.0, "validation_error": 45.0}}},
			{"level": "warn", "details": map[string]any{"count": 30.0, "error_types": map[string]any{"not_found": 15.0, "shutting_down": 15.0}}},
		}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"not_found": 5 + 5 + 1, "validation_error": 5, "shutting_down": 5 + 1, "internal_error": 1}, single); diff != "" {
			t.Errorf("lines of their own (-want +got):\n%s", diff)
		}
	})
}
