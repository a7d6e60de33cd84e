package record_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// step is what these tests look at of a step.
type step struct {
	Name, Agent, Node, Session, Model string
	Finish                            string
	Started, Millis, First            int64
	Usage                             record.Usage
	Status                            record.Status
}

func stepsOf(r *record.Recorder) (all []step) {
	part, err := record.Read(r.Part(true).Encode())
	if err != nil {
		panic(err)
	}
	for i, s := range record.Join("task_1", []*record.Part{part}).Steps {
		if i > 0 && s.ParentID == "" {
			s.Name += " of no turn"
		}
		seen := step{Name: s.Name, Agent: s.Agent, Node: s.NodeID, Session: s.SessionID, Model: s.Model, Finish: s.Finish, Started: s.Started, Status: s.Status}
		if s.Millis != nil {
			seen.Millis = *s.Millis
		}
		if s.FirstToken != nil {
			seen.First = *s.FirstToken
		}
		if s.Usage != nil {
			seen.Usage = *s.Usage
		}
		all = append(all, seen)
	}
	return all
}

// ask asks a model that takes a while.
func ask(ctx context.Context, model string, while time.Duration, err error) {
	_, span := trace.Start(ctx, trace.Client, trace.Chat, model)
	time.Sleep(while / 2)
	if err == nil {
		span.First()
	}
	time.Sleep(while / 2)
	span.Usage(3, 2, 1)
	if err == nil {
		span.Replied(2, 1, "stop")
	}
	span.End(err)
}

// A model that is silent for three seconds is drawn as three seconds, with what it used; so is
// the planner, of whom no event says anything.
func TestModelCallsLastFromTheRequestToTheLastByte(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := record.New(record.Spec{}, "turn_1", began)
		ctx := r.Context(t.Context(), began)
		observe := func(ev stream.Event) { r.Observe(time.Since(began), ev) }
		observe(&stream.Start{})
		ask(record.For(ctx, record.Planner), "planner-model", time.Second, nil)
		ask(ctx, "m", 3*time.Second, nil)
		observe(&stream.ToolStarted{Call: call("c1", "", `{}`)})
		time.Sleep(time.Second)
		observe(&stream.ToolCompleted{Call: call("c1", "", ""), Duration: time.Second, Result: "one"})
		ask(ctx, "m", 2*time.Second, nil)
		observe(&stream.Delta{Text: "Done."})
		time.Sleep(time.Second)
		observe(&stream.Done{Reason: stream.Stop, Usage: chat.Usage{InputTokens: 9, OutputTokens: 9}})
		used := record.Usage{Input: 3, Output: 2, Thinking: 1, Cached: 2}
		want := []step{
			{Name: record.Turn, Millis: 8000, Usage: record.Usage{Input: 9, Output: 9}, Status: record.Info},
			{Name: record.Planner, Model: "planner-model", Finish: "stop", Millis: 1000, First: 500, Usage: used, Status: record.Info},
			{Name: record.Speak, Model: "m", Finish: "stop", Started: 1000, Millis: 3000, First: 1500, Usage: used, Status: record.Info},
			{Name: record.Speak, Model: "m", Finish: "stop", Started: 5000, Millis: 2000, First: 1000, Usage: used, Status: record.Info},
		}
		if diff := cmp.Diff(want, stepsOf(r)); diff != "" {
			t.Errorf("the steps (-want +got):\n%s", diff)
		}
	})
}

// No step stands for a model call that never was: calls that a person has allowed, the call of a
// tool's node and a text of several agents have names of their own. Allowed calls end with the last
// tool, although the model's answer comes later.
func TestStepsWithoutAModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		asking := record.New(record.Spec{}, "turn_1", began)
		ask(asking.Context(t.Context(), began), "m", time.Second, nil)
		asking.Observe(time.Second, &stream.Approval{Calls: []stream.ApprovalCall{{CallID: "c1"}, {CallID: "c2"}}})
		asking.Observe(time.Second, &stream.Done{Reason: stream.ApprovalRequired})

		time.Sleep(time.Minute)
		began = time.Now()
		r := record.New(record.Spec{}, "turn_2", began)
		ctx := r.Context(t.Context(), began)
		observe := func(ev stream.Event) { r.Observe(time.Since(began), ev) }
		observe(&stream.ToolStarted{Call: call("c1", "", `{}`)})
		observe(&stream.ToolStarted{Call: call("c2", "", `{}`)})
		time.Sleep(100 * time.Millisecond)
		observe(&stream.ToolCompleted{Call: call("c1", "", ""), Duration: 100 * time.Millisecond})
		time.Sleep(time.Second)
		observe(&stream.ToolFailed{Call: call("c2", "", ""), Duration: 1100 * time.Millisecond})
		ask(ctx, "m", 2*time.Second, nil)
		observe(&stream.Delta{Text: "Done."})
		node := stream.Call{ID: "c3", Tool: "pay", Attribution: stream.Attribution{NodeID: "pay"}}
		observe(&stream.ToolStarted{Call: node})
		observe(&stream.ToolCompleted{Call: node})
		observe(&stream.Delta{Text: "Both.", Attribution: stream.Attribution{AgentID: "elsewhere"}})
		observe(&stream.Done{Reason: stream.Stop})

		var got []string
		for _, s := range record.Join("task_1", []*record.Part{asking.Part(true), r.Part(true)}).Steps {
			got = append(got, fmt.Sprint(s.Name, " ", s.Model, " ", s.Started, "+", *s.Millis, " ", len(s.Calls)))
		}
		want := []string{
			"turn  0+1000 0", "step m 0+1000 0", "approval  1000+0 2",
			"turn  61000+3100 0", "allowed  61000+1100 2", "step m 62100+2000 0", "call  64100+0 1", "text  64100+0 0",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the steps (-want +got):\n%s", diff)
		}
	})
}

