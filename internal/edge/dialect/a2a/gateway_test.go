package a2a_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/gateway"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/router"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// called answers by what the input begins with: slow, ask and fail; and notes what it got.
type called struct{ inputs *[]string }

func (c called) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	*c.inputs = append(*c.inputs, req.Input)
	switch {
	case strings.HasPrefix(req.Input, "slow"):
		return slow{words: 5, runs: new(int)}.Run(ctx, req, sink)
	case strings.HasPrefix(req.Input, "ask"), strings.HasSuffix(req.Input, "The request:\nask me"):
		_ = sink.Emit(&stream.Delta{Text: "Which one?"})
		return stream.Result{Reason: stream.InputRequired}, nil
	case strings.HasPrefix(req.Input, "fail"):
		_ = sink.Emit(&stream.Delta{Text: "Hm. "})
		return stream.Result{}, &fault.Error{Type: fault.ModelUnavailable, Message: "The model is unavailable"}
	}
	_ = sink.Emit(&stream.Thinking{Content: "let me see"})
	_ = sink.Emit(&stream.Delta{Text: "You said: "})
	_ = sink.Flush()
	return stream.Result{Reason: stream.Stop}, sink.Emit(&stream.Delta{Text: req.Input})
}

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

// peer is a client of one gateway.
type peer struct{ client http.Client }

// send sends a request; the headers are pairs.
func (p peer) send(t *testing.T, ctx context.Context, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://gateway"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Request-ID", "req_golden")
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

// agents is a gateway served over A2A, and what its runner got.
type agents struct {
	peer
	inputs []string
}

// startA2A starts a gateway. with may be nil, and st nil for no store.
func startA2A(t *testing.T, st store.Store, change func(*settings.Config)) *agents {
	t.Helper()
	env := map[string]string{"GEMINI_API_KEY": "test-key-0123456789", "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0", "SLUICE_MAX_STREAMS": "2"}
	cfg, err := settings.Loader().Load(nil, func(name string) (string, bool) { v, ok := env[name]; return v, ok }, nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := settings.Config{Config: cfg, File: settings.File{A2A: settings.A2A{Enabled: true}}, Version: "1.2.3"}
	if change != nil {
		change(&whole)
	}
	a := new(agents)
	g, err := gateway.New(t.Context(), whole, zerolog.Nop(), gateway.Seams{
		Store: st, Gemini: testnet.Serve(t, http.NotFoundHandler()),
		Runner: func(*agent.Agent) stream.Runner { return called{&a.inputs} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	a.client = http.Client{Transport: testnet.Serve(t, g)}
	return a
}

// inA2A runs a test in a bubble, with a gateway.
func inA2A(t *testing.T, kept bool, test func(*testing.T, *agents)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var st store.Store
		if kept {
			st = memory.New(memory.Config{})
		}
		test(t, startA2A(t, st, nil))
		time.Sleep(time.Minute) // until the turns whose clients have left are over
	})
}

// a2aTask, a2aEvent and rpcReply are what these tests read of replies.
type a2aTask struct {
	ID, ContextID string
	Status        a2aStatus
	History       []a2aMessage
	Artifacts     []struct{ Parts []a2aPart }
	Metadata      map[string]any
}

type a2aStatus struct {
	State   string
	Message *a2aMessage
}

type a2aMessage struct {
	MessageID, ContextID, TaskID, Role string
	Parts                              []a2aPart
}

type a2aPart struct{ Text *string }

type a2aEvent struct {
	Task         *a2aTask
	StatusUpdate *struct {
		TaskID, ContextID string
		Status            a2aStatus
		Metadata          map[string]struct{ Event string }
	}
	ArtifactUpdate *struct {
		TaskID, ContextID string
		Append, LastChunk bool
		Artifact          struct {
			ArtifactID string
			Parts      []a2aPart
		}
	}
	Error *struct {
		Code    int
		Message string
		Details []map[string]any
	}
}

type rpcReply struct {
	JSONRPC string
	ID      any
	Result  json.RawMessage
	Error   *struct {
		Code    int
		Message string
		Data    []map[string]any
	}
}

func a2aText(parts []a2aPart) (text string) {
	for _, p := range parts {
		if p.Text != nil {
			text += *p.Text
		}
	}
	return text
}

// answer returns the text of the task's artifacts.
func (t *a2aTask) answer() (text string) {
	for _, a := range t.Artifacts {
		text += a2aText(a.Parts)
	}
	return text
}

// call sends a request of JSON-RPC and reads the reply.
func (a *agents) call(t *testing.T, method, params string, headers ...string) rpcReply {
	t.Helper()
	_, body := a.ask(t, http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":"one","method":"`+method+`","params":`+params+`}`, headers...)
	var reply rpcReply
	if err := json.Unmarshal([]byte(body), &reply); err != nil || reply.JSONRPC != "2.0" || reply.ID != "one" {
		t.Fatalf("%s %s: %v, %s", method, params, err, body)
	}
	return reply
}

// task is call for a reply that is a task, or has one.
func (a *agents) task(t *testing.T, method, params string) *a2aTask {
	t.Helper()
	reply := a.call(t, method, params)
	if reply.Error != nil {
		t.Fatalf("%s %s: %+v", method, params, reply.Error)
	}
	var sent a2aEvent
	if err := json.Unmarshal(reply.Result, &sent); err == nil && sent.Task != nil {
		return sent.Task
	}
	task := new(a2aTask)
	if err := json.Unmarshal(reply.Result, task); err != nil {
		t.Fatal(err)
	}
	return task
}

// code returns the code of a refusal; 0: it is none.
func (a *agents) code(t *testing.T, method, params string, headers ...string) int {
	t.Helper()
	if reply := a.call(t, method, params, headers...); reply.Error != nil {
		return reply.Error.Code
	}
	return 0
}

// a2aSaid returns the parameters of a message.
func a2aSaid(id, text string, more ...string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"` + text + `"}]` + strings.Join(more, "") + `}}`
}

// a2aStream is a stream that is read as it comes, and looked at event by event.
type a2aStream struct {
	t      *testing.T
	close  func()
	events chan *a2aEvent
}

func (a *agents) stream(t *testing.T, method, params string, headers ...string) *a2aStream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	resp := a.send(t, ctx, http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":"one","method":"`+method+`","params":`+params+`}`, headers...)
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s: %s %s", method, kind, body)
	}
	s := &a2aStream{t, cancel, make(chan *a2aEvent, 100)}
	go s.read(resp.Body)
	return s
}

