package task_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// A turn continues when its client leaves, and another gateway reports the whole of it.
func TestTurnOutlivesItsClient(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, two := f.Gateway(nil), f.Gateway(nil)
		ctx, leave := context.WithCancel(t.Context())
		_, task, turn := wholetest.StartOf(t, one.Send(t, ctx, http.MethodPost, "/chat/stream", wholetest.Created))
		if state := two.Task(t, task).Status.State; state != "working" {
			t.Errorf("the task is %q", state)
		}
		leave()
		status, rest := two.Resume(t, "/tasks/"+task+"/events", turn+":1")
		if status != http.StatusOK || strings.Count(rest, "event: response_delta") != 5 || strings.Count(rest, "event: done") != 1 || !strings.Contains(rest, `"success":true`) {
			t.Errorf("%d\n%s", status, rest)
		}
		_, all := two.Ask(t, http.MethodGet, "/tasks/"+task+"/events", "")
		if !strings.HasPrefix(all, "retry: 1000\nid: "+turn+":1\n") || !strings.HasSuffix(all, rest) {
			t.Errorf("from the first event\n%s", all)
		}
		synctest.Wait()
		d := two.Task(t, task)
		if d.Status.State != "completed" || d.ContextID != "conv_1" || len(d.History) != 2 || d.Artifacts[0].Parts[0].Text != "word word word word word " {
			t.Errorf("%+v", d)
		}
	})
}

// on_disconnect=cancel ends the turn with its client, and its log with done.
func TestTurnEndsWithItsClientIfAsked(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, two := f.Gateway(nil), f.Gateway(nil)
		ctx, leave := context.WithCancel(t.Context())
		_, task, _ := wholetest.StartOf(t, one.Send(t, ctx, http.MethodPost, "/chat/stream", `{"input":"hi","on_disconnect":"cancel"}`))
		leave()
		synctest.Wait()
		_, all := two.Ask(t, http.MethodGet, "/tasks/"+task+"/events", "")
		if strings.Count(all, "event: response_delta") != 1 || !strings.Contains(all, `"finish_reason":"cancelled"`) {
			t.Errorf("got\n%s", all)
		}
		if state := two.Task(t, task).Status.State; state != "canceled" {
			t.Errorf("the task is %q", state)
		}
	})
}

// calling is a runner that begins a call and waits for the turn's end.
type calling struct{}

func (calling) Run(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	for _, ev := range []stream.Event{&stream.ToolStarted{Call: stream.Call{ID: "c1", Tool: "add", Server: "todo"}}, &stream.Delta{Text: "wait "}} {
		_ = sink.Emit(ev)
	}
	_ = sink.Flush()
	<-ctx.Done()
	return stream.Result{}, context.Cause(ctx)
}

// A call that was under way when its turn ended with its client has in the metrics the outcome
// that the log gives it.
func TestCallOfATurnThatEndsWithItsClient(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.Runner = calling{}
		one := f.Gateway(nil)
		ctx, leave := context.WithCancel(t.Context())
		_, task, _ := wholetest.StartOf(t, one.Send(t, ctx, http.MethodPost, "/chat/stream", `{"input":"hi","on_disconnect":"cancel"}`))
		leave()
		synctest.Wait()
		if _, all := one.Ask(t, http.MethodGet, "/tasks/"+task+"/events", ""); strings.Count(all, `"status":"unknown"`) != 1 {
			t.Errorf("the log has\n%s", all)
		}
		_, text := one.Ask(t, http.MethodGet, "/metrics", "")
		if !strings.Contains(text, "\nsluice_tool_calls_total{outcome=\"unknown\",server=\"todo\"} 1\n") || strings.Contains(text, "\nsluice_tool_call_seconds_count{") {
			t.Errorf("the metrics do not count the call, or have a time of it:\n%s", text)
		}
	})
}

