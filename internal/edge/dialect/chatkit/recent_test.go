package chatkit

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecent()
		key := func(i int) recentKey { return recentKey{"ann", "conv_1", fmt.Sprint(i)} }
		has := func(i int) bool { _, ok := r.get(key(i)); return ok }
		for i := range recentMessages + 1 {
			r.put(key(i), "x")
		}
		if has(0) || !has(1) || !has(recentMessages) {
			t.Errorf("of one message too many: %v %v %v, want the first one gone", has(0), has(1), has(recentMessages))
		}
		time.Sleep(recentLives / 2)
		r.put(key(1), "y")
		time.Sleep(recentLives / 2)
		if input, ok := r.get(key(1)); !ok || input != "y" || has(2) {
			t.Errorf("of what was said again %q, %v; of the rest %v", input, ok, has(2))
		}
		for i := range 5 {
			r.put(key(i), strings.Repeat("x", recentBytes/4))
		}
		if has(1) || !has(4) || r.bytes > recentBytes {
			t.Errorf("of too many bytes: %v %v, %d bytes", has(1), has(4), r.bytes)
		}
		time.Sleep(recentLives)
		if has(4) || r.bytes != 0 || len(r.messages) != 0 || r.order.Len() != 0 {
			t.Errorf("at last there are %d bytes of %d messages", r.bytes, len(r.messages))
		}
	})
}
