package handlers_test

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/handlers"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// drawer has a checkpoint and a session of whatever task.
type drawer struct{}

func (drawer) Checkpoints(context.Context, string, int, int) ([]jsontext.Value, bool, error) {
	return []jsontext.Value{jsontext.Value(`{}`)}, true, nil
}
func (drawer) Checkpoint(context.Context, string, int) ([]byte, error) { return []byte(`{}`), nil }
func (drawer) Session(context.Context, string, string) ([]byte, error) { return []byte(`{}`), nil }

// Records are shown to whom their task is shown, and to nobody else.
func TestRecordsBelongToTheUserOfTheirTask(t *testing.T) {
	t.Parallel()
	st := memory.New(memory.Config{})
	tasks := task.New(task.Config{Store: st})
	t.Cleanup(tasks.Close)
	const id = "task_00000000000000000000000000"
	owner := task.Caller{Principal: chat.Principal{Tenant: "t", ID: "ann"}}.Owner()
	if err := st.CreateTask(t.Context(), id, store.Task{Doc: []byte(`{}`), Meta: store.Meta{Tenant: "t", User: owner, State: task.Completed}}, 0); err != nil {
		t.Fatal(err)
	}
	g := serve(t, handlers.Config{Door: byHeader{}, Keeping: handlers.Keeping{Tasks: tasks, Records: drawer{}}})
	for _, path := range []string{"/checkpoints", "/checkpoints/0", "/sessions/s"} {
		for _, tt := range []struct {
			tenant, id string
			want       int
		}{{"t", "ann", 200}, {"t", "bob", 404}, {"u", "ann", 404}} {
			if got := g.do(t, "GET", "/tasks/"+id+path, "", "X-Tenant: "+tt.tenant, "X-Principal: "+tt.id); got.status != tt.want {
				t.Errorf("%s as %v: %d %s", path, tt, got.status, got.body)
			}
		}
	}
	if got := g.do(t, "GET", "/tasks/"+id+"/checkpoints?cursor=4", "", "X-Tenant: t", "X-Principal: ann"); got.body != `{"checkpoints":[{}],"next_cursor":"5"}` && got.body != `{"checkpoints":[{}],"next_cursor":"5"}`+"\n" {
		t.Errorf("a page: %q", got.body)
	}
}
