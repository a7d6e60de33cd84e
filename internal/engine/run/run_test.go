package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/run"
	"sluice/stream"
)

// client is a sink that writes down what comes, and fails from the failing call on.
type client struct {
	lines   []string
	calls   int
	failing int // 0: never
}

var errGone = errors.New("gone")

func (c *client) call(line string) error {
	if c.calls++; c.failing > 0 && c.calls >= c.failing {
		return errGone
	}
	c.lines = append(c.lines, line)
	return nil
}

func (c *client) Emit(ev stream.Event) error {
	switch e := ev.(type) {
	case *stream.Delta:
		return c.call(e.AgentID + ":" + e.Text)
	case *stream.InnerDelta:
		return c.call(e.AgentID + ":(" + e.Delta + ")")
	}
	if call := stream.CallOf(ev); call != nil {
		return c.call(fmt.Sprintf("%s:%T %s", call.AgentID, ev, call.ID))
	}
	return c.call(fmt.Sprintf("%T", ev))
}

func (c *client) Flush() error { return c.call("flush") }

func (c *client) text() string {
	var b strings.Builder
	for _, line := range c.lines {
		_, text, _ := strings.Cut(line, ":")
		b.WriteString(text)
	}
	return b.String()
}

// The first error of the sink is the turn's, and nothing follows it.
func TestOutKeepsTheFirstError(t *testing.T) {
	t.Parallel()
	for _, failing := range []int{1, 2} {
		c := &client{failing: failing}
		o := run.Out{Sink: c}
		first, second := o.Emit(&stream.Delta{Text: "a"}), o.Flush()
		if (first != nil) != (failing == 1) || !errors.Is(second, errGone) || !errors.Is(o.Err, errGone) {
			t.Errorf("failing at %d: %v, %v, %v", failing, first, second, o.Err)
		}
		if err := errors.Join(o.Emit(&stream.Delta{Text: "b"}), o.Flush()); !errors.Is(err, errGone) || c.calls != failing {
			t.Errorf("failing at %d: %v after %d calls", failing, err, c.calls)
		}
	}
}

// What stands between two texts depends on how long the first is, how it ends, and whether
// one of them has blocks of Markdown.
func TestJoin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 281)
	tests := []struct {
		first, next string
		natural     bool
		want        string
	}{
		{"", "Hi", true, ""},
		{"Done.", "Next", true, " "},
		{"Done", "Next", true, ". "},
		{"Done.", "Next", false, "\n\n"},
		{"Done.\n", "Next", false, "\n"},
		{"Done.\n\n", "Next", false, ""},
		{"Done.\n\n\n", "Next", false, ""},
		{"He said (“Done!”)", "Next", true, " "},
		{"**Done.**", "Next", true, " "},
		{"完了。", "次", true, " "},
		{"one\ntwo", "Next", true, "\n\n"},
		{"# Title", "Next", true, "\n\n"},
		{"#Tag and more text of a line", "Next", true, "\n\n"},
		{long[:2*280], "Next", true, ". "},
		{long, "Next", true, "\n\n"},
		{"Done.", "- a", true, "\n\n"},
		{"Done.", "-", true, "\n\n"},
		{"Done.", "---", true, "\n\n"},
		{"Done.", "-5 degrees", true, " "},
		{"Done.", "*really*", true, " "},
		{"Done.", "> q", true, "\n\n"},
		{"Done.", " | a |", true, "\n\n"},
		{"Done.", "```", true, "\n\n"},
		{"Done.", "1. a", true, "\n\n"},
		{"Done.", "12) a", true, "\n\n"},
		{"Done.", "3.", true, "\n\n"},
		{"Done.", "3.5 per cent", true, " "},
		{"Done.", "2026 was", true, " "},
		{"Done.", " ", true, " "},
	}
	for _, tt := range tests {
		for _, size := range []int{len(tt.first), 7} { // in pieces it is the same
			var j run.Join
			for rest := tt.first; rest != ""; rest = rest[min(size, len(rest)):] {
				j.Add(rest[:min(size, len(rest))])
			}
			if got := j.Between(tt.next, tt.natural); got != tt.want && utf8Safe(tt.first, size) {
				t.Errorf("%.20q in pieces of %d, then %q: %q, want %q", tt.first, size, tt.next, got, tt.want)
			}
			if len(j.Tail) > 16 {
				t.Errorf("%.20q: a tail of %d bytes", tt.first, len(j.Tail))
			}
		}
	}
}

// utf8Safe says whether pieces of size bytes count the code points of s rightly.
func utf8Safe(s string, size int) bool { return size == len(s) || len(s) == len([]rune(s)) }

// voices returns a voice of the speakers a, b and c.
func voices(c *client) *run.Voice {
	v := &run.Voice{Out: &run.Out{Sink: c}, Natural: true}
	for _, id := range []string{"a", "b", "c"} {
		v.Lines = append(v.Lines, run.Line{Attribution: stream.Attribution{AgentID: id}})
	}
	return v
}

