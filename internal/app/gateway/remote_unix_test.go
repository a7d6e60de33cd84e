//go:build unix

package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// faraway is an agent somewhere else, with one task. It counts what it is asked to do.
type faraway struct {
	url string
	// halt has it stop behind its first piece until it is let; else it does so for a moment, in
	// which its client may go.
	halt, let chan struct{}

	mu    sync.Mutex // guards the fields below
	calls map[string]int
	over  bool
	open  map[net.Conn]bool
}

func openFaraway(t *testing.T) *faraway {
	f := &faraway{calls: map[string]int{}, open: map[net.Conn]bool{}}
	s := httptest.NewUnstartedServer(f)
	s.Config.ConnState = f.track
	s.Start()
	t.Cleanup(s.Close)
	f.url = s.URL
	return f
}

// agent returns a line of a configuration file that names it.
func (f *faraway) agent(id string) string {
	return fmt.Sprintf("  %s: {description: knows the weather, card: %q}\n", id, f.url)
}

// called returns how often it was asked for something.
func (f *faraway) called(method string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[method]
}

// track counts the connections that are open.
func (f *faraway) track(c net.Conn, state http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[c] = true; state == http.StateClosed {
		delete(f.open, c)
	}
}

// settle waits until all that a killed process has sent is counted. Connections are accepted in the
// order in which they were made, so the reply to a new one shows that all earlier ones are known.
func (f *faraway) settle(t *testing.T) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Get(f.url)
	if err != nil {
		t.Fatal(err)
	}
	_ = reply.Body.Close()
	testnet.Eventually(t, "the connections of the killed process are closed", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.open) == 0
	})
}

// ServeHTTP implements http.Handler.
func (f *faraway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		fmt.Fprintf(w, `{"name":"Far","description":"d","version":"1","capabilities":{"streaming":true},"supportedInterfaces":[{"url":"http://%s/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, r.Host)
		return
	}
	var call struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.NewDecoder(r.Body).Decode(&call)
	f.mu.Lock()
	f.calls[call.Method]++
	over := f.over
	f.mu.Unlock()
	send := func(kind, member string) {
		if kind == "text/event-stream" {
			_, _ = io.WriteString(w, "data: ")
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`+"\n\n", call.ID, member)
		_ = http.NewResponseController(w).Flush()
	}
	const document = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_%s"},"artifacts":[{"artifactId":"a","parts":[{"text":"%s"}]}]}`
	if call.Method != "SendStreamingMessage" && call.Method != "SubscribeToTask" || over {
		w.Header().Set("Content-Type", "application/json")
		if call.Method == "GetTask" && over {
			send("", `"result":`+fmt.Sprintf(document, "COMPLETED", "It rains."))
			return
		}
		send("", `"error":{"code":-32004,"message":"no"}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(data string) { send("text/event-stream", `"result":`+data) }
	if call.Method == "SubscribeToTask" {
		event(`{"task":` + fmt.Sprintf(document, "WORKING", "It ") + `}`)
	} else {
		event(`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`)
		event(`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"It "}]}}}`)
		if f.halt != nil {
			close(f.halt)
			<-f.let
		}
		select {
		case <-r.Context().Done(): // it works on, and its client comes back for the rest
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	event(`{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,"lastChunk":true,"artifact":{"artifactId":"a","parts":[{"text":"rains."}]}}}`)
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	event(`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`)
}

// A message to an agent somewhere else is sent once, wherever the process is killed that has sent
// it: the next one reads the rest of the reply. Where nobody knows its task the agent has failed.
func TestRemoteAgentsAreTakenUp(t *testing.T) {
	t.Parallel()
	socket := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "").Socket
	places := make(chan struct{}, 3)
	for _, redis := range []string{"", socket} {
		for input, want := range map[string]string{"far away": "It rains.", "several agents": "I pay.A is done.It rains."} {
			t.Run(map[string]string{"": "sqlite", socket: "redis"}[redis]+"/"+input, func(t *testing.T) {
				t.Parallel()
				taken := 0
				atEachPoint(t, places, 4, func(t *testing.T, at int) bool {
					over, up := remoteKilledAt(t, redis, input, want, at)
					if up {
						taken++
					}
					return over
				})
				if taken == 0 {
					t.Error("the agent's task is taken up at no point")
				}
			})
		}
	}
}

// remoteKilledAt kills a process at one of its points, and goes on in this one. It returns whether
// the process had fewer, and whether the task was taken up.
func remoteKilledAt(t *testing.T, redis, input, want string, at int) (over, taken bool) {
	s, far := openShop(t), openFaraway(t)
	more := "router: off\nagents:\n" + far.agent("far")
	if input == "several agents" {
		more = teamOf("a", "") + far.agent("b")
	}
	c := crashedTurn{crashing{"", s.mcp, redis}, s.model, "tasks: {lease: 3s}\n" + more, ""}
	got, over := c.kill(t, input, at)
	if over {
		return true, false
	}
	far.settle(t)
	in, id, first := c.left(t)
	if id == "" {
		return false, false
	}
	saved, err := in.List(t.Context(), store.TurnKey(first.Turn), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	known, sent := bytes.Contains(bytes.Join(saved, nil), []byte(`"kind":"remote"`)), far.called("SendStreamingMessage")
	f := c.gateway(t, in)
	last := s.over(f, id)
	now := far.called("SendStreamingMessage")
	if now > 1 || far.called("CancelTask") > 0 || s.paid[30] > 1 {
		t.Errorf("%v, %v", far.calls, s.paid)
	}
	text := ""
	for _, turn := range turnsOf(string(got), first.Turn, last.Turn) {
		said, _ := logOfTurn(f, turn, first.State != task.Completed)
		text += said
	}
	text = strings.ReplaceAll(text, "\n\n", "")
	if whole := last.State == task.Completed && text == want; !whole && (known || first.State == task.Completed || now > sent) {
		t.Errorf("known: %t, sent %d and %d times; the task is %s, and the log says %q", known, sent, now, last.State, text)
	}
	if last.State == task.Failed && !strings.Contains(string(last.Doc), "not known") {
		t.Errorf("the task is %s", last.Doc)
	}
	s.resumes(f, string(got))
	return false, known && first.State != task.Completed && now == 1
}

// A turn that is handed over while an agent somewhere else works is waited for until its task is
// known; nobody cancels that, and the next gateway has the rest of the answer.
func TestRemoteAgentsAreHandedOver(t *testing.T) {
	t.Parallel()
	far := openFaraway(t)
	far.halt, far.let = make(chan struct{}), make(chan struct{})
	config := func(string) string { return "router: off\nagents:\n" + far.agent("far") }
	l := openLeaving(t, "", config, config)
	l.asks("far away")
	<-far.halt
	l.abort()
	<-l.broken
	close(far.let)
	t.Logf("claimed within %s", l.ends())
	wholetest.Only(t, l.two.Store())
	if l.client.final != "It rains." || far.called("SendStreamingMessage") != 1 || far.called("SubscribeToTask") == 0 || far.called("CancelTask") != 0 {
		t.Errorf("%+v; %v", l.client, far.calls)
	}
}
