package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/router"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// script is an agent that does what was asked of it, one function an attempt.
type script []func(ctx context.Context, req *chat.Request, sink stream.Sink) error

type scripted struct {
	attempts script
	n        *int
}

func (s scripted) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	n := *s.n
	*s.n++
	err := s.attempts[min(n, len(s.attempts)-1)](ctx, req, sink)
	result := stream.Result{Usage: chat.Usage{InputTokens: 1, OutputTokens: 1}}
	if err == nil {
		result.Reason = stream.Stop
	}
	return result, err
}

func agentOf(id string, attempts ...func(context.Context, *chat.Request, stream.Sink) error) router.Agent {
	return router.Agent{ID: id, Description: "Does " + id, Runner: scripted{attempts, new(int)}}
}

// says emits pieces of text, with a pause before each.
func says(pause time.Duration, pieces ...string) func(context.Context, *chat.Request, stream.Sink) error {
	return func(ctx context.Context, _ *chat.Request, sink stream.Sink) error {
		for _, p := range pieces {
			if pause > 0 {
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return fault.Cause(ctx)
				}
			}
			if err := sink.Emit(&stream.Delta{Text: p}); err != nil {
				return err
			}
			if err := sink.Flush(); err != nil {
				return err
			}
		}
		return nil
	}
}

func failing(t fault.Type) func(context.Context, *chat.Request, stream.Sink) error {
	return func(context.Context, *chat.Request, stream.Sink) error {
		return &fault.Error{Type: t, Message: "it does not work"}
	}
}

// asker answers with its choices, one a call.
type asker []any

func (a *asker) Ask(context.Context, *router.Question) (router.Reply, error) {
	next := (*a)[0]
	*a = (*a)[1:]
	switch next := next.(type) {
	case error:
		return router.Reply{Attempts: 1}, next
	case router.Reply:
		return next, nil
	}
	return router.Reply{JSON: []byte(next.(string)), Attempts: 1, Model: "default"}, nil
}

// record keeps what was emitted, in short.
type record struct{ lines []string }

func (r *record) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Delta:
		r.lines = append(r.lines, fmt.Sprintf("%s> %s", ev.AgentID, ev.Text))
	case *stream.Route:
		r.lines = append(r.lines, fmt.Sprintf("route %s %s %v %s %q", ev.Decision, ev.AgentID, ev.Additional, ev.Method, ev.Reasoning))
	case *stream.AgentRun:
		r.lines = append(r.lines, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", ev.AgentID, ev.Status, ev.Attempt, ev.ErrorMessage)))
	case *stream.Error:
		r.lines = append(r.lines, fmt.Sprintf("error %s %s fatal=%v", ev.AgentID, ev.Type, ev.Fatal))
	case *stream.Done:
		r.lines = append(r.lines, fmt.Sprintf("done %s agents=%d", ev.Reason, len(ev.Agents)))
	case *stream.ToolStarted:
		r.lines = append(r.lines, fmt.Sprintf("%s call %s", ev.AgentID, ev.ID))
	}
	return nil
}

func (r *record) Flush() error { return nil }

func run(t *testing.T, cfg router.Config, req *chat.Request) []string {
	t.Helper()
	sink := new(record)
	frame := stream.Frame{Runner: router.New(cfg), Model: "m", Timeout: time.Minute}
	if err := frame.Run(t.Context(), req, sink); err != nil {
		t.Fatal(err)
	}
	return sink.lines
}

func choose(primary string, confidence float64, additional ...string) string {
	b, _ := json.Marshal(map[string]any{"agentId": primary, "confidence": confidence, "reasoning": "because", "additionalAgents": additional})
	return string(b)
}