func (s *a2aStream) read(body io.Reader) {
	defer close(s.events)
	for lines := bufio.NewScanner(body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var reply rpcReply
		ev := new(a2aEvent)
		if err := json.Unmarshal([]byte(data), &reply); err != nil || reply.ID != "one" {
			s.t.Errorf("%v: %s", err, data)
		}
		if err := json.Unmarshal(reply.Result, ev); err != nil {
			s.t.Errorf("%v: %s", err, data)
		}
		s.events <- ev
	}
}

// next returns the next event; nil: the stream has ended.
func (s *a2aStream) next() *a2aEvent { return <-s.events }

// rest returns what is left, worded.
func (s *a2aStream) rest() (reply []string) {
	for ev := s.next(); ev != nil; ev = s.next() {
		reply = append(reply, ev.String())
	}
	return reply
}

// String words an event.
func (e *a2aEvent) String() string {
	switch {
	case e.Task != nil:
		return "task " + e.Task.Status.State + " " + e.Task.answer()
	case e.StatusUpdate != nil:
		text := "status " + e.StatusUpdate.Status.State
		if m := e.StatusUpdate.Status.Message; m != nil {
			text += " " + m.Role + " " + a2aText(m.Parts)
		}
		for uri, extra := range e.StatusUpdate.Metadata {
			text += " " + uri + " " + extra.Event
		}
		return text
	case e.ArtifactUpdate != nil:
		u := e.ArtifactUpdate
		return fmt.Sprintf("artifact %s append=%t last=%t %q", u.Artifact.ArtifactID, u.Append, u.LastChunk, a2aText(u.Artifact.Parts))
	}
	return "nothing"
}

// A stream begins with the task, emits its answer in pieces, in order, and ends with the task's
// last state. All of it names the task and its context.
func TestA2AStream(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		s := a.stream(t, "SendStreamingMessage", a2aSaid("message-1", "hello"))
		first := s.next()
		if first.Task == nil || !chat.IsTaskID(first.Task.ID) || !strings.HasPrefix(first.Task.ContextID, "conv_") {
			t.Fatalf("the stream begins with %v", first)
		}
		m := first.Task.History[0]
		if m.MessageID != "message-1" || m.Role != "ROLE_USER" || m.TaskID != first.Task.ID || m.ContextID != first.Task.ContextID || a2aText(m.Parts) != "hello" {
			t.Errorf("the history is %+v", m)
		}
		want := []string{
			"status TASK_STATE_WORKING ROLE_AGENT The request is being worked on",
			`artifact answer append=false last=false "You said: "`,
			`artifact answer append=true last=false "hello"`,
			`artifact answer append=true last=true ""`,
			"status TASK_STATE_COMPLETED",
		}
		if diff := cmp.Diff(want, s.rest()); first.Task.Status.State != "TASK_STATE_SUBMITTED" || diff != "" {
			t.Errorf("%s, (-want +got):\n%s", first.Task.Status.State, diff)
		}
	})
}

