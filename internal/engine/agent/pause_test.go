package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// held asks about every call of add.
var held = agent.Config{Hold: func(c tool.Call, spec *tool.Spec) bool { return c.Name == "add" && spec != nil }}

// asking runs an agent and answers what it asks: put receives the question, and decides.
type asking struct {
	*agent.Agent
	put    func(*chat.Paused) string
	decide func(n int, p *chat.Paused) []chat.Decision // nil: the turn ends
}

func (a asking) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	req.Facts.Ask = a.put
	for n := 0; ; n++ {
		result, err := a.Agent.Run(ctx, req, sink)
		if err != nil || result.Paused == nil {
			return result, err
		}
		again := *req
		again.Resumed = &chat.Resumed{By: result.Paused.By, State: result.Paused.State, Usage: result.Paused.Usage, Decisions: a.decide(n, result.Paused)}
		req = &again
	}
}

func always(action chat.Action, change func(*chat.Decision)) func(int, *chat.Paused) []chat.Decision {
	return func(_ int, p *chat.Paused) (list []chat.Decision) {
		for _, c := range p.Questions[0].Calls {
			d := chat.Decision{CallID: c.ID, Action: action, Fingerprint: c.Fingerprint}
			if change != nil {
				change(&d)
			}
			list = append(list, d)
		}
		return list
	}
}

func may(*chat.Paused) string { return "" }

// results returns what went back to the model with its last request.
func results(got outcome) (list []string) {
	for _, m := range got.requests[len(got.requests)-1].Messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				list = append(list, p.Result.Text)
			}
		}
	}
	return list
}

func TestPausedTurns(t *testing.T) {
	t.Parallel()
	twice := []answer{wants(call("a", "add", `{"n":1}`)), wants(call("b", "add", `{"n": 1}`)), says("done")}
	for name, tt := range map[string]struct {
		put     func(*chat.Paused) string
		decide  func(int, *chat.Paused) []chat.Decision
		answers []answer
		call    func(context.Context, tool.Call) (tool.Result, error)
		want    []string
		ran     []string
	}{
		"approved, each by itself": {may, always(chat.Approve, nil), twice, nil, []string{"ok", "ok"}, []string{`add {"n":1}`, `add {"n": 1}`}},
		"rejected, and not asked again": {may, always(chat.Reject, func(d *chat.Decision) { d.Message = "Too dear." }), twice, nil,
			[]string{"Not executed: the user has not allowed this call. Too dear.", "Not executed: the user has not allowed this call. Do not repeat it; do without it, or tell the user."}, nil},
		"modified": {may, always(chat.Modify, func(d *chat.Decision) { d.Arguments = []byte(`{"n":2}`) }),
			[]answer{wants(call("a", "add", `{"n":1}`)), says("done")}, nil,
			[]string{"ok\n[The user changed the arguments; the call was made with {\"n\":2}]"}, []string{`add {"n":2}`}},
		"with a word": {may, always(chat.Approve, func(d *chat.Decision) { d.Message = "Only this once." }),
			[]answer{wants(call("a", "add", `{"n":1}`)), says("done")}, nil, []string{"ok\n[The user says: Only this once.]"}, []string{`add {"n":1}`}},
		"the tool is another one": {may, always(chat.Approve, func(d *chat.Decision) { d.Fingerprint = "another" }),
			[]answer{wants(call("a", "add", `{"n":1}`)), says("done")}, nil,
			[]string{"Not executed: the tool is not the one that was asked about any more. Call it again if it is still needed."}, nil},
		"nobody to ask": {nil, nil, []answer{wants(call("a", "add", `{"n":1}`), call("b", "read", `{}`)), says("done")}, nil,
			[]string{"Not executed: " + chat.NobodyToAsk, "ok"}, []string{"read {}"}},
		"refused by who asks": {func(*chat.Paused) string { return "No." }, nil,
			[]answer{wants(call("a", "add", `{"n":1}`)), says("done")}, nil, []string{"Not executed: No."}, nil},
		"made into one whose outcome is unknown": {may, func(n int, p *chat.Paused) []chat.Decision {
			if n == 0 {
				return always(chat.Approve, nil)(n, p)
			}
			return always(chat.Modify, func(d *chat.Decision) { d.Arguments = []byte(`{"n":1}`) })(n, p)
		}, []answer{wants(call("a", "add", `{"n":1}`)), wants(call("b", "add", `{"n":3}`)), says("done")},
			func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Result{}, &fault.Error{Type: fault.Timeout, Message: "late", Unknown: true}
			},
			[]string{"late. The call was sent, but whether it took effect is not known. Do not call it again; tell the user that the outcome is unknown.",
				"Not executed: the same call was sent before and its outcome is unknown. It must not be repeated; tell the user.\n[The user changed the arguments; the call was made with {\"n\":1}]"},
			[]string{`add {"n":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			s := scene{Config: held, answers: tt.answers}
			s.call = func(ctx context.Context, c tool.Call) (tool.Result, error) {
				ran = append(ran, c.Name+" "+string(c.Arguments))
				if tt.call != nil {
					return tt.call(ctx, c)
				}
				return result(c, "ok"), nil
			}
			s.wrap = func(a *agent.Agent) stream.Runner { return asking{a, tt.put, tt.decide} }
			got := play(t, s)
			if diff := cmp.Diff(tt.want, results(got)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.ran, ran); diff != "" {
				t.Errorf("what ran (-want +got):\n%s", diff)
			}
		})
	}
}

// A turn that another model has taken over pauses, and continues with that one: the state names
// who made each message.
func TestPauseAfterAFallbackToAnotherModel(t *testing.T) {
	t.Parallel()
	var state string
	switched := chunks(
		chat.Chunk{Switch: &chat.Switch{Key: "spare", Model: "m2", Previous: "first", Reason: "unavailable"}},
		chat.Chunk{Maker: "spare/m2", Parts: []chat.Part{{Call: &tool.Call{ID: "a", Name: "add", Arguments: []byte("{}")}, Signature: "sig"}}},
		end(chat.FinishStop),
	)
	s := scene{Config: held, answers: []answer{switched, says("done")}}
	s.wrap = func(a *agent.Agent) stream.Runner {
		return asking{a, func(p *chat.Paused) string { state = string(p.State); return "" }, always(chat.Approve, nil)}
	}
	got := play(t, s)
	last := got.requests[1]
	if last.Answered != "spare" || last.Messages[1].Maker != "spare/m2" || last.Messages[1].Parts[0].Signature != "sig" {
		t.Errorf("the model is sent %+v", last)
	}
	if diff := cmp.Diff([]string{"spare"}, got.done.Models); diff != "" {
		t.Errorf("models %s", diff)
	}
	if !json.Valid([]byte(state)) || !strings.Contains(state, "spare/m2") {
		t.Errorf("state %s", state)
	}
}
