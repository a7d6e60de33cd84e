package gateway

import (
	"bufio"
	"bytes"
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
	"github.com/rs/zerolog"

	"sluice/agent"
	"sluice/chat"
	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/store"
	"sluice/store/memory"
	"sluice/stream"
)

// slow answers with a word a second, so often.
type slow struct {
	words int
	runs  *int
}

func (s slow) Run(ctx context.Context, _ *chat.Request, sink stream.Sink) (stream.Result, error) {
	*s.runs++
	for range s.words {
		if err := sink.Emit(&stream.Delta{Text: "word "}); err != nil {
			return stream.Result{}, err
		}
		if err := sink.Flush(); err != nil {
			return stream.Result{}, err
		}
		select {
		case <-ctx.Done():
			return stream.Result{}, context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
	return stream.Result{Reason: stream.Stop}, nil
}

// fleet is gateways that share a store, and a slow model.
type fleet struct {
	t     *testing.T
	store store.Store
	runs  int
	words int // of the slow runner's answer; 0: five
	// gemini is the model; nil: a slow runner answers in its place.
	gemini http.Handler
	file   string // what stands in the configuration file; empty: there is none
}

// gateway starts one.
func (f *fleet) gateway(env map[string]string) peer {
	f.t.Helper()
	all := map[string]string{"GEMINI_API_KEY": goldenKey, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0"}
	if f.file != "" {
		all["SLUICE_CONFIG"] = "sluice.yaml"
		all["SLUICE_STORE"] = "memory" // so that the file may ask for more
	}
	for name, value := range env {
		all[name] = value
	}
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, func(name string) (string, bool) { v, ok := all[name]; return v, ok },
		func(string) ([]byte, error) { return []byte(f.file), nil })
	if err != nil {
		f.t.Fatal(err)
	}
	with := Seams{
		Store: f.store, Gemini: testnet.Serve(f.t, silent()),
		Runner: func(*agent.Agent) stream.Runner { return slow{words: max(5, f.words), runs: &f.runs} },
	}
	if f.gemini != nil {
		with.Gemini, with.Runner = testnet.Serve(f.t, f.gemini), nil
	}
	g, err := New(f.t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), with)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(g.Close)
	return peer{client: http.Client{Transport: testnet.Serve(f.t, g)}}
}

// inFleetNamed is inFleet for a part of a test.
func inFleetNamed(t *testing.T, name string, test func(t *testing.T, f *fleet)) {
	t.Run(name, func(t *testing.T) { inFleet(t, test) })
}

// inFleet runs a test in a bubble.
func inFleet(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		test(t, &fleet{t: t, store: memory.New(memory.Config{})})
		time.Sleep(time.Minute) // until the turns whose clients have left are over
	})
}

// send sends a request; the headers are pairs.
func (p peer) send(t *testing.T, ctx context.Context, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-ID", goldenID)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// ask is send for a request whose reply is read at once.
func (p peer) ask(t *testing.T, method, path, body string, headers ...string) (status int, reply string) {
	t.Helper()
	resp := p.send(t, t.Context(), method, path, body, headers...)
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s %s broke off: %v", method, path, err)
	}
	return resp.StatusCode, string(all)
}

// startOf reads a stream up to its first piece of text, and returns what Start told.
func startOf(t *testing.T, resp *http.Response) (read string, task, turn string) {
	t.Helper()
	var text bytes.Buffer
	r := bufio.NewReader(resp.Body)
	for !strings.Contains(text.String(), "event: response_delta\n") || !strings.HasSuffix(text.String(), "\n\n") {
		line, err := r.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			t.Fatalf("%v after\n%s", err, text.String())
		}
	}
	var start struct {
		Task string `json:"task_id"`
		Turn string `json:"turn_id"`
	}
	_, data, _ := strings.Cut(text.String(), "data: ")
	if err := json.NewDecoder(strings.NewReader(data)).Decode(&start); err != nil {
		t.Fatal(err)
	}
	return text.String(), start.Task, start.Turn
}

const asked = `{"input":"hi","conversation_id":"conv_1","user_id":"ann"}`

// document is what tests look at of a task.
type document struct {
	ID, ContextID string
	Status        struct{ State string }
	History       []struct{ Role, Content string }
	Artifacts     []struct{ Parts []struct{ Text string } }
	Metadata      struct{ Turns []string }
}

func (p peer) task(t *testing.T, id string) (d document) {
	t.Helper()
	_, text := p.ask(t, http.MethodGet, "/tasks/"+id, "")
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return d
}