// A message that waits gets the task in its last state, with all of the answer; so it
// does without a store, and for a turn that fails.
func TestA2ASendWaits(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("kept %t", kept), func(t *testing.T) {
			inA2A(t, kept, func(t *testing.T, a *agents) {
				began := time.Now()
				task := a.task(t, "SendMessage", a2aSaid("message-1", "slow"))
				if elapsed := time.Since(began); elapsed != 5*time.Second || task.Status.State != "TASK_STATE_COMPLETED" || task.answer() != strings.Repeat("word ", 5) {
					t.Errorf("after %v %+v", elapsed, task)
				}
				if len(task.History) != 2 || task.History[1].Role != "ROLE_AGENT" {
					t.Errorf("the history is %+v", task.History)
				}
				failed := a.task(t, "SendMessage", a2aSaid("message-2", "fail"))
				if s := failed.Status; s.State != "TASK_STATE_FAILED" || s.Message == nil || a2aText(s.Message.Parts) != "The model is unavailable" {
					t.Errorf("a turn that fails is %+v", failed)
				}
				none := a.task(t, "SendMessage", strings.TrimSuffix(a2aSaid("message-3", "hello"), "}")+`,"configuration":{"historyLength":0}}`)
				if none.History != nil {
					t.Errorf("history of length 0: %+v", none.History)
				}
			})
		})
	}
}

// A message that does not wait gets the task at once, and the turn continues. A gateway that
// keeps no tasks refuses it.
func TestA2AReturnsImmediately(t *testing.T) {
	params := strings.TrimSuffix(a2aSaid("018f2f2e-1111-7000-8000-000000000003", "slow"), "}") + `,"configuration":{"returnImmediately":true}}`
	t.Run("kept", func(t *testing.T) {
		inA2A(t, true, func(t *testing.T, a *agents) {
			began := time.Now()
			task := a.task(t, "SendMessage", params)
			if time.Since(began) != 0 || task.Status.State != "TASK_STATE_WORKING" {
				t.Fatalf("after %v %+v", time.Since(began), task)
			}
			again := a.task(t, "SendMessage", params)
			if again.ID != task.ID {
				t.Errorf("the message again began %+v", again)
			}
			time.Sleep(6 * time.Second)
			if now := a.task(t, "GetTask", `{"id":"`+task.ID+`"}`); now.Status.State != "TASK_STATE_COMPLETED" || now.answer() == "" {
				t.Errorf("afterwards it is %+v", now)
			}
		})
	})
	t.Run("not kept", func(t *testing.T) {
		inA2A(t, false, func(t *testing.T, a *agents) {
			if code := a.code(t, "SendMessage", params); code != -32004 || len(a.inputs) > 0 {
				t.Errorf("code %d, runs %v", code, a.inputs)
			}
		})
	})
}

// Tasks are found by their ids, and listed by their context: page by page, those first that
// changed last, without artifacts unless they are asked for.
func TestA2ATasks(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		var ids []string
		for i := range 3 {
			task := a.task(t, "SendMessage", a2aSaid(fmt.Sprintf("message-%d", i), "hello", `,"contextId":"conv_abc"`))
			if task.ContextID != "conv_abc" {
				t.Errorf("context %s", task.ContextID)
			}
			ids = append([]string{task.ID}, ids...)
			time.Sleep(time.Second)
		}
		a.task(t, "SendMessage", a2aSaid("message-9", "hello"))
		var listed []string
		token, artifacts := "", 0
		for range 3 {
			reply := a.call(t, "ListTasks", `{"contextId":"conv_abc","pageSize":2,"pageToken":"`+token+`"}`)
			var page struct {
				Tasks               []a2aTask
				TotalSize, PageSize int
				NextPageToken       *string
			}
			if err := json.Unmarshal(reply.Result, &page); err != nil || page.NextPageToken == nil || page.TotalSize != 3 || page.PageSize != 2 {
				t.Fatalf("%v, %s %+v", err, reply.Result, reply.Error)
			}
			for _, task := range page.Tasks {
				listed, artifacts = append(listed, task.ID), artifacts+len(task.Artifacts)
			}
			if strings.Contains(string(reply.Result), `"artifacts"`) {
				t.Errorf("artifacts that nobody asked for: %s", reply.Result)
			}
			if token = *page.NextPageToken; token == "" {
				break
			}
		}
		if diff := cmp.Diff(ids, listed); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		whole := a.call(t, "ListTasks", `{"contextId":"conv_abc","includeArtifacts":true,"historyLength":1,"status":"TASK_STATE_COMPLETED","statusTimestampAfter":"`+
			time.Now().Add(-1500*time.Millisecond).UTC().Format(time.RFC3339Nano)+`"}`)
		var page struct{ Tasks []a2aTask }
		_ = json.Unmarshal(whole.Result, &page)
		if len(page.Tasks) != 1 || page.Tasks[0].answer() == "" || len(page.Tasks[0].History) != 1 || page.Tasks[0].History[0].Role != "ROLE_AGENT" {
			t.Errorf("the list is %s", whole.Result)
		}
		got := a.task(t, "GetTask", `{"id":"`+ids[0]+`","historyLength":1}`)
		if got.ID != ids[0] || len(got.History) != 1 || got.answer() != "You said: hello" {
			t.Errorf("the task is %+v", got)
		}
	})
}

