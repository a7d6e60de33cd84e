package task

import "testing"

// A turn goes forward alone: what another process owns, or the store has the end of, is never
// this one's again, and nothing changes where a step is refused.
func TestEndGoesForward(t *testing.T) {
	t.Parallel()
	steps := map[string]func(*endState) bool{
		"doubt": (*endState).doubt, "deny": (*endState).deny, "finish": (*endState).finish,
		"abandon": (*endState).abandon, "suspend": (*endState).suspend, "hand over": (*endState).handOver,
	}
	for _, test := range []struct {
		name string
		from endState
		want map[string]endState // by step; none: it is refused
	}{
		{"running", endRunning, map[string]endState{
			"doubt": endUnknown, "finish": endFinished, "abandon": endAbandoned, "suspend": endSuspended, "hand over": endHandedOver,
		}},
		{"unknown", endUnknown, map[string]endState{
			"deny": endRunning, "finish": endFinished, "abandon": endAbandoned, "suspend": endSuspended,
		}},
		{"abandoned", endAbandoned, map[string]endState{"suspend": endSuspended}},
		{"suspended", endSuspended, nil},
		{"handed over", endHandedOver, nil},
		{"finished", endFinished, nil},
	} {
		for name, step := range steps {
			e := test.from
			want, allowed := test.want[name]
			if !allowed {
				want = test.from
			}
			if done := step(&e); done != allowed || e != want {
				t.Errorf("%s, %s: %v, and it is %d; want %v and %d", test.name, name, done, e, allowed, want)
			}
		}
	}
}
