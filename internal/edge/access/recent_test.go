package access

import (
	"math/rand/v2"
	"testing"
)

func TestRecentForgetsWhatWasNotUsed(t *testing.T) {
	t.Parallel()
	r := NewRecent[int, int](10)
	for i := range 100 {
		r.Put(i, -i)
		if i > 0 { // used all the time
			if v, ok := r.Get(0); !ok || v != 0 {
				t.Fatalf("0 is forgotten after %d others", i)
			}
		}
		if n := r.Len(); n > 10 {
			t.Fatalf("it has %d entries", n)
		}
	}
	if v, ok := r.Get(99); !ok || v != -99 {
		t.Errorf("the last one is %d, %v", v, ok)
	}
	if _, ok := r.Get(50); ok {
		t.Error("one that was not used is still there")
	}
	r.Delete(0)
	r.Delete(99)
	if _, ok := r.Get(0); ok {
		t.Error("it has what was deleted")
	}
}

// Whatever is done to it, it agrees with a map as far as it has something, and is no larger
// than it may be.
func TestRecentAgreesWithAMap(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	r, all := NewRecent[int, int](8), map[int]int{}
	for i := range 10_000 {
		key := random.IntN(20)
		switch random.IntN(4) {
		case 0:
			r.Delete(key)
			delete(all, key)
		case 1, 2:
			r.Put(key, i)
			all[key] = i
		default:
			if got, ok := r.Get(key); ok && got != all[key] {
				t.Fatalf("%d is %d, want %d", key, got, all[key])
			}
		}
		if r.Len() > 8 {
			t.Fatalf("it has %d entries", r.Len())
		}
		if got, ok := r.Get(key); ok && got != all[key] {
			t.Fatalf("%d is %d, want %d", key, got, all[key])
		}
	}
}