// A task is cancelled from any gateway, or where it runs if it is not kept; the reply and
// the stream say so. What has ended cannot be cancelled.
func TestA2ACancel(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("kept %t", kept), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var st store.Store
				if kept {
					st = memory.New(memory.Config{})
				}
				a := startA2A(t, st, nil)
				other := a
				if kept {
					other = startA2A(t, st, nil)
				}
				s := a.stream(t, "SendStreamingMessage", a2aSaid("message-1", "slow"))
				id := s.next().Task.ID
				if task := other.task(t, "CancelTask", `{"id":"`+id+`"}`); task.Status.State != "TASK_STATE_CANCELED" {
					t.Errorf("the reply is %+v", task)
				}
				if reply := s.rest(); reply[len(reply)-1] != "status TASK_STATE_CANCELED ROLE_AGENT The turn was cancelled" {
					t.Errorf("the stream ends with %q", reply)
				}
				want := map[bool]int{true: -32002, false: -32001}[kept]
				if code := a.code(t, "CancelTask", `{"id":"`+id+`"}`); code != want {
					t.Errorf("again: code %d, want %d", code, want)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// Who subscribes to a task gets it as it is, and then what follows, on any gateway; all
// get the same, and one that leaves takes nothing from the others.
func TestA2ASubscribe(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprintf("kept %t", kept), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var st store.Store
				if kept {
					st = memory.New(memory.Config{})
				}
				wide := func(cfg *settings.Config) {
					config.Change(&cfg.Config, func(c *handlers.Config) { c.MaxStreams = 10 })
				}
				a := startA2A(t, st, wide)
				other := a
				if kept {
					other = startA2A(t, st, wide)
				}
				s := a.stream(t, "SendStreamingMessage", a2aSaid("message-1", "slow"))
				id := s.next().Task.ID
				time.Sleep(1500 * time.Millisecond)
				second, third := other.stream(t, "SubscribeToTask", `{"id":"`+id+`"}`), other.stream(t, "SubscribeToTask", `{"id":"`+id+`"}`)
				first := second.next()
				if first.String() != "task TASK_STATE_WORKING word word " || first.Task.ID != id || first.Task.History[0].Role != "ROLE_USER" {
					t.Errorf("the subscription begins with %v", first)
				}
				third.next()
				second.close()
				reply := third.rest()
				whole := s.rest()
				if diff := cmp.Diff(whole[len(whole)-len(reply):], reply); diff != "" || !strings.HasPrefix(reply[0], `artifact answer append=true last=false "word`) {
					t.Errorf("the subscription (-stream +subscription):\n%s", diff)
				}
				want := map[bool]int{true: -32004, false: -32001}[kept]
				if code := a.code(t, "SubscribeToTask", `{"id":"`+id+`"}`); code != want {
					t.Errorf("to what has ended: code %d, want %d", code, want)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// A client that leaves its stream does not end a turn that is kept.
func TestA2ALeavingIsNoCancel(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		s := a.stream(t, "SendStreamingMessage", a2aSaid("message-1", "slow"))
		id := s.next().Task.ID
		s.close()
		time.Sleep(6 * time.Second)
		if task := a.task(t, "GetTask", `{"id":"`+id+`"}`); task.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("the task is %+v", task)
		}
	})
}

// A question ends the stream with input-required and is the status's message. The reply by
// the task's id continues with it; the context comes from the task, and must not be another.
func TestA2AQuestion(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		s := a.stream(t, "SendStreamingMessage", a2aSaid("message-1", "ask me"))
		task := s.next().Task
		failure := s.rest()
		if last := failure[len(failure)-1]; last != "status TASK_STATE_INPUT_REQUIRED ROLE_AGENT Which one?" {
			t.Errorf("the stream ends with %q", last)
		}
		reply := func(id string, more ...string) string {
			return a2aSaid(id, "the blue one", append(more, `,"taskId":"`+task.ID+`"`)...)
		}
		if code := a.code(t, "SendMessage", reply("message-2", `,"contextId":"conv_other"`)); code != -32602 {
			t.Errorf("in another context: code %d", code)
		}
		waiting, leaving := a.stream(t, "SubscribeToTask", `{"id":"`+task.ID+`"}`), a.stream(t, "SubscribeToTask", `{"id":"`+task.ID+`"}`)
		if first := waiting.next().String(); first != "task TASK_STATE_INPUT_REQUIRED Which one?" {
			t.Errorf("the subscription to a task that waits begins with %q", first)
		}
		leaving.next()
		leaving.close()
		time.Sleep(time.Minute)
		got := a.task(t, "SendMessage", reply("message-3"))
		if document := waiting.rest(); len(document) == 0 || !strings.Contains(document[len(document)-1], "TASK_STATE_COMPLETED") || !strings.Contains(strings.Join(document, " "), "the blue one") {
			t.Errorf("the subscription goes on with %q", document)
		}
		if ids := got.messageIDs(); !slices.Equal(ids, []string{"message-3"}) {
			t.Errorf("the messages of the reply's task are %q", ids)
		}
		if ids := a.task(t, "GetTask", `{"id":"`+task.ID+`"}`).messageIDs(); !slices.Contains(ids, "message-1") || !slices.Contains(ids, "message-3") {
			t.Errorf("the messages of the stored task are %q", ids)
		}
		if got.ID != task.ID || got.ContextID != task.ContextID || got.Status.State != "TASK_STATE_COMPLETED" || !strings.Contains(got.answer(), "the blue one") {
			t.Errorf("the reply's task is %+v", got)
		}
		for id, want := range map[string]int{
			task.ID: -32004, "task_" + strings.Repeat("0", 26): -32001, "no id": -32001,
		} {
			if code := a.code(t, "SendMessage", a2aSaid("message-4", "x", `,"taskId":"`+id+`"`)); code != want {
				t.Errorf("a message to %s: code %d, want %d", id, code, want)
			}
		}
	})
}

