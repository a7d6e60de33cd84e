//go:build unix

package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// ledgerFile pays, and pays again where the first call failed: what a retry edge does.
const ledgerFile = `
mcpServers: {bank: {url: %q, timeout: 300s}}
agents: {a: {description: answers}}
workflows:
  pay:
    timeout: 10m
    nodes:
      pay: {type: tool, tool: bank/pay, timeout: 5m, arguments: {amount: "30"}}
      again: {type: tool, tool: bank/pay, timeout: 5m, arguments: {amount: "30"}}
      answer: {type: agent, agent: a, input: "hello"}
    edges: [{from: pay, to: again, condition: "result.is_error"}, {from: pay, to: answer, condition: "!result.is_error"}, {from: again, to: answer}]
`

// ledger is a run that pays: its bank answers the first payment when it is let go.
type ledger struct {
	t    *testing.T
	in   store.Store
	file string
	paid atomic.Int64
	free chan struct{}   // closed: the bank answers
	one  *wholetest.Flow // the gateway that begins the run
}

// newLedger opens nothing yet: change replaces in the file.
func newLedger(t *testing.T, in store.Store, change ...string) *ledger {
	l := &ledger{t: t, in: in, free: make(chan struct{})}
	url := wholetest.HookedBank(t, &l.paid, func() {
		if l.paid.Load() == 1 {
			<-l.free
		}
	})
	t.Cleanup(l.release)
	l.file = strings.NewReplacer(change...).Replace(fmt.Sprintf(ledgerFile, url+"/mcp"))
	return l
}

// task returns the run's.
func (l *ledger) task() string {
	l.t.Helper()
	page, err := l.in.Tasks(l.t.Context(), store.Query{User: "ann", Limit: 10})
	if err != nil || len(page.IDs) != 1 {
		l.t.Fatal(err, page.IDs)
	}
	return page.IDs[0]
}

// gateway starts one on a store; nil: without any.
func (l *ledger) gateway(in store.Store) *wholetest.Flow {
	if in != nil {
		return wholetest.StartOn(l.t, in, l.file)
	}
	f := wholetest.StartFlows(l.t, l.file, map[string]string{"SLUICE_STORE": "none"})
	wholetest.AwaitTools(l.t, f)
	return f
}

// release lets the bank answer.
func (l *ledger) release() {
	select {
	case <-l.free:
	default:
		close(l.free)
	}
}

// brokenOff is a reply whose connection is cut at the end, as a server does.
func brokenOff(f *wholetest.Flow, ctx context.Context, method, path, body string, header ...string) (got string, cut bool) {
	req := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			} else if p != nil {
				cut = true
			}
		}()
		f.ServeHTTP(w, req)
	}()
	return w.Body.String(), cut
}

const beginsLedger = `{"input":"Buy it","workflow":"pay","user_id":"ann","accumulated":false}`

// begin begins the run, and returns its stream when the run has paid and cut has happened.
func (l *ledger) begin(in store.Store, cut func(), header ...string) (reported string, broken bool) {
	l.t.Helper()
	l.one = l.gateway(in)
	type reply struct {
		output string
		broken bool
	}
	got := make(chan reply, 1)
	go func() {
		emitted, broken := brokenOff(l.one, l.t.Context(), http.MethodPost, "/chat/stream", beginsLedger, header...)
		got <- reply{emitted, broken}
	}()
	testnet.Eventually(l.t, "the run has paid", func() bool { return l.paid.Load() == 1 })
	cut()
	r := <-got
	for block := range strings.SplitSeq(r.output, "\n\n") {
		if strings.Contains(block, "event: error") && strings.Contains(block, `"recoverable":true`) {
			l.t.Errorf("a client is told to send it again: %s", block)
		}
	}
	return r.output, r.broken
}

// finish continues with the run on a gateway until it is over, as a person does who looks into
// the ledger: asked says whether there was a question.
func (l *ledger) finish(f *wholetest.Flow, want string) (asked bool) {
	l.t.Helper()
	id := l.task()
	testnet.Eventually(l.t, "the run is over", func() bool {
		state := wholetest.StateOf(l.t, l.in, id)
		if state == task.InputRequired {
			asked = true
			f.Decides(id, `{"action":"modify","result":"paid 1","user_id":"ann"}`)
		}
		return state != task.Working && state != task.InputRequired
	})
	if state := wholetest.StateOf(l.t, l.in, id); state != want {
		l.t.Errorf("the task is %s, want %s", state, want)
	}
	if n := l.paid.Load(); n != 1 {
		l.t.Errorf("paid %d times", n)
	}
	return asked
}