// Text is the newest model's: an earlier call of the same speaker has failed.
func TestTextIsOfTheModelThatAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := record.New(record.Spec{}, "turn_1", began)
		ctx := r.Context(t.Context(), began)
		ask(ctx, "first", time.Second, context.DeadlineExceeded)
		ask(ctx, "second", time.Second, nil)
		r.Observe(time.Since(began), &stream.Delta{Text: "Hello"})
		r.Observe(time.Since(began), &stream.Done{Reason: stream.Stop})
		var got []string
		for _, s := range r.Part(true).Steps[1:] {
			got = append(got, fmt.Sprint(s.Model, " ", s.Status, " ", s.Message))
		}
		if want := []string{"first warning ", "second info Hello"}; !cmp.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// Branches overlap as they did, each with its own calls; what failed says so.
func TestModelCallsOfBranches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := record.New(record.Spec{}, "turn_1", began)
		ctx := r.Context(t.Context(), began)
		ended := make(chan struct{})
		branch := func(node, agent string, while time.Duration, err error) {
			in, n := trace.Start(ctx, trace.Internal, "node", node)
			in, a := trace.Start(in, trace.Internal, trace.InvokeAgent, agent)
			ask(in, "m", while, err)
			a.End(err)
			n.End(err)
			ended <- struct{}{}
		}
		go branch("left", "one", 2*time.Second, nil)
		go branch("right", "one", 3*time.Second, context.DeadlineExceeded)
		<-ended
		r.Observe(time.Since(began), &stream.InnerDelta{Delta: "left", Attribution: stream.Attribution{NodeID: "left", AgentID: "one"}})
		<-ended
		r.Observe(time.Since(began), &stream.Done{Reason: stream.Stop})
		want := []step{
			{Name: record.Turn, Millis: 3000, Status: record.Info},
			{Name: record.Speak, Agent: "one", Node: "left", Model: "m", Finish: "stop", Millis: 2000, First: 1000, Usage: record.Usage{Input: 3, Output: 2, Thinking: 1, Cached: 2}, Status: record.Info},
			{Name: record.Speak, Agent: "one", Node: "right", Model: "m", Millis: 3000, Usage: record.Usage{Input: 3, Output: 3}, Status: record.Warning},
		}
		if diff := cmp.Diff(want, stepsOf(r)); diff != "" {
			t.Errorf("the steps (-want +got):\n%s", diff)
		}
	})
}

// Sessions of one agent run at the same time: a call is of the one whose id its span has, in
// whatever order they speak.
func TestModelCallsOfSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := record.New(record.Spec{}, "turn_1", began)
		ctx := r.Context(t.Context(), began)
		for _, session := range []string{"s1", "s2", ""} {
			in, span := trace.Start(ctx, trace.Internal, trace.InvokeAgent, "a")
			span.String(record.SpanSession, session)
			ask(in, "model of "+session, 0, nil)
			span.End(nil)
		}
		for _, session := range []string{"", "s2", "s1"} {
			r.Observe(time.Since(began), &stream.InnerDelta{Delta: "x", Attribution: stream.Attribution{AgentID: "a", SessionID: session}})
		}
		r.Observe(time.Since(began), &stream.Done{Reason: stream.Stop})
		steps := stepsOf(r)
		for _, s := range steps[1:] {
			if s.Model != "model of "+s.Session {
				t.Errorf("the session %q speaks by the %s", s.Session, s.Model)
			}
		}
		if len(steps) != 4 {
			t.Errorf("%d steps", len(steps))
		}
	})
}

// spans counts what reaches telemetry.
type spans struct{ began, ended, attributes int }

func (s *spans) Begin(trace.Kind, string, string) trace.Recorder { s.began++; return s }
func (s *spans) String(string, string)                           { s.attributes++ }
func (s *spans) Int(string, int)                                 { s.attributes++ }
func (s *spans) Float(string, float64)                           { s.attributes++ }
func (s *spans) Propagate(h http.Header)                         { h.Set("Traceparent", "here") }
func (s *spans) Link(string)                                     { s.attributes++ }
func (s *spans) End(string)                                      { s.ended++ }

// Telemetry sees the same spans as without a trace.
func TestTelemetryIsPassedOn(t *testing.T) {
	t.Parallel()
	r := record.New(record.Spec{}, "turn_1", time.Now())
	below := new(spans)
	ctx := trace.Within(t.Context(), func(trace.Recorder) trace.Recorder { return below })
	ctx = r.Context(ctx, time.Now())
	_, span := trace.Start(ctx, trace.Client, trace.Chat, "m")
	span.String("a", "b")
	span.Int("c", 1)
	span.Float("d", 1)
	span.Link("e")
	if span.Name() != "here" {
		t.Errorf("the span's name is %q", span.Name())
	}
	span.End(nil)
	if diff := cmp.Diff(spans{began: 1, ended: 1, attributes: 4}, *below, cmp.AllowUnexported(spans{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