// A turn goes on when its client leaves, and another gateway tells the whole of it.
func TestTurnOutlivesItsClient(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		one, two := f.gateway(nil), f.gateway(nil)
		ctx, leave := context.WithCancel(t.Context())
		_, task, turn := startOf(t, one.send(t, ctx, http.MethodPost, "/chat/stream", asked))
		if state := two.task(t, task).Status.State; state != "working" {
			t.Errorf("the task is %q", state)
		}
		leave()
		status, rest := two.resume(t, "/tasks/"+task+"/events", turn+":1")
		if status != http.StatusOK || strings.Count(rest, "event: response_delta") != 5 || strings.Count(rest, "event: done") != 1 || !strings.Contains(rest, `"success":true`) {
			t.Errorf("%d\n%s", status, rest)
		}
		_, all := two.ask(t, http.MethodGet, "/tasks/"+task+"/events", "")
		if !strings.HasPrefix(all, "retry: 1000\nid: "+turn+":1\n") || !strings.HasSuffix(all, rest) {
			t.Errorf("from the first event\n%s", all)
		}
		synctest.Wait()
		d := two.task(t, task)
		if d.Status.State != "completed" || d.ContextID != "conv_1" || len(d.History) != 2 || d.Artifacts[0].Parts[0].Text != "word word word word word " {
			t.Errorf("%+v", d)
		}
	})
}

// on_disconnect=cancel ends the turn with its client, and its log with done.
func TestTurnEndsWithItsClientIfAsked(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		one, two := f.gateway(nil), f.gateway(nil)
		ctx, leave := context.WithCancel(t.Context())
		_, task, _ := startOf(t, one.send(t, ctx, http.MethodPost, "/chat/stream", `{"input":"hi","on_disconnect":"cancel"}`))
		leave()
		synctest.Wait()
		_, all := two.ask(t, http.MethodGet, "/tasks/"+task+"/events", "")
		if strings.Count(all, "event: response_delta") != 1 || !strings.Contains(all, `"finish_reason":"cancelled"`) {
			t.Errorf("got\n%s", all)
		}
		if state := two.task(t, task).Status.State; state != "canceled" {
			t.Errorf("the task is %q", state)
		}
	})
}

// tasks.on_disconnect holds where a request does not say what becomes of its turn.
func TestTurnEndsWithItsClientIfConfigured(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		f.file = "tasks: {on_disconnect: cancel, event_ttl: 1m, ttl: 2m}"
		one := f.gateway(nil)
		for said, want := range map[string]string{"": "canceled", `,"on_disconnect":"continue"`: "completed"} {
			ctx, leave := context.WithCancel(t.Context())
			_, task, _ := startOf(t, one.send(t, ctx, http.MethodPost, "/chat/stream", `{"input":"hi"`+said+`}`))
			leave()
			time.Sleep(20 * time.Second)
			if state := one.task(t, task).Status.State; state != want {
				t.Errorf("%q: the task is %q", said, state)
			}
			time.Sleep(90 * time.Second)
			if status, _ := one.resume(t, "/tasks/"+task+"/events", ""); status != http.StatusNoContent {
				t.Errorf("%q: its events are there after event_ttl: %d", said, status)
			}
			time.Sleep(time.Minute)
			if status, _ := one.ask(t, http.MethodGet, "/tasks/"+task, ""); status != http.StatusNotFound {
				t.Errorf("%q: it is there after ttl: %d", said, status)
			}
		}
	})
}

// A cancel reaches the turn through any gateway within a second.
func TestCancelFromElsewhere(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		one, two := f.gateway(nil), f.gateway(nil)
		resp := one.send(t, t.Context(), http.MethodPost, "/chat/stream", asked)
		_, task, _ := startOf(t, resp)
		began := time.Now()
		if status, doc := two.ask(t, http.MethodPost, "/tasks/"+task+"/cancel", ""); status != http.StatusAccepted || !strings.Contains(doc, task) {
			t.Errorf("%d %s", status, doc)
		}
		rest, err := io.ReadAll(resp.Body)
		if took := time.Since(began); err != nil || took > time.Second {
			t.Errorf("ended after %v with %v", took, err)
		}
		if got := string(rest); !strings.Contains(got, `"error_type":"cancelled"`) || !strings.Contains(got, `"finish_reason":"cancelled"`) {
			t.Errorf("got\n%s", got)
		}
		synctest.Wait()
		if status, doc := two.ask(t, http.MethodPost, "/tasks/"+task+"/cancel", ""); status != http.StatusOK || !strings.Contains(doc, `"state":"canceled"`) {
			t.Errorf("again: %d %s", status, doc)
		}
		_, done, _ := startOf(t, one.send(t, t.Context(), http.MethodPost, "/chat/stream", asked))
		time.Sleep(20 * time.Second)
		if status, problem := two.ask(t, http.MethodPost, "/tasks/"+done+"/cancel", ""); status != http.StatusConflict || !strings.Contains(problem, "task_not_cancelable") {
			t.Errorf("one that has ended: %d %s", status, problem)
		}
	})
}