// tasks.on_disconnect holds where a request does not say what becomes of its turn.
func TestTurnEndsWithItsClientIfConfigured(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.File = "tasks: {on_disconnect: cancel, event_ttl: 1m, ttl: 2m}"
		one := f.Gateway(nil)
		for said, want := range map[string]string{"": "canceled", `,"on_disconnect":"continue"`: "completed"} {
			ctx, leave := context.WithCancel(t.Context())
			_, task, _ := wholetest.StartOf(t, one.Send(t, ctx, http.MethodPost, "/chat/stream", `{"input":"hi"`+said+`}`))
			leave()
			time.Sleep(20 * time.Second)
			if state := one.Task(t, task).Status.State; state != want {
				t.Errorf("%q: the task is %q", said, state)
			}
			time.Sleep(90 * time.Second)
			if status, _ := one.Resume(t, "/tasks/"+task+"/events", ""); status != http.StatusNoContent {
				t.Errorf("%q: its events are there after event_ttl: %d", said, status)
			}
			time.Sleep(time.Minute)
			if status, _ := one.Ask(t, http.MethodGet, "/tasks/"+task, ""); status != http.StatusNotFound {
				t.Errorf("%q: it is there after ttl: %d", said, status)
			}
		}
	})
}

// A cancel reaches the turn through any gateway within a second.
func TestCancelFromElsewhere(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, two := f.Gateway(nil), f.Gateway(nil)
		resp := one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created)
		_, task, _ := wholetest.StartOf(t, resp)
		began := time.Now()
		if status, doc := two.Ask(t, http.MethodPost, "/tasks/"+task+"/cancel", ""); status != http.StatusAccepted || !strings.Contains(doc, task) {
			t.Errorf("%d %s", status, doc)
		}
		rest, err := io.ReadAll(resp.Body)
		if elapsed := time.Since(began); err != nil || elapsed > time.Second {
			t.Errorf("ended after %v with %v", elapsed, err)
		}
		if got := string(rest); !strings.Contains(got, `"error_type":"cancelled"`) || !strings.Contains(got, `"finish_reason":"cancelled"`) {
			t.Errorf("got\n%s", got)
		}
		synctest.Wait()
		if status, doc := two.Ask(t, http.MethodPost, "/tasks/"+task+"/cancel", ""); status != http.StatusOK || !strings.Contains(doc, `"state":"canceled"`) {
			t.Errorf("again: %d %s", status, doc)
		}
		_, done, _ := wholetest.StartOf(t, one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created))
		time.Sleep(20 * time.Second)
		if status, problem := two.Ask(t, http.MethodPost, "/tasks/"+done+"/cancel", ""); status != http.StatusConflict || !strings.Contains(problem, "task_not_cancelable") {
			t.Errorf("one that has ended: %d %s", status, problem)
		}
	})
}

// A turn whose client is gone is counted at once, also while nothing is written to it, and no
// more when it is over.
func TestTurnsWithoutAClientAreCounted(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one := f.Gateway(nil)
		counted := func(want string) {
			t.Helper()
			synctest.Wait()
			if _, text := one.Ask(t, http.MethodGet, "/metrics", ""); !strings.Contains(text, "\nsluice_turns_detached "+want+"\n") {
				t.Errorf("not %s:\n%s", want, text)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		wholetest.StartOf(t, one.Send(t, ctx, http.MethodPost, "/chat/stream", wholetest.Created))
		counted("0")
		leave()
		counted("1")
		time.Sleep(20 * time.Second)
		counted("0")
		ctx, leave = context.WithCancel(t.Context())
		wholetest.StartOf(t, one.Send(t, ctx, http.MethodPost, "/chat/stream", strings.Replace(wholetest.Created, "{", `{"on_disconnect":"cancel",`, 1)))
		leave()
		counted("0")
	})
}

// A reader of a turn that runs is admitted where all places of turns are taken.
func TestReaderWhileFull(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one := f.Gateway(map[string]string{"SLUICE_MAX_STREAMS": "1"})
		_, task, turn := wholetest.StartOf(t, one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created))
		if status, _ := one.Ask(t, http.MethodPost, "/chat/stream", wholetest.Created); status != http.StatusServiceUnavailable {
			t.Errorf("another turn: %d", status)
		}
		if status, rest := one.Resume(t, "/chat/stream", turn+":1"); status != http.StatusOK || !strings.Contains(rest, "event: done\n") {
			t.Errorf("%d %s", status, rest)
		}
		if status, all := one.Ask(t, http.MethodGet, "/tasks/"+task+"/events", ""); status != http.StatusOK || !strings.Contains(all, "event: done\n") {
			t.Errorf("%d %s", status, all)
		}
	})
}

