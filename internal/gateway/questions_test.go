package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/geminisim"
	"sluice/internal/offline"
)

// house makes the fleet's gateways those of the example with three agents, whose model is
// the offline one.
func (f *fleet) house(more string) *heard {
	f.t.Helper()
	file, err := os.ReadFile("../../examples/home/sluice.yaml")
	if err != nil {
		f.t.Fatal(err)
	}
	f.file = string(file) + more
	sim := geminisim.New(geminisim.Config{Model: offline.Model{}, Roles: offline.Roles()})
	model := &heard{next: sim}
	f.gemini = model
	f.t.Cleanup(func() {
		for _, failure := range sim.Failures() {
			f.t.Errorf("the model was sent what it does not expect: %s", failure)
		}
	})
	return model
}

// heard keeps what a model was asked.
type heard struct {
	next   http.Handler
	mu     sync.Mutex // guards the field below
	bodies []string
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.mu.Lock()
	h.bodies = append(h.bodies, string(body))
	h.mu.Unlock()
	h.next.ServeHTTP(w, r)
}

// all returns the bodies of the requests so far.
func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.bodies)
}

// turnTold is what tests look at of a turn.
type turnTold struct {
	Decision, Method, Agent string
	Final, Reason, Task     string
	Conversation            string
	Errors                  []string // error_type, of those that are not fatal in brackets
}

// say asks for a turn and returns what it told.
func (p peer) say(t *testing.T, body string) (told turnTold) {
	t.Helper()
	status, text := p.ask(t, http.MethodPost, "/chat/stream", body)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", body, status, text)
	}
	time.Sleep(time.Millisecond) // fake time stands still: which task is the newest is told by it
	for frame := range strings.SplitSeq(text, "\n\n") {
		_, event, _ := strings.Cut(frame, "event: ")
		event, data, ok := strings.Cut(event, "\ndata: ")
		if !ok {
			continue
		}
		var ev struct {
			Decision, Method string
			Agent            string `json:"agent_id"`
			Final            string `json:"final_output"`
			Reason           string `json:"finish_reason"`
			Task             string `json:"task_id"`
			Conversation     string `json:"conversation_id"`
			Type             string `json:"error_type"`
			Fatal            bool
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		switch event {
		case "start":
			told.Task, told.Conversation = ev.Task, ev.Conversation
		case "route":
			told.Decision, told.Method, told.Agent = ev.Decision, ev.Method, ev.Agent
		case "error":
			name := ev.Type
			if !ev.Fatal {
				name = "(" + name + ")"
			}
			told.Errors = append(told.Errors, name)
		case "done":
			told.Final, told.Reason = ev.Final, ev.Reason
		}
	}
	return told
}

// input returns a body; more is further members, with a comma in front.
func input(text, more string) string {
	quoted, _ := json.Marshal(text)
	return `{"input":` + string(quoted) + more + `}`
}

const ofAnn = `,"conversation_id":"conv_1","user_id":"ann"`

// A question makes its task wait. The next input of the conversation answers it, through
// any gateway: it is routed with the request and the question, and the task goes on.
func TestQuestionIsAnsweredByTheNextInput(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		sim := f.house("")
		one, two := f.gateway(nil), f.gateway(nil)
		asked := one.say(t, input("Make it cozy", ofAnn))
		if asked.Decision != "clarify" || asked.Reason != "input_required" {
			t.Fatalf("%+v", asked)
		}
		if state := two.task(t, asked.Task).Status.State; state != "input-required" {
			t.Errorf("the task is %q", state)
		}
		answered := two.say(t, input("the kitchen lights", ofAnn))
		if answered.Task != asked.Task || answered.Decision != "route" || answered.Agent != "light-agent" || answered.Method != "model" || answered.Reason != "stop" {
			t.Errorf("%+v", answered)
		}
		d := one.task(t, asked.Task)
		if d.Status.State != "completed" || len(d.History) != 4 || len(d.Metadata.Turns) != 2 {
			t.Errorf("%+v", d)
		}
		routing := sim.all()[1]
		if want := `User request: Make it cozy\n\nThe assistant asked: ` + asked.Final + `\n\nThe user answered: the kitchen lights`; !strings.Contains(routing, want) {
			t.Errorf("the router was asked\n%s", routing)
		}
		agent := contentsOf(t, sim.all()[2])
		if want := "user: Make it cozy|model: " + asked.Final + "|user: the kitchen lights"; agent != want {
			t.Errorf("the agent got\n%s\nwant\n%s", agent, want)
		}
		next := one.say(t, input("Turn up the volume", ofAnn))
		if next.Task == asked.Task || next.Agent != "music-agent" {
			t.Errorf("what follows: %+v", next)
		}
	})
}

