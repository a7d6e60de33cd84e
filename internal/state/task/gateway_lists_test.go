package task_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// slowLists is a store whose lists of tasks wait.
type slowLists struct {
	*memory.Store
	wait func()
}

func (s *slowLists) Tasks(ctx context.Context, q store.Query) (store.Page, error) {
	if wait := s.wait; wait != nil {
		wait()
	}
	return s.Store.Tasks(ctx, q)
}

// Eight lists are made at once, of all routes that reply with one; the next one of any route is refused
// at once. One user's lists do not take the processor from all turns.
func TestListsOfAllRoutesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := &slowLists{Store: memory.New(memory.Config{})}
		f := &wholetest.Fleet{T: t, Store: in, File: "a2a: {enabled: true}\n", Gemini: wholetest.InPieces{Speaking: wholetest.NewSpeaking(3, true)}}
		p := f.Gateway(map[string]string{"SLUICE_CHATKIT_HISTORY": "store", "SLUICE_CONFIRM": "writes"})
		ask := func(method, path, body string) (int, string) {
			req, err := http.NewRequestWithContext(t.Context(), method, "http://gateway"+path, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return 0, ""
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("A2A-Version", "1.0")
			resp, err := p.Client.Do(req)
			if err != nil {
				t.Error(err)
				return 0, ""
			}
			defer resp.Body.Close()
			text, _ := io.ReadAll(resp.Body)
			return resp.StatusCode, string(text)
		}
		_, began := ask("POST", "/chat/stream", `{"input":"hi","user_id":"ann","conversation_id":"conv_1"}`)
		_, task, _ := strings.Cut(began, `"task_id":"`)
		task, _, _ = strings.Cut(task, `"`)
		routes := []struct{ method, path, body string }{
			{"GET", "/tasks?user_id=ann&conversation_id=conv_1", ""}, {"GET", "/approvals?user_id=ann", ""},
			{"GET", "/tasks/" + task + "/checkpoints?user_id=ann", ""}, {"GET", "/a2a/rest/tasks?contextId=conv_1", ""},
			{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"contextId":"conv_1"}}`},
			{"POST", "/chatkit", `{"type":"threads.list","params":{}}`}, {"POST", "/chatkit", `{"type":"items.list","params":{"thread_id":"conv_1"}}`},
			{"POST", "/chatkit", `{"type":"threads.get_by_id","params":{"thread_id":"conv_1"}}`},
		}
		for _, r := range routes {
			if status, body := ask(r.method, r.path, r.body); status == http.StatusServiceUnavailable {
				t.Errorf("%s %s with places: %d %s", r.method, r.path, status, body)
			}
		}
		held := make(chan struct{})
		in.wait = func() { <-held }
		var lists sync.WaitGroup
		for range 8 {
			lists.Go(func() {
				if status, body := ask("GET", routes[0].path, ""); status != http.StatusOK {
					t.Errorf("a list: %d %s", status, body)
				}
			})
		}
		synctest.Wait()
		for _, r := range routes {
			if status, body := ask(r.method, r.path, r.body); status != http.StatusServiceUnavailable || !strings.Contains(body, "overloaded") && !strings.Contains(body, "Too many lists") {
				t.Errorf("%s %s %s as the ninth: %d %s", r.method, r.path, r.body, status, body)
			}
		}
		close(held)
		lists.Wait()
	})
}