// A repeated key attaches to its turn from the first event, on any gateway, and runs
// nothing.
func TestRepeatedKeyAttaches(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, two := f.Gateway(nil), f.Gateway(nil)
		resp := one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created, "Idempotency-Key", "key-12345")
		first, _, turn := wholetest.StartOf(t, resp)
		again := two.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created, "Idempotency-Key", "key-12345")
		got, err := io.ReadAll(again.Body)
		if err != nil || again.Header.Get("X-Sluice-Replayed") != "true" {
			t.Errorf("%v, headers %v", err, again.Header)
		}
		rest, _ := io.ReadAll(resp.Body)
		if diff := cmp.Diff(first, string(got)[:len(first)]); diff != "" || !strings.HasSuffix(string(got), string(rest)) || f.Runs != 1 {
			t.Errorf("%d runs, (-first +again):\n%s", f.Runs, diff)
		}
		other := strings.Replace(wholetest.Created, "hi", "ho", 1)
		if status, problem := two.Ask(t, http.MethodPost, "/chat/stream", other, "Idempotency-Key", "key-12345"); status != http.StatusUnprocessableEntity || !strings.Contains(problem, "key_reused") {
			t.Errorf("another body: %d %s", status, problem)
		}
		if err := f.Store.DropLog(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		if status, problem := two.Ask(t, http.MethodPost, "/chat/stream", wholetest.Created, "Idempotency-Key", "key-12345"); status != http.StatusConflict || !strings.Contains(problem, "duplicate_request") {
			t.Errorf("without its log: %d %s", status, problem)
		}
	})
}

// What cannot be resumed is answered as without a store.
func TestNothingToResume(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one := f.Gateway(nil)
		_, task, turn := wholetest.StartOf(t, one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created))
		time.Sleep(20 * time.Second)
		for _, id := range []string{"1", "req_1:2", turn, turn + ":", turn + ":-1", turn + ":01", turn + ":99999999999", "turn_00000000000000000000000000:1", strings.Repeat("x", 5000)} {
			for _, path := range []string{"/chat/stream?input=hi", "/tasks/" + task + "/events"} {
				if status, body := one.Resume(t, path, id); status != http.StatusNoContent || body != "" {
					t.Errorf("%s behind %.60q: %d %q", path, id, status, body)
				}
			}
		}
		status, body := one.Resume(t, "/chat/stream", turn+":500") // it received more than the log got
		if _, whole := one.Resume(t, "/chat/stream", turn+":1"); status != http.StatusOK || strings.Count(body, "event: ") != 1 || !strings.HasSuffix(whole, body) || !strings.Contains(body, "event: done\n") {
			t.Errorf("ahead of the log: %d %q", status, body)
		}
		for _, id := range []string{"task_00000000000000000000000000", "x", turn} {
			if status, problem := one.Ask(t, http.MethodGet, "/tasks/"+id+"/events", ""); status != http.StatusNotFound {
				t.Errorf("%s: %d %s", id, status, problem)
			}
		}
		if f.Runs != 1 {
			t.Errorf("%d runs", f.Runs)
		}
	})
}

// Tasks are listed by conversation and user, newest first, and forgotten by both.
func TestTasksOfAConversation(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one := f.Gateway(nil)
		var ids []string
		for range 3 {
			resp := one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created)
			_, task, _ := wholetest.StartOf(t, resp)
			ids = append([]string{task}, ids...)
			time.Sleep(time.Second)
		}
		listed := func(query string) (got []string) {
			for cursor := ""; ; {
				_, text := one.Ask(t, http.MethodGet, "/tasks?limit=2&conversation_id=conv_1"+query+"&cursor="+cursor, "")
				var page struct {
					Tasks []wholetest.Document
					Next  string `json:"next_cursor"`
				}
				if err := json.Unmarshal([]byte(text), &page); err != nil {
					t.Fatalf("%v in %s", err, text)
				}
				for _, d := range page.Tasks {
					got = append(got, d.ID)
				}
				if cursor = page.Next; cursor == "" {
					return got
				}
			}
		}
		if diff := cmp.Diff(ids, listed("&user_id=ann")); diff != "" {
			t.Errorf("ann's (-want +got):\n%s", diff)
		}
		if got := listed(""); got != nil {
			t.Errorf("nobody's: %v", got)
		}
		for _, query := range []string{"", "?conversation_id=x&limit=0", "?conversation_id=conv_1&state=gone", "?conversation_id=conv_1&cursor=x", "?conversation_id=conv_1&limit=101"} {
			if status, problem := one.Ask(t, http.MethodGet, "/tasks"+query, ""); status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", query, status, problem)
			}
		}
		if status, _ := one.Ask(t, http.MethodDelete, "/conversations/conv_1?user_id=bob", ""); status != http.StatusNoContent || len(listed("&user_id=ann")) != 3 {
			t.Errorf("another's: %d", status)
		}
		if status, body := one.Ask(t, http.MethodDelete, "/conversations/conv_1?user_id=ann", ""); status != http.StatusNoContent {
			t.Errorf("%d %s", status, body)
		}
		if got := listed("&user_id=ann"); got != nil {
			t.Errorf("after that: %v", got)
		}
		if status, _ := one.Ask(t, http.MethodGet, "/tasks/"+ids[0]+"/events", ""); status != http.StatusNotFound {
			t.Errorf("its events: %d", status)
		}
	})
}

