package agent

import (
	"strconv"
	"testing"
	"time"
)

// An index finds each key, be there few or many, and a key costs no more when there
// are many: to look through these took minutes.
func TestIndex(t *testing.T) {
	t.Parallel()
	const keys, bound = 200_000, 20 * time.Second
	began := time.Now()
	var x index[int]
	for i := range keys {
		key := strconv.Itoa(i)
		if x.find(key) != nil {
			t.Fatalf("%s is there before it was added", key)
		}
		*x.add(key) = i
		for _, known := range []int{0, i / 2, i} {
			if v := x.find(strconv.Itoa(known)); v == nil || *v != known {
				t.Fatalf("with %d keys that of %d is %v", i+1, known, v)
			}
		}
	}
	if elapsed := time.Since(began); elapsed > bound {
		t.Errorf("%d keys took %v, want at most %v", keys, elapsed, bound)
	}
}
