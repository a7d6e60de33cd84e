package record_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/state/task/record"
	"sluice/stream"
)

// How something ends stands in its step: the failure in words, else its type, else its status;
// what ends without having begun, and what is left open, breaks nothing.
func TestHowStepsEnd(t *testing.T) {
	t.Parallel()
	agent := func(status stream.AgentStatus, text string, kind fault.Type) *stream.AgentRun {
		return &stream.AgentRun{AgentID: "a", Role: stream.RolePrimary, Attempt: 1, Status: status, ErrorMessage: text, ErrorType: kind, Usage: &stream.TokenUsage{Input: 1, Output: 2, Thinking: 3}}
	}
	node := func(status stream.NodeStatus, attempt int, output string, kind fault.Type) *stream.NodeRun {
		return &stream.NodeRun{NodeID: "n", Type: "agent", Attempt: attempt, Status: status, Output: output, ErrorType: kind}
	}
	for name, tt := range map[string]struct {
		events []stream.Event
		want   []string // without the turn
	}{
		"agent completed":         {[]stream.Event{agent(stream.AgentStarted, "", ""), agent(stream.AgentCompleted, "", "")}, []string{"1 in 0: agent a info primary"}},
		"agent failed with words": {[]stream.Event{agent(stream.AgentStarted, "", ""), agent(stream.AgentFailed, "bad", fault.ToolFailed)}, []string{"1 in 0: agent a warning bad"}},
		"agent failed by type":    {[]stream.Event{agent(stream.AgentStarted, "", ""), agent(stream.AgentFailed, "", fault.ToolFailed)}, []string{"1 in 0: agent a warning " + string(fault.ToolFailed)}},
		"agent failed":            {[]stream.Event{agent(stream.AgentStarted, "", ""), agent(stream.AgentFailed, "", "")}, []string{"1 in 0: agent a warning " + string(stream.AgentFailed)}},
		"agent never begun":       {[]stream.Event{agent(stream.AgentCompleted, "", "")}, nil},
		"node completed":          {[]stream.Event{node(stream.NodeStarted, 1, "", ""), node(stream.NodeCompleted, 1, "out", "")}, []string{"1 in 0: node n info out"}},
		"node without an output":  {[]stream.Event{node(stream.NodeStarted, 1, "", ""), node(stream.NodeCompleted, 1, "", "")}, []string{"1 in 0: node n info agent"}},
		"node failed by type":     {[]stream.Event{node(stream.NodeStarted, 1, "", ""), node(stream.NodeFailed, 1, "", fault.ToolFailed)}, []string{"1 in 0: node n warning " + string(fault.ToolFailed)}},
		"node failed":             {[]stream.Event{node(stream.NodeStarted, 1, "", ""), node(stream.NodeFailed, 1, "", "")}, []string{"1 in 0: node n warning " + string(stream.NodeFailed)}},
		"node waits":              {[]stream.Event{node(stream.NodeStarted, 1, "", ""), node(stream.NodeWaiting, 1, "", "")}, []string{"1 in 0: node n info " + string(stream.NodeWaiting)}},
		"node never begun":        {[]stream.Event{node(stream.NodeFailed, 1, "", "")}, nil},
		"node of another attempt": {
			[]stream.Event{node(stream.NodeStarted, 1, "", ""), node(stream.NodeStarted, 2, "", ""), node(stream.NodeFailed, 1, "", ""), node(stream.NodeCompleted, 2, "out", "")},
			[]string{"1 in 0: node n warning failed", "2 in 0: node n info out"},
		},
		"failure that is not the end":   {[]stream.Event{&stream.Error{Type: fault.ToolFailed, Message: "no"}}, []string{"1 in 0: error  warning " + string(fault.ToolFailed) + ": no"}},
		"failure without words":         {[]stream.Event{&stream.Error{Type: fault.ToolFailed}}, []string{"1 in 0: error  warning " + string(fault.ToolFailed)}},
		"another model":                 {[]stream.Event{&stream.ModelChanged{Previous: "one", Reason: "slow", Key: "two"}}, []string{"1 in 0: model  warning one: slow; now two"}},
		"result of a call that is none": {[]stream.Event{&stream.ToolCompleted{Call: call("c1", "", ""), Result: "x"}}, nil},
		"result that was kept": {
			[]stream.Event{&stream.ToolStarted{Call: call("c1", "", "")}, &stream.ToolCompleted{Call: call("c1", "", ""), Result: "x", Cached: true}},
			[]string{"1 in 0: step  info  [c1 cached]"},
		},
		"tool's node that speaks": {[]stream.Event{&stream.InnerDelta{Delta: "draft", Attribution: stream.Attribution{NodeID: "n"}}}, nil},
	} {
		var events []timed
		for i, ev := range append(tt.events, &stream.Done{Reason: stream.Stop}) {
			events = append(events, timed{time.Duration(i + 1), ev})
		}
		tr := recorded(record.Spec{}, true, events...)
		if diff := cmp.Diff(tt.want, slices.Concat(lines(tr)[1:])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, s := range tr.Steps {
			if s.Millis == nil || s.Name == record.Agent && (s.Usage == nil || *s.Usage != record.Usage{Input: 1, Output: 2, Thinking: 3}) {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}

// A turn ends with its reason or its failure; one that somebody cancelled has not failed.
func TestHowTurnsEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    *stream.Error
		reason stream.FinishReason
		want   string
		inner  string // of the session that still ran
	}{
		"done":      {nil, stream.Stop, "info stop", "completed"},
		"failed":    {&stream.Error{Type: fault.Internal, Message: "oh", Fatal: true}, stream.Failed, "error " + string(fault.Internal) + ": oh", "failed"},
		"cancelled": {&stream.Error{Type: fault.Cancelled, Message: "stop", Fatal: true}, stream.Failed, "info " + string(fault.Cancelled) + ": stop", "failed"},
	} {
		events := []timed{
			{1, &stream.AgentRun{AgentID: "a", Role: stream.RoleDelegate, SessionID: "s1", Attempt: 1, Status: stream.AgentStarted}},
			{2, &stream.AgentRun{AgentID: "a", Role: stream.RoleDelegate, SessionID: "s2", Attempt: 1, Status: stream.AgentStarted}},
			{3, &stream.AgentRun{AgentID: "a", SessionID: "s2", Status: stream.AgentCompleted}},
		}
		if tt.err != nil {
			events = append(events, timed{4, tt.err})
		}
		tr := recorded(record.Spec{}, true, append(events, timed{5, &stream.Done{Reason: tt.reason}})...)
		if got := string(tr.Steps[0].Status) + " " + tr.Steps[0].Message; got != tt.want || tr.Sessions["s1"].Status != tt.inner || tr.Sessions["s2"].Status != "completed" {
			t.Errorf("%s: %s, want %s, with the sessions %+v", name, got, tt.want, tr.Sessions)
		}
	}
}

// Of a turn with more steps than a part has, the last ones are left out, whatever they are, and
// what ends then ends what is there.
func TestStepsBeyondTheBound(t *testing.T) {
	t.Parallel()
	r := record.New(record.Spec{}, "turn_1", begin)
	r.Observe(1, &stream.AgentRun{AgentID: "early", Attempt: 1, Status: stream.AgentStarted})
	ask(r.Context(t.Context(), time.Now()), "late", 0, nil) // nobody sees its answer
	for i := range 600 {
		r.Observe(2, &stream.Error{Type: fault.ToolFailed, Message: fmt.Sprint(i)})
	}
	for _, ev := range []stream.Event{
		&stream.AgentRun{AgentID: "late", Attempt: 1, Status: stream.AgentStarted}, &stream.Delta{Attribution: stream.Attribution{AgentID: "late"}, Text: "late"},
		&stream.ToolStarted{Call: call("c1", "late", "{}")}, &stream.ToolCompleted{Call: call("c1", "late", ""), Result: "late"},
		&stream.NodeRun{NodeID: "late", Attempt: 1, Status: stream.NodeStarted}, &stream.NodeRun{NodeID: "late", Attempt: 1, Status: stream.NodeCompleted},
		&stream.Route{AgentID: "late"}, &stream.AgentRun{AgentID: "late", Status: stream.AgentCompleted}, &stream.AgentRun{AgentID: "early", Status: stream.AgentCompleted},
	} {
		r.Observe(time.Second, ev)
	}
	r.Observe(2*time.Second, &stream.Done{Reason: stream.Stop})
	p := r.Part(true)
	if n := len(p.Steps); n != 500 || strings.Contains(string(p.Encode()), "late") {
		t.Errorf("%d steps, the last %+v", n, p.Steps[n-1])
	}
	if s := p.Steps[1]; s.Agent != "early" || s.Millis == nil || *s.Millis != 999 {
		t.Errorf("what began before is %+v", s)
	}
}

// A text has 8 KiB at most, and says so where it is a result: one that has just that much is whole.
func TestTextsAreCutAtTheirBound(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size int
		cut  bool // by the tool layer before
		want int
	}{"short": {10, false, 10}, "cut before": {10, true, 10}, "as long as may be": {8 << 10, false, 8 << 10}, "a byte more": {8<<10 + 1, false, 8 << 10}, "very long": {1 << 20, false, 8 << 10}} {
		tr := recorded(record.Spec{}, true, timed{1, &stream.ToolStarted{Call: call("c1", "", "{}")}},
			timed{2, &stream.ToolCompleted{Call: call("c1", "", ""), Result: strings.Repeat("x", tt.size), Truncated: tt.cut}}, timed{3, &stream.Done{Reason: stream.Stop}})
		got := tr.Steps[1].Calls[0].Result
		if len(got.Text) != tt.want || got.Truncated != (tt.cut || tt.size > tt.want) {
			t.Errorf("%s: %d bytes, cut %t", name, len(got.Text), got.Truncated)
		}
	}
}

// Parts that say little are put together all the same: one without steps, one whose times cannot be
// read, and none at all. Calls count from the begin of the trace.
func TestJoinOfOddParts(t *testing.T) {
	t.Parallel()
	const at = "2026-01-02T03:04:05.000Z"
	two := record.Step{ID: "two:0", Timestamp: "2026-01-02T03:04:07.500Z", Calls: []record.Call{{CallID: "c", Started: 20}}}
	tr := record.Join("t", []*record.Part{
		{Turn: "two", Steps: []record.Step{two}, Updated: "2026-01-02T03:04:09.000Z", Sessions: map[string]record.Session{"s": {SessionID: "s", MessageCount: 3}}},
		{Turn: "none", Updated: "2026-01-02T03:04:08.000Z"},
		{Turn: "one", Steps: []record.Step{{ID: "one:0", Timestamp: at}}, Updated: at, Sessions: map[string]record.Session{"s": {SessionID: "s", MessageCount: 2}}},
	})
	if tr.CreatedAt != at || tr.UpdatedAt != "2026-01-02T03:04:09.000Z" || len(tr.Steps) != 2 || tr.Steps[1].Started != 2500 || tr.Steps[1].Calls[0].Started != 2520 || tr.Sessions["s"].MessageCount != 4 {
		t.Errorf("%+v", tr)
	}
	odd := record.Join("t", []*record.Part{{Turn: "x", Steps: []record.Step{{ID: "x:0", Timestamp: "soon", Started: 3}}}})
	if odd.Steps[0].Started != 3 {
		t.Errorf("%+v", odd)
	}
	if none := string(record.Join("t", nil).Encode()); none != `{"task_id":"t","steps":[],"sub_agent_sessions":{},"created_at":"","updated_at":""}` {
		t.Error(none)
	}
	if _, err := record.Read([]byte("{")); err == nil {
		t.Error("a part that was cut was read")
	}
	if got := record.Exported([]byte("no trace")); string(got) != "no trace" {
		t.Errorf("exported: %s", got)
	}
}

// A model that is asked who is to answer is a part of the choice; one whose answer nobody saw has
// a step of its own, and one that failed says so. Purposes are those of what begins below.
func TestModelCallsThatNobodySaw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := record.New(record.Spec{}, "turn_1", began)
		ctx := r.Context(t.Context(), began)
		routing, route := trace.Start(ctx, trace.Internal, "RouterExecutor.Route", "")
		ask(routing, "router-model", time.Second, nil)
		route.End(nil)
		r.Observe(time.Since(began), &stream.Route{AgentID: "a", Millis: 1000})
		r.Observe(time.Since(began), &stream.AgentRun{AgentID: "a", Attempt: 1, Status: stream.AgentStarted})
		working, agent := trace.Start(ctx, trace.Internal, trace.InvokeAgent, "a")
		ask(working, "m", time.Second, fmt.Errorf("down"))
		agent.End(nil)
		ask(record.For(ctx, record.Judge), "judge-model", time.Second, nil)
		r.Observe(time.Since(began), &stream.AgentRun{AgentID: "a", Status: stream.AgentFailed})
		r.Observe(time.Since(began), &stream.Done{Reason: stream.Failed})
		var got []string
		names := map[string]string{}
		steps := r.Part(true).Steps
		for _, s := range steps {
			names[s.ID] = s.Name
		}
		for _, s := range steps {
			if s.Model != "" {
				got = append(got, fmt.Sprint(s.Name, " of ", names[s.ParentID], ": ", s.Model, " ", s.Status, " ", *s.Millis))
			}
		}
		want := []string{"router of route: router-model info 1000", "step of agent: m warning 1000", "judge of turn: judge-model info 1000"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
	if ctx := record.For(t.Context(), record.Judge); ctx.Err() != nil {
		t.Error("where no trace is recorded a purpose ends the context")
	}
}