// Texts come in the order of the speakers, whichever is the first to say or to end.
func TestVoiceKeepsTheOrder(t *testing.T) {
	t.Parallel()
	c, ended := new(client), [3]bool{}
	v := voices(c)
	var begun []int
	v.Begun = func(line int) { begun = append(begun, line) }
	end := func(line int) {
		ended[line] = true
		v.Advance(func(line int) bool { return ended[line] })
	}
	v.Text(2, "C1.")
	v.Text(1, "B1")
	v.Text(0, "")
	v.Text(0, "A1")
	end(2)
	v.Text(0, ", A2.")
	if diff := cmp.Diff([]string{"a:A1", "a:, A2."}, c.lines); diff != "" {
		t.Errorf("while the first speaks (-want +got):\n%s", diff)
	}
	end(0)
	v.Text(1, ", B2")
	end(1)
	want := []string{"a:A1", "a:, A2.", ": ", "b:B1", "b:, B2", ":. ", "c:C1."}
	if diff := cmp.Diff(want, c.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0, 1, 2}, begun); diff != "" || v.Speaker != 3 {
		t.Errorf("speaker %d, begun (-want +got):\n%s", v.Speaker, diff)
	}
	v.EmitPlain("The end.")
	if got := c.lines[len(c.lines)-1]; got != ":The end." || v.Emitted.Length != len("A1, A2. B1, B2. C1.The end.") {
		t.Errorf("%q after %d code points", got, v.Emitted.Length)
	}
}

// What waits behind a speaker that waits for a person is said, and that speaker continues
// behind it.
func TestVoiceSaysWhatHasEnded(t *testing.T) {
	t.Parallel()
	c := new(client)
	v := voices(c)
	v.Text(0, "A1.")
	v.Text(1, "B1.")
	v.Text(2, "C1.")
	ended := func(line int) bool { return line == 2 }
	v.FlushEnded(ended)
	v.FlushEnded(ended)
	if got := c.text(); got != "A1. C1." {
		t.Errorf("%q", got)
	}
	v.Text(0, " A2.")
	v.Advance(func(line int) bool { return line == 0 })
	if got := c.text(); got != "A1. C1. A2. B1." {
		t.Errorf("%q", got)
	}
}

// A voice continues from what was stored of it.
func TestVoiceGoesOn(t *testing.T) {
	t.Parallel()
	c := new(client)
	v := voices(c)
	v.Speaker, v.Emitted = 1, run.Join{Length: 4, Tail: []byte("A, B")}
	v.Lines[1].Spoke, v.Lines[2].Pending = true, []string{"C1", "C2"}
	v.Text(1, "ut.")
	v.Advance(func(line int) bool { return line == 1 })
	if got := c.text(); got != "ut. C1C2" {
		t.Errorf("%q", got)
	}
}

// Events come out as they were put, and ends have room where events have none.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	events := map[string]run.Item[int]{
		"text":   {Text: big},
		"think":  {Event: &stream.Thinking{Content: big}},
		"call":   {Event: &stream.ToolStarted{Call: stream.Call{Arguments: []byte(big)}}},
		"result": {Event: &stream.ToolCompleted{Result: big}},
	}
	for name, it := range events {
		synctest.Test(t, func(t *testing.T) {
			q, put := run.NewQueue[int](), 0
			go func() {
				for range 4 {
					if err := q.Put(t.Context(), it); err != nil {
						t.Errorf("%s: %v", name, err)
					}
					put++
				}
				q.End(func() { put = -put })
			}()
			synctest.Wait()
			if put != 2 {
				t.Errorf("%s: %d MiB are queued", name, put)
			}
			if n := len(q.Receive()); n != 2 {
				t.Errorf("%s: %d were received", name, n)
			}
			synctest.Wait()
			batch := q.Receive()
			if len(batch) != 3 || batch[2].End == nil || batch[0].End != nil {
				t.Fatalf("%s: %d were received", name, len(batch))
			}
			if batch[2].End(); put != -4 {
				t.Errorf("%s: the end has not run", name)
			}
		})
	}
}

// A caller that waits for room continues when its context has ended, or when nobody receives any
// more.
func TestQueueLetsGo(t *testing.T) {
	t.Parallel()
	full := run.Item[int]{Text: strings.Repeat("x", 2<<20)}
	synctest.Test(t, func(t *testing.T) {
		q := run.NewQueue[int]()
		ctx, cancel := context.WithCancel(t.Context())
		defer context.AfterFunc(ctx, q.Wake)()
		_ = q.Put(ctx, full)
		var cancelled, closed error = errGone, nil
		go func() { cancelled = q.Put(ctx, full) }()
		go func() { closed = q.Put(t.Context(), full) }()
		synctest.Wait()
		if cancelled == nil {
			t.Fatal("a full queue has room")
		}
		cancel()
		synctest.Wait()
		if cancelled != nil || closed != nil {
			t.Errorf("after the cancel: %v, %v", cancelled, closed)
		}
		q.Close(errGone)
		synctest.Wait()
		if !errors.Is(closed, errGone) || !errors.Is(q.Put(ctx, full), errGone) {
			t.Errorf("after the close: %v", closed)
		}
		q.End(func() {})
		if n := len(q.Receive()); n != 3 {
			t.Errorf("%d were received", n)
		}
	})
}

// Receive waits, and what it returns stays as it is until the next call.
func TestQueueReceivesBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, got := run.NewQueue[string](), []string(nil)
		go func() {
			for len(got) < 6 {
				for _, it := range q.Receive() {
					if it.Of != "" {
						_ = q.Put(t.Context(), run.Item[string]{}) // while the batch is read
						got = append(got, it.Of+it.Text)
					}
				}
			}
		}()
		synctest.Wait()
		for i := range 6 {
			_ = q.Put(t.Context(), run.Item[string]{Of: "m", Text: fmt.Sprint(i)})
			if i%2 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"m0", "m1", "m2", "m3", "m4", "m5"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
