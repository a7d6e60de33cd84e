package run_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// owner passes what its branch gives it on to a client.
type owner struct {
	client
	inner []bool // of what was passed
}

func (o *owner) EmitText(piece *stream.Delta) error { return o.call("says " + piece.Text) }

func (o *owner) Pass(ev stream.Event, inner bool) error {
	o.inner = append(o.inner, inner)
	return o.client.Emit(ev)
}

func (o *owner) CallID(own string, inner bool) string {
	if inner {
		return own
	}
	return run.CallID("n1-", own, "")
}

func newBranch(limit int) (*run.Branch, *owner) {
	o := new(owner)
	return &run.Branch{Owner: o, Attribution: stream.Attribution{AgentID: "a"}, Max: limit}, o
}

// An event says whose it is and has an id that is unique; what its sender has is not changed,
// and what comes from further inside keeps what it says.
func TestBranchNamesItsOwner(t *testing.T) {
	t.Parallel()
	b, o := newBranch(100)
	call := &stream.ToolStarted{Call: stream.Call{ID: "c1"}}
	within := &stream.ToolStarted{Call: stream.Call{ID: "d1", Attribution: stream.Attribution{AgentID: "b", SessionID: "s"}}}
	run := &stream.AgentRun{AgentID: "b", SessionID: "s", CallID: "c1", Status: stream.AgentStarted}
	for _, ev := range []stream.Event{&stream.Delta{Text: "hi"}, call, within, run, &stream.Thinking{Content: "hm"}} {
		if err := b.Emit(ev); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"says hi", "a:*stream.ToolStarted n1-c1", "b:*stream.ToolStarted d1", "*stream.AgentRun", "*stream.Thinking"}
	if diff := cmp.Diff(want, o.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{false, true, true, false}, o.inner); diff != "" {
		t.Errorf("from further inside (-want +got):\n%s", diff)
	}
	if call.ID != "c1" || call.AgentID != "" || b.Size != 2 {
		t.Errorf("the sender has %+v, and has said %d bytes", call, b.Size)
	}
}

// A delegate's own calls come from its agent, though their events say that they are of its
// session.
func TestBranchOfASession(t *testing.T) {
	t.Parallel()
	b, o := newBranch(100)
	b.Attribution.SessionID = "s"
	_ = b.Emit(&stream.ToolStarted{Call: stream.Call{ID: "c1"}})
	if diff := cmp.Diff([]string{"a:*stream.ToolStarted n1-c1"}, o.lines); diff != "" || o.inner[0] {
		t.Errorf("inner %v (-want +got):\n%s", o.inner, diff)
	}
}

// A text that is too long stops the run, and nothing is passed on after that.
func TestBranchBoundsTheText(t *testing.T) {
	t.Parallel()
	for _, long := range []error{nil, errGone} {
		b, o := newBranch(5)
		b.Long = long
		if err := b.Emit(&stream.Delta{Text: "12345"}); err != nil {
			t.Fatal(err)
		}
		err := b.Emit(&stream.Delta{Text: "6"})
		if again := b.Emit(&stream.Thinking{}); err == nil || again != err || b.Stopped != err || len(o.lines) != 1 {
			t.Errorf("%v, then %v; passed on: %q", err, again, o.lines)
		}
		if long != nil && !errors.Is(err, long) || long == nil && fault.From(err).Type != fault.ModelUnavailable {
			t.Errorf("%v, want %v", err, long)
		}
	}
}

// Without a bound a text may be as long as it likes, and without a name events stay as they
// are.
func TestBranchWithoutBoundOrName(t *testing.T) {
	t.Parallel()
	o := new(owner)
	b := &run.Branch{Owner: o}
	call := &stream.ToolStarted{Call: stream.Call{ID: "c1", Attribution: stream.Attribution{NodeID: "n"}}}
	if err := errors.Join(b.Emit(&stream.Delta{Text: strings.Repeat("x", 3<<20)}), b.Emit(call)); err != nil || call.ID != "n1-c1" {
		t.Errorf("%v, %+v", err, call)
	}
}

