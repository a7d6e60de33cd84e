package tally

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// events counts n events, and returns how many had a line.
func events(t *Tally[string], of string, n int) (lines int) {
	for range n {
		if t.Line(of) {
			lines++
		}
	}
	return lines
}

// writer gets what a Tally writes, on the goroutine of a timer or of Flush.
type writer struct {
	mu  sync.Mutex // guards all
	all []map[string]int
}

func (w *writer) write(counts map[string]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, counts)
}

// got returns what was written since it was last called.
func (w *writer) got() []map[string]int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// Each kind has so many lines in a period, and what has none is written at its end, once.
func TestLinesOfAPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w writer
		tally := New(Config[string]{Lines: 3, Period: time.Minute, Write: w.write})
		check := func(what string, want ...map[string]int) {
			t.Helper()
			if diff := cmp.Diff(want, w.got()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		if a, b := events(tally, "a", 5), events(tally, "b", 3); a != 3 || b != 3 {
			t.Errorf("%d and %d lines, want 3 of each", a, b)
		}
		time.Sleep(59 * time.Second)
		events(tally, "a", 1)
		check("before the end")
		time.Sleep(2 * time.Second)
		check("after a minute", map[string]int{"a": 3})
		time.Sleep(2 * time.Minute)
		check("of quiet minutes")
		if a := events(tally, "a", 3); a != 3 {
			t.Errorf("%d lines of the next minute", a)
		}
		time.Sleep(61 * time.Second)
		if a := events(tally, "a", 4); a != 3 {
			t.Errorf("%d lines of the minute after one in which nothing was held", a)
		}
		tally.Flush()
		check("flushed", map[string]int{"a": 1})
		tally.Flush()
		time.Sleep(2 * time.Minute)
		check("flushed again, and by the timer")
	})
}

// Kinds share their lines; those beyond what is known apart are counted together.
func TestKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w writer
		tally := New(Config[string]{
			Lines: 2, Period: time.Second, Kind: func(of string) string { return of[:1] }, Apart: 2,
			Others: func(of string) string { return "other " + strings.ToUpper(of[:1]) },
			Write:  w.write,
		})
		got := []int{events(tally, "ax", 1), events(tally, "ay", 2), events(tally, "bx", 1), events(tally, "cx", 3), events(tally, "dx", 1), events(tally, "ax", 1)}
		if diff := cmp.Diff([]int{1, 1, 1, 2, 0, 0}, got); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		time.Sleep(time.Second + 1)
		if diff := cmp.Diff([]map[string]int{{"ay": 1, "other C": 1, "other D": 1, "ax": 1}}, w.got()); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	})
}