// resumed reads the rest of a stream that broke off, on a gateway: its ids continue without a
// gap.
func (l *ledger) resumed(f *wholetest.Flow, got string) {
	l.t.Helper()
	if strings.Contains(got, "event: error") || strings.Contains(got, "event: done") {
		l.t.Fatalf("a stream that goes on elsewhere tells an end:\n%s", got)
	}
	_, last, _ := strings.Cut(got[strings.LastIndex(got, "id: "):], "id: ")
	last, _, _ = strings.Cut(last, "\n")
	turn, number, _ := strings.Cut(last, ":")
	n, _ := strconv.Atoi(number)
	rest, _ := brokenOff(f, l.t.Context(), http.MethodGet, "/chat/stream", "", "Last-Event-ID", last)
	for line := range strings.SplitSeq(rest, "\n") {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			if n++; id != fmt.Sprintf("%s:%d", turn, n) {
				l.t.Fatalf("%s follows event %d", id, n-1)
			}
		}
	}
	if !strings.Contains(rest, "event: done") {
		l.t.Errorf("the rest is\n%s", rest)
	}
}

// A payment behind every way in which a run can be cut, ended, retried and resumed: it is made
// once, and a person is asked where nobody can know. Kills of the process are
// TestKilledAtEveryWrite.
func TestPaymentsAreMadeOnce(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) store.Store{
		"memory": func(*testing.T) store.Store { return memory.New(memory.Config{}) },
		"sqlite": func(t *testing.T) store.Store { return wholetest.OpenFile(t, t.TempDir()) },
	}
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
		var n atomic.Int64
		paymentsOver(t, func(t *testing.T) store.Store {
			in := redis.New(redis.Config{Location: server.Location(), Prefix: fmt.Sprint("t", n.Add(1), ":"), Calls: store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second})})
			t.Cleanup(func() { _ = in.Close() })
			return in
		})
	})
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paymentsOver(t, open)
		})
	}
}