// A turn whose client is gone is counted at once, also while nothing is written to it, and no
// more when it is over.
func TestTurnsWithoutAClientAreCounted(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		one := f.gateway(nil)
		counted := func(want string) {
			t.Helper()
			synctest.Wait()
			if _, text := one.ask(t, http.MethodGet, "/metrics", ""); !strings.Contains(text, "\nsluice_turns_detached "+want+"\n") {
				t.Errorf("not %s:\n%s", want, text)
			}
		}
		ctx, leave := context.WithCancel(t.Context())
		startOf(t, one.send(t, ctx, http.MethodPost, "/chat/stream", asked))
		counted("0")
		leave()
		counted("1")
		time.Sleep(20 * time.Second)
		counted("0")
		ctx, leave = context.WithCancel(t.Context())
		startOf(t, one.send(t, ctx, http.MethodPost, "/chat/stream", strings.Replace(asked, "{", `{"on_disconnect":"cancel",`, 1)))
		leave()
		counted("0")
	})
}

// A reader of a turn that runs is admitted where all places of turns are taken.
func TestReaderWhileFull(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		one := f.gateway(map[string]string{"SLUICE_MAX_STREAMS": "1"})
		_, task, turn := startOf(t, one.send(t, t.Context(), http.MethodPost, "/chat/stream", asked))
		if status, _ := one.ask(t, http.MethodPost, "/chat/stream", asked); status != http.StatusServiceUnavailable {
			t.Errorf("another turn: %d", status)
		}
		if status, rest := one.resume(t, "/chat/stream", turn+":1"); status != http.StatusOK || !strings.Contains(rest, "event: done\n") {
			t.Errorf("%d %s", status, rest)
		}
		if status, all := one.ask(t, http.MethodGet, "/tasks/"+task+"/events", ""); status != http.StatusOK || !strings.Contains(all, "event: done\n") {
			t.Errorf("%d %s", status, all)
		}
	})
}

// A repeated key attaches to its turn from the first event, on any gateway, and runs
// nothing.
func TestRepeatedKeyAttaches(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		one, two := f.gateway(nil), f.gateway(nil)
		resp := one.send(t, t.Context(), http.MethodPost, "/chat/stream", asked, "Idempotency-Key", "key-12345")
		first, _, turn := startOf(t, resp)
		again := two.send(t, t.Context(), http.MethodPost, "/chat/stream", asked, "Idempotency-Key", "key-12345")
		got, err := io.ReadAll(again.Body)
		if err != nil || again.Header.Get("X-Sluice-Replayed") != "true" {
			t.Errorf("%v, headers %v", err, again.Header)
		}
		rest, _ := io.ReadAll(resp.Body)
		if diff := cmp.Diff(first, string(got)[:len(first)]); diff != "" || !strings.HasSuffix(string(got), string(rest)) || f.runs != 1 {
			t.Errorf("%d runs, (-first +again):\n%s", f.runs, diff)
		}
		other := strings.Replace(asked, "hi", "ho", 1)
		if status, problem := two.ask(t, http.MethodPost, "/chat/stream", other, "Idempotency-Key", "key-12345"); status != http.StatusUnprocessableEntity || !strings.Contains(problem, "key_reused") {
			t.Errorf("another body: %d %s", status, problem)
		}
		if err := f.store.DropLog(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		if status, problem := two.ask(t, http.MethodPost, "/chat/stream", asked, "Idempotency-Key", "key-12345"); status != http.StatusConflict || !strings.Contains(problem, "duplicate_request") {
			t.Errorf("without its log: %d %s", status, problem)
		}
	})
}

// What cannot be resumed is answered as without a store.
func TestNothingToResume(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		one := f.gateway(nil)
		_, task, turn := startOf(t, one.send(t, t.Context(), http.MethodPost, "/chat/stream", asked))
		time.Sleep(20 * time.Second)
		for _, id := range []string{"1", "req_1:2", turn, turn + ":", turn + ":-1", turn + ":01", turn + ":99999999999", "turn_00000000000000000000000000:1", strings.Repeat("x", 5000)} {
			for _, path := range []string{"/chat/stream?input=hi", "/tasks/" + task + "/events"} {
				if status, body := one.resume(t, path, id); status != http.StatusNoContent || body != "" {
					t.Errorf("%s behind %.60q: %d %q", path, id, status, body)
				}
			}
		}
		status, body := one.resume(t, "/chat/stream", turn+":500") // it received more than the log got
		if _, whole := one.resume(t, "/chat/stream", turn+":1"); status != http.StatusOK || strings.Count(body, "event: ") != 1 || !strings.HasSuffix(whole, body) || !strings.Contains(body, "event: done\n") {
			t.Errorf("ahead of the log: %d %q", status, body)
		}
		for _, id := range []string{"task_00000000000000000000000000", "x", turn} {
			if status, problem := one.ask(t, http.MethodGet, "/tasks/"+id+"/events", ""); status != http.StatusNotFound {
				t.Errorf("%s: %d %s", id, status, problem)
			}
		}
		if f.runs != 1 {
			t.Errorf("%d runs", f.runs)
		}
	})
}

