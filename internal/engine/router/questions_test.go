package router_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
)

// A question makes its task wait. The next input of the conversation answers it, through
// any gateway: it is routed with the request and the question, and the task continues.
func TestQuestionIsAnsweredByTheNextInput(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		sim := f.House("")
		one, two := f.Gateway(nil), f.Gateway(nil)
		asked := one.RunTurn(t, wholetest.Input("Make it cozy", wholetest.OfAnn))
		if asked.Decision != "clarify" || asked.Reason != "input_required" {
			t.Fatalf("%+v", asked)
		}
		if state := two.Task(t, asked.Task).Status.State; state != "input-required" {
			t.Errorf("the task is %q", state)
		}
		answered := two.RunTurn(t, wholetest.Input("the kitchen lights", wholetest.OfAnn))
		if answered.Task != asked.Task || answered.Decision != "route" || answered.Agent != "light-agent" || answered.Method != "model" || answered.Reason != "stop" {
			t.Errorf("%+v", answered)
		}
		d := one.Task(t, asked.Task)
		if d.Status.State != "completed" || len(d.History) != 4 || len(d.Metadata.Turns) != 2 {
			t.Errorf("%+v", d)
		}
		routing := sim.All()[1]
		if want := `User request: Make it cozy\n\nThe assistant asked: ` + asked.Final + `\n\nThe user answered: the kitchen lights`; !strings.Contains(routing, want) {
			t.Errorf("the router was asked\n%s", routing)
		}
		agent := wholetest.ContentsOf(t, sim.All()[2])
		if want := "user: Make it cozy|model: " + asked.Final + "|user: the kitchen lights"; agent != want {
			t.Errorf("the agent got\n%s\nwant\n%s", agent, want)
		}
		next := one.RunTurn(t, wholetest.Input("Turn up the volume", wholetest.OfAnn))
		if next.Task == asked.Task || next.Agent != "music-agent" {
			t.Errorf("what follows: %+v", next)
		}
	})
}

// task_id answers the question of a task, whatever came meanwhile; what waits for no
// input, or is another's, is refused.
func TestQuestionIsAnsweredByTaskID(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.House("")
		one, two := f.Gateway(nil), f.Gateway(nil)
		asked := one.RunTurn(t, wholetest.Input("Make it cozy", wholetest.OfAnn))
		for body, want := range map[string]string{
			wholetest.Input("the lights", `,"user_id":"bob","task_id":"`+asked.Task+`"`):                            "unknown_value",
			wholetest.Input("the lights", `,"user_id":"ann","conversation_id":"conv_2","task_id":"`+asked.Task+`"`): "unknown_value",
			wholetest.Input("the lights", `,"user_id":"ann","task_id":"task_00000000000000000000000000"`):           "unknown_value",
		} {
			status, problem := two.Ask(t, http.MethodPost, "/chat/stream", body)
			if status != http.StatusUnprocessableEntity || !strings.Contains(problem, `"field":"/task_id","code":"`+want+`"`) {
				t.Errorf("%s: %d %s", body, status, problem)
			}
		}
		answered := two.RunTurn(t, wholetest.Input("the lights", `,"user_id":"ann","task_id":"`+asked.Task+`"`))
		if answered.Task != asked.Task || answered.Agent != "light-agent" || answered.Conversation != "conv_1" {
			t.Errorf("%+v", answered)
		}
		if status, problem := two.Ask(t, http.MethodPost, "/chat/stream", wholetest.Input("x", `,"user_id":"ann","task_id":"`+asked.Task+`"`)); status != http.StatusUnprocessableEntity || !strings.Contains(problem, "unknown_value") {
			t.Errorf("once more: %d %s", status, problem)
		}
	})
}

// A task that waits for an approval accepts no input, and the next input is a request of
// its own.
func TestTaskThatWaitsForAnApproval(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.House("")
		one := f.Gateway(nil)
		asked := one.RunTurn(t, wholetest.Input("Make it cozy", wholetest.OfAnn))
		task, err := f.Store.Task(t.Context(), asked.Task)
		if err != nil {
			t.Fatal(err)
		}
		task.Doc = []byte(`{"id":"x","status":{"state":"input-required"}}`)
		if err := f.Store.UpdateTask(t.Context(), asked.Task, task, time.Hour); err != nil {
			t.Fatal(err)
		}
		status, problem := one.Ask(t, http.MethodPost, "/chat/stream", wholetest.Input("the lights", `,"user_id":"ann","task_id":"`+asked.Task+`"`))
		if status != http.StatusUnprocessableEntity || !strings.Contains(problem, `"field":"/task_id","code":"not_allowed"`) {
			t.Errorf("%d %s", status, problem)
		}
		if next := one.RunTurn(t, wholetest.Input("Turn up the volume", wholetest.OfAnn)); next.Task == asked.Task || next.Decision != "route" {
			t.Errorf("%+v", next)
		}
	})
}

// After max_clarifications questions in a row the fallback answers, and then it
// begins again.
func TestQuestionsInARow(t *testing.T) {
	for most, want := range map[string][]string{
		"":                        {"clarify", "clarify", "fallback", "clarify"},
		"  max_clarifications: 0": {"fallback", "fallback"},
		"  max_clarifications: 1": {"clarify", "fallback", "clarify"},
	} {
		wholetest.InFleetNamed(t, "most"+most, func(t *testing.T, f *wholetest.Fleet) {
			f.House(most + "\n")
			one := f.Gateway(nil)
			for i, decision := range want {
				got := one.RunTurn(t, wholetest.Input("Make it cozy", wholetest.OfAnn))
				if got.Decision != decision || (decision == "fallback") != (got.Reason == "stop") {
					t.Errorf("%d: %+v, want %s", i, got, decision)
				}
			}
		})
	}
}

// The router receives who answered last; with hold it is not asked.
func TestStickyConversation(t *testing.T) {
	for sticky, want := range map[string]struct{ method, agent, hint string }{
		"off":  {"model", "music-agent", ""},
		"hint": {"model", "music-agent", "The agent that answered last: light-agent\\n"},
		"hold": {"hold", "light-agent", ""},
	} {
		wholetest.InFleetNamed(t, sticky, func(t *testing.T, f *wholetest.Fleet) {
			sim := f.House("  sticky: " + sticky + "\n")
			one, two := f.Gateway(nil), f.Gateway(nil)
			one.RunTurn(t, wholetest.Input("Turn on the kitchen lights", wholetest.OfAnn))
			one.RunTurn(t, wholetest.Input("Make it cozy", wholetest.OfAnn)) // one that was asked back, has not answered
			asked := len(sim.All())
			got := two.RunTurn(t, wholetest.Input("Play some jazz music", wholetest.OfAnn))
			if got.Method != want.method || got.Agent != want.agent {
				t.Errorf("%+v", got)
			}
			if routing := sim.All()[asked]; want.hint != "" && !strings.Contains(routing, want.hint) || want.hint == "" && strings.Contains(routing, "answered last") {
				t.Errorf("the model got\n%s", routing)
			}
			if other := two.RunTurn(t, wholetest.Input("Play some jazz music", `,"conversation_id":"conv_2","user_id":"ann"`)); other.Agent != "music-agent" {
				t.Errorf("another conversation: %+v", other)
			}
		})
	}
}
