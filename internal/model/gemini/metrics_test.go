package gemini

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/metrics"
)

// outcomes returns how many attempts were counted, by outcome. Each has a duration too.
func outcomes(t *testing.T, r *metrics.Registry) map[string]int {
	t.Helper()
	families, err := r.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	counted, timed := map[string]int{}, map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "sluice_model_attempts_total":
				counted[m.GetLabel()[0].GetValue()] = int(m.GetCounter().GetValue())
			case "sluice_model_attempt_seconds":
				timed[m.GetLabel()[0].GetValue()] = int(m.GetHistogram().GetSampleCount())
			}
		}
	}
	if diff := cmp.Diff(counted, timed); diff != "" {
		t.Errorf("(-counted +timed):\n%s", diff)
	}
	return counted
}

func wantOutcomes(t *testing.T, r *metrics.Registry, want map[string]int) {
	t.Helper()
	if diff := cmp.Diff(want, outcomes(t, r)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}
