//go:build unix

package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/fault"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/task"
)

// leaving is a gateway that ends while a turn runs, and another one on the same store.
type leaving struct {
	t        *testing.T
	shop     *shop
	one, two *wholetest.Flow
	client   *reader
	after    string        // the last id that the client has
	answers  chan struct{} // closed when the client has the begin of the last answer
	broken   chan struct{}
}

// openLeaving starts the gateways; more is what the configuration file of each has besides.
func openLeaving(t *testing.T, hold string, more ...func(model string) string) *leaving {
	l := &leaving{t: t, shop: openShop(t), client: new(reader), answers: make(chan struct{}), broken: make(chan struct{})}
	l.shop.hold, l.shop.held, l.shop.let = hold, make(chan struct{}, 8), make(chan struct{})
	c := crashedTurn{crashing{filepath.Join(t.TempDir(), "leaving"), l.shop.mcp, redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "").Socket}, l.shop.model, "tasks: {lease: 60s}\n", ""}
	for i, f := range []**wholetest.Flow{&l.one, &l.two} {
		if more != nil {
			c.more = "tasks: {lease: 60s}\n" + more[i](l.shop.model)
		}
		in := c.open(t)
		t.Cleanup(func() { _ = in.Close() })
		*f = c.gateway(t, in)
		wholetest.AwaitTools(t, *f)
	}
	return l
}

// asks begins a turn, whose stream the client reads until it breaks off.
func (l *leaving) asks(input string) {
	go func() {
		defer close(l.broken)
		got := l.one.Serve("/chat/stream", fmt.Sprintf(`{"input":%q}`, input), l)
		for frame := range strings.SplitSeq(got, "\n\n") {
			if id := l.client.read(frame); id != "" {
				l.after = id
			}
		}
	}()
}

// Write sees what the client gets. It notes the begin of the last answer.
func (l *leaving) Write(p []byte) (int, error) {
	if strings.Contains(string(p), `"delta":"All`) {
		close(l.answers)
	}
	return len(p), nil
}

// ends waits until the second gateway has finished the turn.
func (l *leaving) ends() (elapsed time.Duration) {
	t := l.t
	t.Helper()
	began := time.Now()
	<-l.broken
	if l.client.done {
		t.Fatal("the client has an end")
	}
	turn, _, _ := strings.Cut(l.after, ":")
	var last store.Task
	testnet.Eventually(t, "the turn is claimed", func() bool {
		log, err := l.two.Tasks().OpenLog(t.Context(), turn)
		if err != nil {
			t.Fatal(err)
		}
		if last, err = l.two.Store().Task(t.Context(), log.Task); err != nil {
			t.Fatal(err)
		}
		return !strings.HasPrefix(last.Owner, "left_") && last.Holder != l.one.Tasks().Holder()
	})
	elapsed = time.Since(began)
	close(l.shop.let)
	l.shop.resumesFrom(l.two, l.client, l.after)
	log, err := l.two.Tasks().OpenLog(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, "the turn is over", func() bool {
		last, err = l.two.Store().Task(context.Background(), log.Task)
		return err == nil && last.State != task.Working
	})
	if last.State != task.Completed {
		t.Fatalf("%s %s", last.State, last.Doc)
	}
	return elapsed
}

func (l *leaving) abort() {
	l.one.HTTP().Drain()
	l.one.HTTP().Abort(&fault.Error{Type: fault.ShuttingDown, Message: "The gateway is shutting down", RetryAfter: time.Second})
}

// A turn whose gateway ends in the middle of an answer goes on in another one at once, and its
// client has a text without what was taken back.
func TestTurnsAreHandedOver(t *testing.T) {
	t.Parallel()
	l := openLeaving(t, "model")
	l.asks("look around")
	<-l.answers
	l.abort()
	t.Logf("claimed within %s", l.ends())
	if l.client.final != "I look.\n\nAll is done." {
		t.Errorf("%+v", l.client)
	}
	w := httptest.NewRecorder()
	l.two.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, line := range []string{`sluice_text_resets_total{reason="taken_over"} 1`, `sluice_turn_claims_total{outcome="continued",why="handed_over"} 1`} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("the metrics lack %s:\n%s", line, w.Body)
		}
	}
}

// What goes on with a turn has the model that has answered, though others answer from there on; a
// gateway that does not know it closes the turn.
func TestModelIsNotThere(t *testing.T) {
	t.Parallel()
	const agents = "router: off\nagents:\n  a: {description: pays, prompt: AGENT-A, tools: [bank], model: %s}\nmodels:\n"
	model := func(format string) func(string) string {
		return func(at string) string {
			return strings.ReplaceAll(format, "MODEL", fmt.Sprintf("{provider: gemini, endpoint: %q, model: m}", at))
		}
	}
	chain := func(first, more string) string {
		return "models:\n  default: {provider: gemini, endpoint: \"http://127.0.0.1:1\", model: m, retries: 0, fallback: [" + first + "]}\n" + more
	}
	for name, tt := range map[string]struct {
		one, two string
		lost     bool
	}{
		"as it was":               {fmt.Sprintf(agents, "fast") + "  fast: MODEL\n", fmt.Sprintf(agents, "fast") + "  fast: MODEL\n", false},
		"another one answers":     {fmt.Sprintf(agents, "fast") + "  fast: MODEL\n", fmt.Sprintf(agents, "slow") + "  fast: MODEL\n  slow: MODEL\n", false},
		"it is gone":              {fmt.Sprintf(agents, "fast") + "  fast: MODEL\n", fmt.Sprintf(agents, "slow") + "  slow: MODEL\n", true},
		"a fallback, as it was":   {chain("spare", "  spare: MODEL\n"), chain("spare", "  spare: MODEL\n"), false},
		"a fallback that is gone": {chain("spare", "  spare: MODEL\n"), chain("other", "  other: MODEL\n"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLeaving(t, "model", model(tt.one), model(tt.two))
			l.asks("pay once")
			<-l.shop.held
			l.abort()
			<-l.broken
			close(l.shop.let)
			turn, _, _ := strings.Cut(l.after, ":")
			log, err := l.two.Tasks().OpenLog(t.Context(), turn)
			if err != nil {
				t.Fatal(err)
			}
			var last store.Task
			testnet.Eventually(t, "the turn is over", func() bool {
				last, err = l.two.Store().Task(t.Context(), log.Task)
				return err == nil && last.State != task.Working
			})
			w := httptest.NewRecorder()
			l.two.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/tasks/"+log.Task+"/events", nil))
			if lost := strings.Contains(w.Body.String(), `"error_type":"turn_lost"`); lost != tt.lost || (last.State == task.Completed) == tt.lost {
				t.Errorf("%s, and lost is %v:\n%s", last.State, lost, w.Body)
			}
			if l.shop.paid[30] != 1 {
				t.Errorf("paid: %v", l.shop.paid)
			}
		})
	}
}

// A call that must not be made twice is waited for: its result is known to who goes on.
func TestHandOverWaitsForPayments(t *testing.T) {
	t.Parallel()
	l := openLeaving(t, "bank, model") // without the latter the turn may end before it is handed over
	l.asks("pay once")
	<-l.shop.held
	l.abort()
	select {
	case <-l.broken:
		t.Error("the stream ends while the payment is under way")
	case <-time.After(100 * time.Millisecond):
	}
	l.shop.let <- struct{}{}
	t.Logf("claimed within %s", l.ends())
	if l.shop.paid[30] != 1 || l.client.final != "I pay.\n\nAll is done." {
		t.Errorf("%v %+v", l.shop.paid, l.client)
	}
}