// Tasks are listed by conversation and user, newest first, and forgotten by both.
func TestTasksOfAConversation(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		one := f.gateway(nil)
		var ids []string
		for range 3 {
			resp := one.send(t, t.Context(), http.MethodPost, "/chat/stream", asked)
			_, task, _ := startOf(t, resp)
			ids = append([]string{task}, ids...)
			time.Sleep(time.Second)
		}
		listed := func(query string) (got []string) {
			for cursor := ""; ; {
				_, text := one.ask(t, http.MethodGet, "/tasks?limit=2&conversation_id=conv_1"+query+"&cursor="+cursor, "")
				var page struct {
					Tasks []document
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
			if status, problem := one.ask(t, http.MethodGet, "/tasks"+query, ""); status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %s", query, status, problem)
			}
		}
		if status, _ := one.ask(t, http.MethodDelete, "/conversations/conv_1?user_id=bob", ""); status != http.StatusNoContent || len(listed("&user_id=ann")) != 3 {
			t.Errorf("another's: %d", status)
		}
		if status, body := one.ask(t, http.MethodDelete, "/conversations/conv_1?user_id=ann", ""); status != http.StatusNoContent {
			t.Errorf("%d %s", status, body)
		}
		if got := listed("&user_id=ann"); got != nil {
			t.Errorf("after that: %v", got)
		}
		if status, _ := one.ask(t, http.MethodGet, "/tasks/"+ids[0]+"/events", ""); status != http.StatusNotFound {
			t.Errorf("its events: %d", status)
		}
	})
}

// Without a store nothing of it is there.
func TestWithoutAStore(t *testing.T) {
	inFleet(t, func(t *testing.T, f *fleet) {
		f.store = nil
		one := f.gateway(nil)
		for _, path := range []string{"/tasks?conversation_id=conv_1", "/tasks/x", "/tasks/x/events"} {
			if status, _ := one.ask(t, http.MethodGet, path, ""); status != http.StatusNotFound {
				t.Errorf("%s: %d", path, status)
			}
		}
		for field, value := range map[string]string{"on_disconnect": "continue", "task_id": "task_00000000000000000000000000"} {
			status, problem := one.ask(t, http.MethodPost, "/chat/stream", `{"input":"hi","`+field+`":"`+value+`"}`)
			if status != http.StatusUnprocessableEntity || !strings.Contains(problem, `"not_configured"`) {
				t.Errorf("%s: %d %s", field, status, problem)
			}
		}
		if status, _ := one.ask(t, http.MethodPost, "/chat/stream", `{"input":"hi","on_disconnect":"cancel"}`); status != http.StatusOK {
			t.Errorf("on_disconnect=cancel: %d", status)
		}
		if _, ready := one.ask(t, http.MethodGet, "/readyz", ""); strings.Contains(ready, `"store"`) {
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

// A gateway that was stopped past its lease and comes back tells its client nothing that the log
// does not have: the stream breaks off, and goes on from the log as another gateway closed it.
func TestStreamOfAFencedGateway(t *testing.T) {
	t.Parallel()
	for _, again := range repetitions[:4] {
		inFleetNamed(t, again.name, func(t *testing.T, f *fleet) {
			stopped, shared := new(atomic.Bool), f.store
			f.store, f.words, f.file = lapsing{shared, stopped}, 40, overA2A
			one := f.gateway(nil)
			f.store = shared
			two := f.gateway(nil)
			time.AfterFunc(2500*time.Millisecond, func() { stopped.Store(true) })
			req, err := http.NewRequestWithContext(t.Context(), again.method, "http://gateway"+again.path, strings.NewReader(again.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := one.client.Do(req)
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
			ids := keptID.FindAllStringSubmatch(string(body), -1)
			if ids == nil {
				return // ChatKit has none
			}
			turn := ids[0][1]
			last := ids[len(ids)-1]
			status, rest := two.resume(t, "/chat/stream", last[1]+":"+last[2])
			if status != http.StatusOK || !strings.Contains(rest, `"error_type":"turn_lost"`) || !strings.Contains(rest, `"recoverable":true`) {
				t.Errorf("%d %s", status, rest)
			}
			if _, whole := two.resume(t, "/chat/stream", turn+":0"); withoutBeats(whole) != string(body)+rest {
				t.Errorf("(-log +told):\n%s", cmp.Diff(whole, string(body)+rest))
			}
		})
	}
}