// A reply that comes again, perhaps because its answer was lost, gets the turn that it began,
// as it runs and after it; a reply with another id or other words is refused.
func TestA2AReplyTwice(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		s := a.stream(t, "SendStreamingMessage", a2aSaid("message-1", "ask me"))
		task := s.next().Task
		s.rest()
		to := `,"taskId":"` + task.ID + `"`
		first := a.stream(t, "SendStreamingMessage", a2aSaid("message-2", "slow", to))
		first.next()
		if code := a.code(t, "SendMessage", a2aSaid("message-3", "slow", to)); code != -32004 {
			t.Errorf("another message while the task works: code %d", code)
		}
		second := a.stream(t, "SendStreamingMessage", a2aSaid("message-2", "slow", to))
		second.next()
		if diff := cmp.Diff(first.rest(), second.rest()); diff != "" {
			t.Errorf("while it runs (-first +second):\n%s", diff)
		}
		again := a.task(t, "SendMessage", a2aSaid("message-2", "slow", to))
		if again.ID != task.ID || again.ContextID != task.ContextID || again.Status.State != "TASK_STATE_COMPLETED" || !strings.Contains(again.answer(), "word word") {
			t.Errorf("after it: %+v", again)
		}
		if code := a.code(t, "SendMessage", a2aSaid("message-2", "other words", to)); code != -32602 {
			t.Errorf("with other words: code %d", code)
		}
		if len(a.inputs) != 2 {
			t.Errorf("runs for %q", a.inputs)
		}
	})
}

// messageIDs are those of what the user said.
func (t *a2aTask) messageIDs() (ids []string) {
	for _, m := range t.History {
		if m.Role == "ROLE_USER" {
			ids = append(ids, m.MessageID)
		}
	}
	return ids
}