func TestTurnsOfATeam(t *testing.T) {
	t.Parallel()
	lights := func() router.Agent { return agentOf("lights", says(10*time.Millisecond, "The lights", " are dim.")) }
	music := func() router.Agent { return agentOf("music", says(0, "Jazz plays")) }
	for name, tt := range map[string]struct {
		agents []router.Agent
		choice any
		change func(*router.Config)
		want   []string
	}{
		"one agent": {
			[]router.Agent{lights(), music()}, choose("lights", 0.9), nil,
			[]string{`route route lights [] model "because"`, "lights started 1", "lights> The lights", "lights>  are dim.", "lights completed 1", "done stop agents=1"},
		},
		"two agents in order": {
			[]router.Agent{lights(), music()}, choose("lights", 0.9, "music", "music", "nobody", "lights"), nil,
			[]string{`route route lights [music] model "because"`, "lights started 1", "music started 1", "music completed 1",
				"lights> The lights", "lights>  are dim.", "lights completed 1", ">  ", "music> Jazz plays", "done stop agents=2"},
		},
		"unsure": {
			[]router.Agent{lights(), music()}, choose("lights", 0.5), nil,
			[]string{`route clarify clarification-agent [] model "because"`, "> I am not sure how to help with that. What would you like me to do? I can ask: lights, music.", "done input_required agents=0"},
		},
		"none fits": {
			[]router.Agent{lights(), music()}, choose("fallback-agent", 1), nil,
			[]string{`route fallback fallback-agent [] model "because"`, "> None of my agents can help with that request.", "done stop agents=0"},
		},
		"unknown": {
			[]router.Agent{lights(), music()}, choose("tv", 1), nil,
			[]string{`route fallback fallback-agent [] model "Model suggested unknown agent 'tv'."`, "> None of my agents can help with that request.", "error  routing_failed fatal=true", "done error agents=0"},
		},
		"unreadable": {
			[]router.Agent{lights(), music()}, fmt.Errorf("x: %w", router.ErrUnreadable), nil,
			[]string{`route fallback fallback-agent [] model "No readable answer."`, "> None of my agents can help with that request.", "error  routing_failed fatal=true", "done error agents=0"},
		},
		"model away": {
			[]router.Agent{lights(), music()}, &fault.Error{Type: fault.ModelUnavailable, Message: "m"}, nil,
			[]string{`route fallback fallback-agent [] model "Routing failed: model_unavailable."`, "> None of my agents can help with that request.", "error  model_unavailable fatal=true", "done error agents=0"},
		},
		"a fallback agent answers": {
			[]router.Agent{lights(), music(), agentOf("fallback-agent", says(0, "Sorry."))}, choose("tv", 1), nil,
			[]string{`route fallback fallback-agent [] model "Model suggested unknown agent 'tv'."`, "fallback-agent started 1", "fallback-agent> Sorry.", "fallback-agent completed 1", "done stop agents=1"},
		},
		"no agent": {
			nil, nil, nil,
			[]string{`route fallback fallback-agent [] none "No registered agents available for routing."`, "> None of my agents can help with that request.", "error  agent_unavailable fatal=true", "done error agents=0"},
		},
		"one of two fails": {
			[]router.Agent{lights(), agentOf("music", failing(fault.ModelError))}, choose("music", 0.9, "lights"), nil,
			[]string{`route route music [lights] model "because"`, "music started 1", "lights started 1", "music failed 1 it does not work", "error music agent_failed fatal=false",
				"lights> The lights", "lights>  are dim.", "lights completed 1", ">  However, music could not help: it does not work", "done stop agents=2"},
		},
		"all fail": {
			[]router.Agent{agentOf("lights", failing(fault.ModelError)), agentOf("music", failing(fault.ModelBlocked))}, choose("lights", 0.9, "music"),
			func(c *router.Config) { c.Dispatch.Sequential = true },
			[]string{`route route lights [music] model "because"`, "lights started 1", "lights failed 1 it does not work", "error lights agent_failed fatal=false",
				"music started 1", "music failed 1 it does not work", "error music agent_failed fatal=false",
				"> I encountered an issue processing your request. Please try again.", "error  model_error fatal=true", "done error agents=2"},
		},
		"tried again": {
			[]router.Agent{agentOf("lights", failing(fault.ModelUnavailable), says(0, "Done.")), music()}, choose("lights", 0.9), nil,
			[]string{`route route lights [] model "because"`, "lights started 1", "lights retrying 2", "lights> Done.", "lights completed 2", "done stop agents=1"},
		},
		"panic": {
			[]router.Agent{agentOf("lights", func(context.Context, *chat.Request, stream.Sink) error { panic("no") }), agentOf("music", says(10*time.Millisecond, "Jazz plays"))}, choose("lights", 0.9, "music"), nil,
			[]string{`route route lights [music] model "because"`, "lights started 1", "music started 1", "lights failed 1 Something went wrong on our side", "error lights agent_failed fatal=false",
				"music> Jazz plays", "music completed 1", ">  However, lights could not help: Something went wrong on our side", "done stop agents=2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := router.Defaults()
				cfg.Agents, cfg.Asker = tt.agents, &asker{tt.choice}
				if tt.change != nil {
					tt.change(&cfg)
				}
				got := run(t, cfg, &chat.Request{Input: "Dim the lights and play jazz"})
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

// An unsure model's question is put to another one. The event counts the calls of both.
func TestUnsureModelsDecisionIsEscalated(t *testing.T) {
	t.Parallel()
	unsure := router.Reply{JSON: []byte(choose("music", 0.5)), Attempts: 2, Model: "small"}
	for name, tt := range map[string]struct {
		second any
		want   stream.Route
	}{
		"sure": {
			router.Reply{JSON: []byte(choose("lights", 0.9)), Attempts: 3, Model: "large"},
			stream.Route{Decision: stream.Routed, AgentID: "lights", Confidence: 0.9, Attempts: 5, Model: "large"},
		},
		"unavailable": {
			&fault.Error{Type: fault.ModelUnavailable, Message: "m"},
			stream.Route{Decision: stream.Clarified, AgentID: "clarification-agent", Confidence: 0.5, Attempts: 3, Model: "small"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := router.Defaults()
			cfg.Agents = []router.Agent{agentOf("lights", says(0, "Dim.")), agentOf("music", says(0, "Jazz."))}
			cfg.Asker, cfg.Escalate = &asker{unsure, tt.second}, "large"
			var got stream.Route
			sink := emits(func(ev stream.Event) {
				if route, ok := ev.(*stream.Route); ok {
					got = *route
				}
			})
			if _, err := router.New(cfg).Run(t.Context(), &chat.Request{Input: "hi"}, sink); err != nil {
				t.Fatal(err)
			}
			tt.want.Additional, tt.want.Method, tt.want.Reasoning, tt.want.Millis = []string{}, "model", "because", got.Millis
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// emits is a sink that hands its events on.
type emits func(stream.Event)

func (e emits) Emit(ev stream.Event) error {
	e(ev)
	return nil
}

func (e emits) Flush() error { return nil }

// The agent that asked the user gets the reply, unless the request names another one; and
// a rule looks at the user's words, not at those of the question.
func TestReplyGoesToWhoAsked(t *testing.T) {
	t.Parallel()
	asks := func(_ context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
		return stream.Result{Reason: stream.InputRequired}, sink.Emit(&stream.Delta{Text: "Which one?"})
	}
	team := func() router.Config {
		cfg := router.Defaults()
		cfg.Agents = []router.Agent{agentOf("a", says(0, "A")), {ID: "b", Description: "Does b", Runner: runnerFunc(asks)}}
		cfg.Rules = []router.Rule{{Match: regexp.MustCompile("Which"), Agents: []string{"a"}}}
		cfg.Asker = &asker{choose("a", 1)}
		return cfg
	}
	question := &chat.Clarification{Said: []chat.HistoryMessage{{Role: chat.RoleUser, Text: "Do it"}, {Role: chat.RoleModel, Text: "Which one?"}}, AgentID: "b"}
	for name, tt := range map[string]struct {
		req  chat.Request
		want string
	}{
		"the asker":    {chat.Request{Input: "x", Past: chat.Past{Question: question}}, `route route b [] sticky ""`},
		"another one":  {chat.Request{Input: "x", Past: chat.Past{Question: question}, Agent: "a"}, `route route a [] requested ""`},
		"the router's": {chat.Request{Input: "x", Past: chat.Past{Question: &chat.Clarification{Said: question.Said}}}, `route route a [] model "because"`},
		"gone":         {chat.Request{Input: "x", Past: chat.Past{Question: &chat.Clarification{Said: question.Said, AgentID: "c"}}}, `route route a [] model "because"`},
	} {
		if lines := run(t, team(), &tt.req); lines[0] != tt.want {
			t.Errorf("%s: %q", name, lines[0])
		}
	}
	result, err := router.New(team()).Run(t.Context(), &chat.Request{Input: "x", Past: chat.Past{Question: question}}, new(record))
	if err != nil || result.Reason != stream.InputRequired || result.Asker != "b" {
		t.Errorf("%v, %+v", err, result)
	}
}

type runnerFunc func(context.Context, *chat.Request, stream.Sink) (stream.Result, error)

func (f runnerFunc) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	return f(ctx, req, sink)
}