func paymentsOver(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range map[string]func(t *testing.T, in store.Store){
		"a node's time": func(t *testing.T, in store.Store) {
			l := newLedger(t, in, "pay: {type: tool, tool: bank/pay, timeout: 5m", "pay: {type: tool, tool: bank/pay, timeout: 2s")
			l.begin(in, func() {})
			if !l.finish(l.one, task.Completed) {
				t.Error("nobody was asked")
			}
		},
		"a tool's time": func(t *testing.T, in store.Store) {
			l := newLedger(t, in, "timeout: 300s", "timeout: 2s")
			l.begin(in, func() {})
			if !l.finish(l.one, task.Completed) {
				t.Error("nobody was asked")
			}
		},
		"the run's time": func(t *testing.T, in store.Store) {
			l := newLedger(t, in, "timeout: 10m", "timeout: 2s")
			l.begin(in, func() {})
			l.finish(l.one, task.Failed)
		},
		"a cancel": func(t *testing.T, in store.Store) {
			l := newLedger(t, in)
			l.begin(in, func() { l.one.Replies("/tasks/"+l.task()+"/cancel?user_id=ann", "") })
			l.finish(l.one, task.Canceled)
		},
		"a signal": func(t *testing.T, in store.Store) {
			l := newLedger(t, in)
			got, cut := l.begin(in, func() {
				l.one.HTTP().Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down"})
			})
			l.one.Close()
			if !cut {
				t.Errorf("the reply ends as if it were whole:\n%s", got)
			}
			two := wholetest.StartOn(t, in, l.file)
			testnet.Eventually(t, "a person is asked", func() bool { return wholetest.StateOf(t, in, l.task()) == task.InputRequired })
			l.resumed(two, got)
			l.finish(two, task.Completed)
		},
		"a fence": func(t *testing.T, in store.Store) {
			l := newLedger(t, in)
			var two *wholetest.Flow
			got, cut := l.begin(in, func() {
				last, err := in.Task(t.Context(), l.task())
				if err == nil {
					err = in.ReleaseLease(t.Context(), last.Holder)
				}
				if err != nil {
					t.Fatal(err)
				}
				two = wholetest.StartOn(t, in, l.file)
				testnet.Eventually(t, "another gateway asks", func() bool { return wholetest.StateOf(t, in, l.task()) == task.InputRequired })
				l.release()
			})
			if !cut || strings.Contains(got, "event: done") {
				t.Errorf("the reply of a fenced gateway ends as if it were whole:\n%s", got)
			}
			l.finish(two, task.Completed)
		},
		"the store away": func(t *testing.T, in store.Store) {
			l := newLedger(t, in)
			down := &wholetest.Cut{Store: in, Why: store.ErrUnavailable}
			l.begin(down, func() { down.Off.Store(true); l.release() })
			l.one.Close()
			l.finish(wholetest.StartOn(t, in, l.file), task.Completed)
		},
		"a key that is repeated": func(t *testing.T, in store.Store) {
			l := newLedger(t, in)
			again := make(chan string, 1)
			l.begin(in, func() {
				go func() {
					got, _ := brokenOff(l.one, t.Context(), http.MethodPost, "/chat/stream", beginsLedger, "Idempotency-Key", "key-of-a-payment")
					again <- got
				}()
				l.release()
			}, "Idempotency-Key", "key-of-a-payment")
			if got := <-again; !strings.Contains(got, "event: done") {
				t.Errorf("the repetition is told\n%s", got)
			}
			l.finish(l.one, task.Completed)
		},
		"a done that is lost": func(t *testing.T, in store.Store) {
			l := newLedger(t, in)
			l.one = wholetest.StartOn(t, in, l.file)
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan string, 1)
			go func() {
				got, _ := brokenOff(l.one, ctx, http.MethodPost, "/chat/stream", beginsLedger, "Idempotency-Key", "key-of-a-payment")
				left <- got
			}()
			testnet.Eventually(t, "the run has paid", func() bool { return l.paid.Load() == 1 })
			leave()
			l.release()
			got, _ := brokenOff(l.one, t.Context(), http.MethodPost, "/chat/stream", beginsLedger, "Idempotency-Key", "key-of-a-payment")
			if !strings.Contains(got, "event: done") {
				t.Errorf("who sends it again is told\n%s", got)
			}
			<-left
			l.finish(l.one, task.Completed)
		},
		"an answer that is repeated": func(t *testing.T, in store.Store) {
			l := newLedger(t, in, "    timeout: 10m\n", "    timeout: 10m\n    checkpoints: [pay]\n    entry_point: pay\n")
			l.release()
			l.one = wholetest.StartOn(t, in, l.file)
			id, _ := l.one.StartQuestion("/chat/stream", beginsLedger)
			answers := make(chan string, 4)
			for range cap(answers) {
				go func() {
					_, got := l.one.Decides(id, `{"action":"approve","user_id":"ann"}`)
					answers <- got
				}()
			}
			for range cap(answers) {
				<-answers
			}
			l.finish(l.one, task.Completed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Without a store a run that is cut is over, and who began it is not asked to do so again.
func TestPaymentsWithoutAStore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change []string
		cut    func(l *ledger)
	}{
		"a node's time":  {[]string{"pay: {type: tool, tool: bank/pay, timeout: 5m", "pay: {type: tool, tool: bank/pay, timeout: 2s"}, func(*ledger) {}},
		"a tool's time":  {[]string{"timeout: 300s", "timeout: 2s"}, func(*ledger) {}},
		"the run's time": {[]string{"timeout: 10m", "timeout: 2s"}, func(*ledger) {}},
		"a signal": {nil, func(l *ledger) {
			l.one.HTTP().Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down", RetryAfter: time.Second})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(t, nil, tt.change...)
			got, _ := l.begin(nil, func() { tt.cut(l) })
			if n := l.paid.Load(); n != 1 || !strings.Contains(got, "event: done") || strings.Contains(got, "retry_after_ms") {
				t.Errorf("paid %d times\n%s", n, got)
			}
		})
	}
}