// Clients whom nobody knows may count their messages from one: the same id and words begin
// a task of their own, and neither learns of the other's. A UUID, or an id within a context,
// is a key as ever.
func TestA2ANamelessClientsShareNoTask(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		mine, theirs := a.task(t, "SendMessage", a2aSaid("1", "hello")), a.task(t, "SendMessage", a2aSaid("1", "hello"))
		if mine.ID == theirs.ID || mine.ContextID == theirs.ContextID || len(a.inputs) != 2 {
			t.Errorf("tasks %s and %s of contexts %s and %s, runs %q", mine.ID, theirs.ID, mine.ContextID, theirs.ContextID, a.inputs)
		}
		if code := a.code(t, "SendMessage", a2aSaid("1", "other words")); code != 0 {
			t.Errorf("with other words: code %d", code)
		}
		for _, said := range []string{a2aSaid("018f2f2e-1111-7000-8000-000000000001", "hello"), a2aSaid("1", "hello", `,"contextId":"conv_a"`)} {
			before := len(a.inputs)
			if first, again := a.task(t, "SendMessage", said), a.task(t, "SendMessage", said); first.ID != again.ID || len(a.inputs) != before+1 {
				t.Errorf("%s: tasks %s and %s, %d runs", said, first.ID, again.ID, len(a.inputs)-before)
			}
		}
	})
}

// A message that comes again, with another id of JSON-RPC, is not run again: it gets the
// turn that it began. With other words it is refused.
func TestA2AMessageTwice(t *testing.T) {
	const keyed = "018f2f2e-1111-7000-8000-000000000002"
	inA2A(t, true, func(t *testing.T, a *agents) {
		first := a.task(t, "SendMessage", a2aSaid(keyed, "hello"))
		again := a.task(t, "SendMessage", a2aSaid(keyed, "hello"))
		s := a.stream(t, "SendStreamingMessage", a2aSaid(keyed, "hello"))
		streamed := s.next().Task
		if reply := s.rest(); again.ID != first.ID || streamed.ID != first.ID || streamed.ContextID != first.ContextID || again.answer() != first.answer() || reply[len(reply)-1] != "status TASK_STATE_COMPLETED" {
			t.Errorf("again %+v, as a stream %+v, %q", again, streamed, reply)
		}
		if code := a.code(t, "SendMessage", a2aSaid(keyed, "other words")); code != -32602 {
			t.Errorf("with other words: code %d", code)
		}
		if len(a.inputs) != 1 {
			t.Errorf("it was run for %q", a.inputs)
		}
	})
	t.Run("not kept", func(t *testing.T) {
		inA2A(t, false, func(t *testing.T, a *agents) {
			a.task(t, "SendMessage", a2aSaid(keyed, "hello"))
			if code := a.code(t, "SendMessage", a2aSaid(keyed, "hello")); code != -32602 || len(a.inputs) != 1 {
				t.Errorf("code %d, runs %q", code, a.inputs)
			}
		})
	})
}

// Our own events come to those who ask for the extension, and the reply says that it is
// active. Others get none of them.
func TestA2AExtension(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		resp := a.send(t, t.Context(), http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":"one","method":"SendStreamingMessage","params":`+a2aSaid("message-1", "hello")+`}`,
			"A2A-Extensions", "https://example.com/x, urn:sluice:events:v1")
		s := &a2aStream{t, nil, make(chan *a2aEvent, 100)}
		s.read(resp.Body)
		reply := s.rest()
		if resp.Header.Get("A2A-Extensions") != "urn:sluice:events:v1" || reply[2] != "status TASK_STATE_WORKING ROLE_AGENT The request is being worked on urn:sluice:events:v1 thinking" ||
			reply[len(reply)-1] != "status TASK_STATE_COMPLETED urn:sluice:events:v1 done" {
			t.Errorf("%q: %q", resp.Header.Get("A2A-Extensions"), reply)
		}
	})
}

