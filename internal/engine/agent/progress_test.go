package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/tool"
)

// reports makes a tool that reports n times, every so often, and then ends.
func reports(n int, every time.Duration) func(context.Context, tool.Call) (tool.Result, error) {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		report := tool.ReportOf(ctx)
		for i := range n {
			report(tool.Progress{Progress: float64(i + 1), Total: float64(n)})
			time.Sleep(every)
		}
		return result(c, "ok"), nil
	}
}

func (o *outcome) progress() (events []string) {
	for _, ev := range o.events {
		if strings.HasPrefix(ev, "progress ") {
			events = append(events, ev)
		}
	}
	return events
}

// The first report is reported at once, then the latest of each 200 ms.
func TestProgressIsThrottled(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		answers: []answer{wants(call("a", "add", "{}")), says("x")},
		call:    reports(100, 10*time.Millisecond+time.Microsecond),
	})
	got.want(t, "start m", "call a add@todo {}", "progress a 1/100 ", "progress a 20/100 ", "progress a 40/100 ",
		"progress a 60/100 ", "progress a 80/100 ", "progress a 100/100 ", "completed a 1.0001s ok", "delta x", "done stop")
	for i, n := range got.flushed {
		if n > 2 {
			t.Errorf("flush %d had %d events: progress was held back", i, n)
		}
	}
}

func TestProgressThatIsNotTooFastIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		answers: []answer{wants(call("a", "add", "{}")), says("x")},
		call:    reports(3, time.Second),
	})
	if diff := cmp.Diff([]string{"progress a 1/3 ", "progress a 2/3 ", "progress a 3/3 "}, got.progress()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each call has its own five a second, and what is due at its end comes before it.
func TestProgressOfCallsAtTheSameTime(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		answers: []answer{wants(call("a", "add", "{}"), call("b", "read", "{}")), says("x")},
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Name == "read" {
				time.Sleep(100 * time.Millisecond)
			}
			report := tool.ReportOf(ctx)
			report(tool.Progress{Progress: 1, Message: "first"})
			time.Sleep(300 * time.Millisecond)
			report(tool.Progress{Progress: 2, Message: "last"})
			return result(c, "ok"), nil
		},
	})
	got.want(t, "start m", "call a add@todo {}", "call b read@todo {}", "progress a 1/0 first", "progress b 1/0 first",
		"progress a 2/0 last", "completed a 300ms ok", "progress b 2/0 last", "completed b 400ms ok", "delta x", "done stop")
}

// A client that reads slowly does not hold the tool up, and gets the latest.
func TestSlowClientDoesNotBlockATool(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		answers: []answer{wants(call("a", "add", "{}")), says("x")},
		call:    reports(50, 10*time.Millisecond),
		onFlush: func(int) error { time.Sleep(2 * time.Second); return nil },
	})
	if diff := cmp.Diff([]string{"progress a 1/50 ", "progress a 50/50 "}, got.progress()[:2]); diff != "" || len(got.progress()) > 2 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "completed a 500ms ok"; !strings.Contains(strings.Join(got.events, "\n"), want) {
		t.Errorf("%q is not among %q", want, got.events)
	}
}

// Whatever the tool does after its call has ended, nothing is reported.
func TestNoProgressAfterTheEnd(t *testing.T) {
	t.Parallel()
	got := play(t, scene{
		answers: []answer{wants(call("a", "add", "{}"), call("b", "read", "{}")), says("x")},
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Name == "read" {
				time.Sleep(5 * time.Second)
				return result(c, "ok"), nil
			}
			go func() { // ends with the bubble, which waits for it
				time.Sleep(time.Second)
				tool.ReportOf(ctx)(tool.Progress{Progress: 7})
			}()
			return result(c, "ok"), nil
		},
	})
	if p := got.progress(); len(p) > 0 {
		t.Errorf("told: %q", p)
	}
}

func TestClientLeavesWhileAToolReports(t *testing.T) {
	t.Parallel()
	gone := fmt.Errorf("gone")
	got := play(t, scene{
		answers: []answer{wants(call("a", "add", "{}")), says("x")},
		call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			report := tool.ReportOf(ctx)
			for i := 0; ctx.Err() == nil; i++ {
				report(tool.Progress{Progress: float64(i)})
				_ = wait(ctx, 50*time.Millisecond)
			}
			return result(c, ""), ctx.Err()
		},
		onEmit: func(n int) error {
			if n == 4 {
				return gone
			}
			return nil
		},
	})
	if got.err != gone || got.elapsed > time.Second {
		t.Errorf("err %v after %v", got.err, got.elapsed)
	}
}
