package task_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/internal/app/gateway/wholetest"
)

// A task says in each state, in a sentence, how it stands, and never with its answer.
func TestStatusSaysHowATaskStands(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		g := f.Gateway(nil)
		resp := g.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created)
		_, id, _ := wholetest.StartOf(t, resp)
		status := func() (state, message string) {
			_, text := g.Ask(t, http.MethodGet, "/tasks/"+id, "")
			var d struct {
				Status struct {
					State   string
					Message struct{ Content string }
				}
			}
			_ = json.Unmarshal([]byte(text), &d)
			return d.Status.State, d.Status.Message.Content
		}
		for _, want := range []string{"working", "completed"} {
			if state, message := status(); state != want || len(message) < 10 || strings.Contains(message, "word") {
				t.Errorf("%s: %q, want it %s with a sentence", state, message, want)
			}
			_, _ = io.Copy(io.Discard, resp.Body) // to the end of the turn
		}
	})
}

// The first task to which a message of A2A refers is the parent of its task.
func TestReferencedTaskIsTheParent(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.File = "a2a: {enabled: true}\nagents: {one: {description: d}}\n"
		g := f.Gateway(nil)
		_, text := g.Ask(t, http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"0199aa00-0000-7000-8000-000000000001","role":"ROLE_USER","parts":[{"text":"hi"}],"referenceTaskIds":["task_parent","task_other"]}}}`, "A2A-Version", "1.0")
		var reply struct {
			Result struct {
				Task struct{ ID string }
			}
		}
		if err := json.Unmarshal([]byte(text), &reply); err != nil || reply.Result.Task.ID == "" {
			t.Fatalf("%v: %s", err, text)
		}
		_, doc := g.Ask(t, http.MethodGet, "/tasks/"+reply.Result.Task.ID, "")
		if !strings.Contains(doc, `"parentTaskId":"task_parent"`) {
			t.Errorf("the task is %s", doc)
		}
	})
}