// A version that is not served is refused, in header and query; without one the method's name
// shows it. The third number does not count.
func TestA2AVersions(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		old := `{"message":{"kind":"message","messageId":"message-1","role":"user","parts":[{"kind":"text","text":"hello"}]}}`
		for _, tt := range []struct {
			method, params, version string
			want                    int
		}{
			{"SendMessage", a2aSaid("message-2", "hello"), "1.0", 0},
			{"SendMessage", a2aSaid("message-3", "hello"), "1.0.7", 0},
			{"SendMessage", a2aSaid("message-4", "hello"), "", 0},
			{"message/send", old, "0.3", 0},
			{"message/send", strings.ReplaceAll(old, "message-1", "message-5"), "", 0},
			{"message/send", strings.ReplaceAll(old, "message-1", "message-6"), "0.3.0", 0},
			{"SendMessage", a2aSaid("message-7", "hello"), "0.3", -32601},
			{"message/send", old, "1.0", -32601},
			{"SendMessage", a2aSaid("message-8", "hello"), "2.0", -32009},
			{"SendMessage", a2aSaid("message-8", "hello"), "0.2", -32009},
			{"SendMessage", a2aSaid("message-8", "hello"), "1.1", -32009},
			{"SendMessage", a2aSaid("message-8", "hello"), "garbage", -32009},
		} {
			if code := a.code(t, tt.method, tt.params, "A2A-Version", tt.version); code != tt.want {
				t.Errorf("%s in %q: code %d, want %d", tt.method, tt.version, code, tt.want)
			}
		}
		if status, body := a.ask(t, http.MethodGet, "/a2a/rest/tasks/x?A2A-Version=7.0", ""); status != http.StatusBadRequest || !strings.Contains(body, "VERSION_NOT_SUPPORTED") {
			t.Errorf("by query: %d %s", status, body)
		}
	})
	t.Run("1.0 alone", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			a := startA2A(t, nil, func(cfg *settings.Config) { cfg.A2A.NoV03 = true })
			if code := a.code(t, "message/send", "{}"); code != -32009 {
				t.Errorf("code %d", code)
			}
			if _, body := a.ask(t, http.MethodGet, "/.well-known/agent-card.json", ""); strings.Contains(body, "0.3") || strings.Contains(body, "preferredTransport") {
				t.Errorf("the card names it: %s", body)
			}
		})
	})
}

// Push notifications and the extended card are refused with the codes for that, and the
// card does not offer them.
func TestA2ANoPush(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		config := `{"taskId":"task_x","id":"c","url":"http://127.0.0.1/"}`
		for method, want := range map[string]int{
			"CreateTaskPushNotificationConfig": -32003, "GetTaskPushNotificationConfig": -32003, "ListTaskPushNotificationConfigs": -32003,
			"DeleteTaskPushNotificationConfig": -32003, "GetExtendedAgentCard": -32004,
			"tasks/pushNotificationConfig/set": -32003, "tasks/pushNotificationConfig/get": -32003, "tasks/pushNotificationConfig/list": -32003,
			"tasks/pushNotificationConfig/delete": -32003, "agent/getAuthenticatedExtendedCard": -32004,
		} {
			params := config
			if method == "tasks/pushNotificationConfig/set" {
				params = `{"taskId":"task_x","pushNotificationConfig":{"url":"http://127.0.0.1/"}}`
			}
			if code := a.code(t, method, params); code != want {
				t.Errorf("%s: code %d, want %d", method, code, want)
			}
		}
		with := strings.TrimSuffix(a2aSaid("message-1", "hello"), "}") + `,"configuration":{"taskPushNotificationConfig":{"url":"http://127.0.0.1/"}}}`
		if code := a.code(t, "SendMessage", with); code != -32003 || len(a.inputs) > 0 {
			t.Errorf("with a message: code %d, runs %q", code, a.inputs)
		}
	})
}

// a2aTeam is the configuration of two agents.
func a2aTeam(cfg *settings.Config) {
	cfg.Path = "sluice.yaml"
	cfg.Team = router.Spec{Agents: []router.AgentSpec{
		{ID: "lamp", Name: "Lamps", Description: "Switches lamps", Capabilities: []string{"on", "off"}, Examples: []string{"Light!"}},
		{ID: "inner", Description: "For us alone", Closed: true},
	}}
}

