package task

import "testing"

// A turn goes forward alone: what another process owns, or the store has the end of, is never
// this one's again, and nothing changes where a step is refused.
func TestLifeGoesForward(t *testing.T) {
	t.Parallel()
	steps := map[string]func(*life) bool{"lose": (*life).lose, "leave off": (*life).leaveOff, "settle": (*life).settle}
	for _, test := range []struct {
		name string
		from life
		want map[string]life // by step; none: it is refused
	}{
		{"running", running, map[string]life{"lose": gone, "leave off": leftOff, "settle": settled}},
		{"gone", gone, map[string]life{"leave off": leftOff}},
		{"left off", leftOff, nil},
		{"settled", settled, nil},
	} {
		for name, step := range steps {
			l := test.from
			want, allowed := test.want[name]
			if !allowed {
				want = test.from
			}
			if done := step(&l); done != allowed || l != want {
				t.Errorf("%s, %s: %v, and it is %d; want %v and %d", test.name, name, done, l, allowed, want)
			}
		}
	}
}