// The owner's error is that of the sink.
func TestBranchHasItsOwnersError(t *testing.T) {
	t.Parallel()
	b, o := newBranch(5)
	o.failing = 1
	for _, ev := range []stream.Event{&stream.Delta{Text: "a"}, &stream.Thinking{}} {
		if err := b.Emit(ev); !errors.Is(err, errGone) || b.Stopped != nil {
			t.Errorf("%T: %v, stopped for %v", ev, err, b.Stopped)
		}
	}
}

// A panic becomes the error of what has panicked; any other error stays.
func TestRecover(t *testing.T) {
	t.Parallel()
	fails := func(with any, err error) (out error) {
		defer run.Recover(&out)
		if with != nil {
			panic(with)
		}
		return err
	}
	if p, ok := errors.AsType[*stream.Panic](fails("a bug", nil)); !ok || !strings.Contains(p.Error(), "a bug") {
		t.Errorf("a panic is %v", p)
	}
	if err := fails(nil, errGone); err != errGone {
		t.Errorf("an error is %v", err)
	}
	if err := fails(nil, nil); err != nil {
		t.Errorf("no error is %v", err)
	}
}

// Ids fit into their bound, and what makes them unique is never cut.
func TestCallID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	for _, tt := range []struct{ before, own, behind, want string }{
		{"n3r2a2-", "call_1", "", "n3r2a2-call_1"},
		{"", "call_1", "-2", "call_1-2"},
		{"d4f0c2aa1_", "", "7", "d4f0c2aa1_7"},
		{"n3-", long, "", "n3-" + long[:61]},
		{"", long, "-10", long[:61] + "-10"},
		{long, "call", "", long},
	} {
		if got := run.CallID(tt.before, tt.own, tt.behind); got != tt.want {
			t.Errorf("%q, %q, %q: %q, want %q", tt.before, tt.own, tt.behind, got, tt.want)
		}
	}
}

// suffixed are ids of agents of a team.
func suffixed(own string) func(n int) string {
	return func(n int) string {
		if n == 1 {
			return own
		}
		return run.CallID("", own, "-"+strconv.Itoa(n))
	}
}

// A call has one id, and no two calls have the same; also in a turn that continues.
func TestIDs(t *testing.T) {
	t.Parallel()
	var ids run.IDs
	for _, tt := range []struct{ key, own, want string }{
		{"a", "c", "c"}, {"b", "c", "c-2"}, {"a", "c", "c"}, {"d", "c-2", "c-2-2"}, {"e", "c", "c-3"}, {"b", "c", "c-2"},
	} {
		if got := ids.Of(tt.key, suffixed(tt.own)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.key, got, tt.want)
		}
	}
	again := run.IDs{ByKey: ids.ByKey}
	if got := again.Of("f", suffixed("c")) + " " + again.Of("b", suffixed("c")); got != "c-4 c-2" {
		t.Errorf("in a turn that goes on: %q", got)
	}
}

// Agents that run side by side get different ids.
func TestIDsOfManyGoroutines(t *testing.T) {
	t.Parallel()
	var (
		ids run.IDs
		all sync.Map
		end sync.WaitGroup
	)
	for m := range 8 {
		end.Go(func() {
			for n := range 20 {
				id := ids.Of(fmt.Sprint(m, n), suffixed(fmt.Sprint("call_", n)))
				if _, twice := all.LoadOrStore(id, m); twice {
					t.Errorf("%s twice", id)
				}
			}
		})
	}
	end.Wait()
}

// A step is left without the calls within which somebody waits.
func TestLeave(t *testing.T) {
	t.Parallel()
	var calls stream.Calls
	for _, id := range []string{"n1-a", "n1-b", "n1-d"} {
		calls.Add(&stream.ToolStarted{Call: stream.Call{ID: id}})
	}
	calls = run.Leave(calls, nil, nil)
	calls = run.Leave(calls, &chat.Question{Calls: []chat.PendingCall{{ID: "x", Within: "d"}, {ID: "a"}, {ID: "y", Within: "gone"}}}, new(owner))
	var got []string
	for _, c := range calls {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff([]string{"n1-a", "n1-b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