// Without a store nothing of it is there.
func TestWithoutAStore(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.Store = nil
		one := f.Gateway(nil)
		for _, path := range []string{"/tasks?conversation_id=conv_1", "/tasks/x", "/tasks/x/events"} {
			if status, _ := one.Ask(t, http.MethodGet, path, ""); status != http.StatusNotFound {
				t.Errorf("%s: %d", path, status)
			}
		}
		for field, value := range map[string]string{"on_disconnect": "continue", "task_id": "task_00000000000000000000000000"} {
			status, problem := one.Ask(t, http.MethodPost, "/chat/stream", `{"input":"hi","`+field+`":"`+value+`"}`)
			if status != http.StatusUnprocessableEntity || !strings.Contains(problem, `"not_configured"`) {
				t.Errorf("%s: %d %s", field, status, problem)
			}
		}
		if status, _ := one.Ask(t, http.MethodPost, "/chat/stream", `{"input":"hi","on_disconnect":"cancel"}`); status != http.StatusOK {
			t.Errorf("on_disconnect=cancel: %d", status)
		}
		if _, ready := one.Ask(t, http.MethodGet, "/readyz", ""); strings.Contains(ready, `"store"`) {
			t.Errorf("readyz: %s", ready)
		}
	})
}

// lapsing is the store of a gateway that is stopped for long: it does not renew its lease.
type lapsing struct {
	store.Store
	stopped *atomic.Bool
}

func (l lapsing) RenewLease(ctx context.Context, h store.Holder, ttl time.Duration) error {
	if l.stopped.Load() {
		return nil
	}
	return l.Store.RenewLease(ctx, h, ttl)
}

// A gateway that was stopped past its lease and comes back reports nothing to its client that the
// log does not have: the stream breaks off, and continues from the log as another gateway
// closed it.
func TestStreamOfAFencedGateway(t *testing.T) {
	t.Parallel()
	for _, again := range repetitions[:4] {
		wholetest.InFleetNamed(t, again.name, func(t *testing.T, f *wholetest.Fleet) {
			stopped, shared := new(atomic.Bool), f.Store
			f.Store, f.Words, f.File = lapsing{shared, stopped}, 40, overA2A
			one := f.Gateway(nil)
			f.Store = shared
			two := f.Gateway(nil)
			time.AfterFunc(2500*time.Millisecond, func() { stopped.Store(true) })
			req, err := http.NewRequestWithContext(t.Context(), again.method, "http://gateway"+again.path, strings.NewReader(again.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := one.Client.Do(req)
			if again.rpc { // nothing was sent
				if err == nil {
					t.Errorf("the reply is %d", resp.StatusCode)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			if err == nil || strings.Contains(string(body), "turn_lost") || strings.Contains(string(body), "event: done") || strings.Count(string(body), "word ") < 3 {
				t.Errorf("%v after\n%s", err, body)
			}
			ids := wholetest.KeptID.FindAllStringSubmatch(string(body), -1)
			if ids == nil {
				return // ChatKit has none
			}
			turn := ids[0][1]
			last := ids[len(ids)-1]
			status, rest := two.Resume(t, "/chat/stream", last[1]+":"+last[2])
			if status != http.StatusOK || !strings.Contains(rest, `"error_type":"turn_lost"`) || !strings.Contains(rest, `"recoverable":true`) {
				t.Errorf("%d %s", status, rest)
			}
			if _, whole := two.Resume(t, "/chat/stream", turn+":0"); wholetest.WithoutBeats(whole) != string(body)+rest {
				t.Errorf("(-log +told):\n%s", cmp.Diff(whole, string(body)+rest))
			}
		})
	}
}
