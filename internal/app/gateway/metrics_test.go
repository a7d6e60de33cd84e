package gateway_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/wholetest"
)

// fleeting are the values of /metrics that a busy machine or the date changes.
var fleeting = regexp.MustCompile(`(?m)^(sluice_(?:\w+_seconds(?:_bucket|_sum|_total)|tokens_total|connections_open|events_total\{event="(?:response_delta|thinking)"\})\S* ).*$`)

// changeOf is the time of a breaker's last change in /readyz.
var changeOf = regexp.MustCompile(`("last_state_change":")[^"]*`)

// Dashboards and alerts go by the names, labels, buckets and words of /metrics, and by
// the bytes of /readyz, whichever package keeps the figures.
func TestMetricsAndReadinessKeepTheirText(t *testing.T) {
	t.Parallel()
	r := wholetest.Listen(t, nil)
	r.Ask("Remind me to buy eggs tomorrow at 3pm")
	r.Get("/nowhere")
	_, ready := r.Get("/readyz")
	_, text := r.Get("/metrics")
	got := changeOf.ReplaceAllString(ready, "${1}X") + "\n"
	for line := range strings.Lines(fleeting.ReplaceAllString(text, "${1}X")) {
		if strings.HasPrefix(strings.TrimLeft(line, "# HELPTY"), "sluice_") {
			got += line
		}
	}
	name := filepath.Join("..", "..", "..", "testdata", "metrics.txt")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