// contentsOf returns the texts of a conversation that the model got.
func contentsOf(t *testing.T, body string) string {
	t.Helper()
	var req struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text             string
				FunctionCall     *struct{ Name string }
				FunctionResponse *struct {
					Name     string
					Response json.RawMessage
				}
				ThoughtSignature string
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range req.Contents {
		text := c.Role + ":"
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				text += " call " + p.FunctionCall.Name
				if p.ThoughtSignature != "" {
					text += " signed"
				}
			case p.FunctionResponse != nil:
				text += " result " + p.FunctionResponse.Name
			default:
				text += " " + p.Text
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "|")
}

// task_id answers the question of a task, whatever came meanwhile; what waits for no
// input, or is another's, is refused.
func TestQuestionIsAnsweredByTaskID(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		f.house("")
		one, two := f.gateway(nil), f.gateway(nil)
		asked := one.say(t, input("Make it cozy", ofAnn))
		for body, want := range map[string]string{
			input("the lights", `,"user_id":"bob","task_id":"`+asked.Task+`"`):                            "unknown_value",
			input("the lights", `,"user_id":"ann","conversation_id":"conv_2","task_id":"`+asked.Task+`"`): "unknown_value",
			input("the lights", `,"user_id":"ann","task_id":"task_00000000000000000000000000"`):           "unknown_value",
		} {
			status, problem := two.ask(t, http.MethodPost, "/chat/stream", body)
			if status != http.StatusUnprocessableEntity || !strings.Contains(problem, `"field":"/task_id","code":"`+want+`"`) {
				t.Errorf("%s: %d %s", body, status, problem)
			}
		}
		answered := two.say(t, input("the lights", `,"user_id":"ann","task_id":"`+asked.Task+`"`))
		if answered.Task != asked.Task || answered.Agent != "light-agent" || answered.Conversation != "conv_1" {
			t.Errorf("%+v", answered)
		}
		if status, problem := two.ask(t, http.MethodPost, "/chat/stream", input("x", `,"user_id":"ann","task_id":"`+asked.Task+`"`)); status != http.StatusUnprocessableEntity || !strings.Contains(problem, "unknown_value") {
			t.Errorf("once more: %d %s", status, problem)
		}
	})
}

// A task that waits for an approval takes no input, and the next input is a request of
// its own.
func TestTaskThatWaitsForAnApproval(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		f.house("")
		one := f.gateway(nil)
		asked := one.say(t, input("Make it cozy", ofAnn))
		task, err := f.store.Task(t.Context(), asked.Task)
		if err != nil {
			t.Fatal(err)
		}
		task.Doc = []byte(`{"id":"x","status":{"state":"input-required"}}`)
		if err := f.store.UpdateTask(t.Context(), asked.Task, task, time.Hour); err != nil {
			t.Fatal(err)
		}
		status, problem := one.ask(t, http.MethodPost, "/chat/stream", input("the lights", `,"user_id":"ann","task_id":"`+asked.Task+`"`))
		if status != http.StatusUnprocessableEntity || !strings.Contains(problem, `"field":"/task_id","code":"not_allowed"`) {
			t.Errorf("%d %s", status, problem)
		}
		if next := one.say(t, input("Turn up the volume", ofAnn)); next.Task == asked.Task || next.Decision != "route" {
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
		inFleetNamed(t, "most"+most, func(t *testing.T, f *fleet) {
			f.house(most + "\n")
			one := f.gateway(nil)
			for i, decision := range want {
				told := one.say(t, input("Make it cozy", ofAnn))
				if told.Decision != decision || (decision == "fallback") != (told.Reason == "stop") {
					t.Errorf("%d: %+v, want %s", i, told, decision)
				}
			}
		})
	}
}

// The router is told who answered last; with hold it is not asked.
func TestStickyConversation(t *testing.T) {
	for sticky, want := range map[string]struct{ method, agent, hint string }{
		"off":  {"model", "music-agent", ""},
		"hint": {"model", "music-agent", "The agent that answered last: light-agent\\n"},
		"hold": {"hold", "light-agent", ""},
	} {
		inFleetNamed(t, sticky, func(t *testing.T, f *fleet) {
			sim := f.house("  sticky: " + sticky + "\n")
			one, two := f.gateway(nil), f.gateway(nil)
			one.say(t, input("Turn on the kitchen lights", ofAnn))
			one.say(t, input("Make it cozy", ofAnn)) // one that was asked back, has not answered
			asked := len(sim.all())
			told := two.say(t, input("Play some jazz music", ofAnn))
			if told.Method != want.method || told.Agent != want.agent {
				t.Errorf("%+v", told)
			}
			if routing := sim.all()[asked]; want.hint != "" && !strings.Contains(routing, want.hint) || want.hint == "" && strings.Contains(routing, "answered last") {
				t.Errorf("the model got\n%s", routing)
			}
			if other := two.say(t, input("Play some jazz music", `,"conversation_id":"conv_2","user_id":"ann"`)); other.Agent != "music-agent" {
				t.Errorf("another conversation: %+v", other)
			}
		})
	}
}