// Cards are those of the team and of its exposed agents: for both versions, with the URL
// that the client came by or the configured one, cached for a minute by their ETag.
func TestA2ACards(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := startA2A(t, nil, a2aTeam)
		resp := a.send(t, t.Context(), http.MethodGet, "/.well-known/agent-card.json", "")
		body, _ := io.ReadAll(resp.Body)
		type iface struct{ URL, ProtocolBinding, ProtocolVersion string }
		var card struct {
			Name, Description, Version            string
			URL, PreferredTransport               string
			ProtocolVersion                       string
			SupportedInterfaces                   []iface
			DefaultInputModes, DefaultOutputModes []string
			Capabilities                          map[string]any
			Skills                                []struct {
				ID, Name, Description string
				Tags, Examples        []string
			}
		}
		if err := json.Unmarshal(body, &card); err != nil {
			t.Fatal(err)
		}
		want := []iface{
			{"http://gateway/a2a", "JSONRPC", "1.0"}, {"http://gateway/a2a/rest", "HTTP+JSON", "1.0"},
			{"http://gateway/a2a", "JSONRPC", "0.3"}, {"http://gateway/a2a/rest", "HTTP+JSON", "0.3"},
		}
		if diff := cmp.Diff(want, card.SupportedInterfaces); diff != "" || card.URL != "http://gateway/a2a" || card.PreferredTransport != "JSONRPC" || card.ProtocolVersion != "0.3" {
			t.Errorf("%s, interfaces (-want +got):\n%s", body, diff)
		}
		if len(card.Skills) != 1 || card.Skills[0].ID != "lamp" || card.Version != "1.2.3" || card.Capabilities["streaming"] != true || card.Capabilities["pushNotifications"] == true {
			t.Errorf("the card is %s", body)
		}
		tag := resp.Header.Get("ETag")
		if resp.Header.Get("Cache-Control") != "max-age=60" || tag == "" {
			t.Errorf("headers %v", resp.Header)
		}
		if status, body := a.ask(t, http.MethodGet, "/.well-known/agent-card.json", "", "If-None-Match", `"x", W/`+tag); status != http.StatusNotModified || body != "" {
			t.Errorf("with the tag: %d %q", status, body)
		}
		if status, body := a.ask(t, http.MethodGet, "/a2a/agents/lamp/.well-known/agent-card.json", ""); status != http.StatusOK || !strings.Contains(body, `"http://gateway/a2a/agents/lamp/rest"`) || !strings.Contains(body, `"Lamps"`) {
			t.Errorf("of an agent: %d %s", status, body)
		}
		if status, below := a.ask(t, http.MethodGet, "/a2a/.well-known/agent-card.json", ""); status != http.StatusOK || below != string(body) {
			t.Errorf("below the team's endpoint: %d %s", status, below)
		}
		for _, id := range []string{"inner", "none"} {
			for _, path := range []string{"/a2a/agents/" + id + "/.well-known/agent-card.json", "/a2a/agents/" + id + "/rest/tasks"} {
				if status, body := a.ask(t, http.MethodGet, path, ""); status != http.StatusNotFound {
					t.Errorf("%s: %d %s", path, status, body)
				}
			}
			if status, body := a.ask(t, http.MethodPost, "/a2a/agents/"+id, `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}`); status != http.StatusNotFound {
				t.Errorf("%s: %d %s", id, status, body)
			}
		}
		public := startA2A(t, nil, func(cfg *settings.Config) { cfg.A2A.PublicURL = "https://agents.example.com/x" })
		if _, body := public.ask(t, http.MethodGet, "/.well-known/agent-card.json", ""); !strings.Contains(body, `"https://agents.example.com/x/a2a/rest"`) || strings.Contains(body, "//gateway") {
			t.Errorf("with a public URL: %s", body)
		}
	})
}

// A foreign page that is allowed may name version and extensions.
func TestA2AOverCORS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := startA2A(t, nil, func(cfg *settings.Config) {
			config.Change(&cfg.Config, func(c *handlers.Config) { c.Origins = []string{"https://app.example"} })
		})
		resp := a.send(t, t.Context(), http.MethodOptions, "/a2a", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST")
		if names := resp.Header.Get("Access-Control-Allow-Headers"); resp.StatusCode != http.StatusNoContent || !strings.HasSuffix(names, "A2A-Version, A2A-Extensions") {
			t.Errorf("%d %q", resp.StatusCode, names)
		}
	})
}

// A gateway that has no place for a turn, or drains, still shows and cancels tasks. A
// message is refused with 503 and when to come back, under its own id.
func TestA2AWhileFull(t *testing.T) {
	inA2A(t, true, func(t *testing.T, a *agents) {
		s := a.stream(t, "SendStreamingMessage", a2aSaid("message-1", "slow"))
		id := s.next().Task.ID
		second := a.stream(t, "SendStreamingMessage", a2aSaid("message-2", "slow"))
		second.next()
		body := `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":` + a2aSaid("message-3", "hello") + `}`
		resp := a.send(t, t.Context(), http.MethodPost, "/a2a", body)
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(string(text), `"id":7`) || !strings.Contains(string(text), "-32000") {
			t.Errorf("a message: %d %v %s", resp.StatusCode, resp.Header, text)
		}
		if task := a.task(t, "GetTask", `{"id":"`+id+`"}`); task.Status.State != "TASK_STATE_WORKING" {
			t.Errorf("the task is %+v", task)
		}
		if task := a.task(t, "CancelTask", `{"id":"`+id+`"}`); task.Status.State != "TASK_STATE_CANCELED" {
			t.Errorf("cancelled: %+v", task)
		}
		if again := a.task(t, "SendMessage", a2aSaid("message-3", "hello")); again.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("later: %+v", again)
		}
	})
}
