package task_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// slowLogs is a store in which the first event of a turn arrives late: its idempotency key is
// there before that.
type slowLogs struct {
	store.Store
	late time.Duration
}

func (s slowLogs) AppendLog(ctx context.Context, turn string, a store.Append) error {
	if a.At == 0 {
		time.Sleep(s.late)
	}
	return s.Store.AppendLog(ctx, turn, a)
}

// repetitions are the ways in which a request with a key comes again.
var repetitions = []struct {
	name, method, path, body string
	rpc                      bool
}{
	{"POST", http.MethodPost, "/chat/stream", wholetest.Created, false},
	{"GET", http.MethodGet, "/chat/stream?input=hi&idempotency_key=key-12345", "", false},
	{"ChatKit", http.MethodPost, "/chatkit", `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"hi"}],"attachments":[],"inference_options":{}}}}`, false},
	{"A2A", http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":"one","method":"SendMessage","params":` + wholetest.MessageOf("f47ac10b-58cc-4372-a567-0e02b2c3d479", "hi") + `}`, true},
	{"A2A stream", http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":"one","method":"SendStreamingMessage","params":` + wholetest.MessageOf("f47ac10b-58cc-4372-a567-0e02b2c3d479", "hi") + `}`, true},
}

// overA2A is a file that serves A2A.
const overA2A = "a2a: {enabled: true}\n"

// A key that comes again while its turn begins is waited for and then attached to, at the same
// gateway and at another one, in every protocol; the turn runs once.
func TestRepeatedKeyWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	for _, again := range repetitions {
		for gateways := 1; gateways <= 2; gateways++ {
			wholetest.InFleetNamed(t, fmt.Sprint(again.name, " ", gateways), func(t *testing.T, f *wholetest.Fleet) {
				f.Store, f.File = slowLogs{memory.New(memory.Config{}), time.Second}, overA2A
				one := f.Gateway(nil)
				two := one
				if gateways == 2 {
					two = f.Gateway(nil)
				}
				var bodies [2]string
				var heads [2]http.Header
				var wg sync.WaitGroup
				for i, p := range []wholetest.Peer{one, two} {
					wg.Go(func() {
						resp := p.Send(t, t.Context(), again.method, again.path, again.body, "Idempotency-Key", "key-12345")
						body, err := io.ReadAll(resp.Body)
						if err != nil || resp.StatusCode != http.StatusOK {
							t.Errorf("%d %v %s", resp.StatusCode, err, body)
						}
						bodies[i], heads[i] = wholetest.WithoutBeats(string(body)), resp.Header
					})
					synctest.Wait() // the first one has claimed the key
				}
				wg.Wait()
				if f.Runs != 1 || heads[1].Get("X-Sluice-Replayed") != "true" {
					t.Errorf("%d runs, headers %v", f.Runs, heads[1])
				}
				if diff := cmp.Diff(undated(bodies[0]), undated(bodies[1])); diff != "" && again.name != "A2A stream" {
					t.Errorf("(-first +again):\n%s", diff)
				}
				if strings.Count(bodies[1], "word ") < 5 {
					t.Errorf("again:\n%s", bodies[1])
				}
			})
		}
	}
}

// A turn that does not begin in time is not called over: a POST is to come back in a second, and
// a GET breaks off, since an EventSource would take any other reply for the end. Afterwards both
// attach.
func TestRepeatedKeyOfATurnThatDoesNotBegin(t *testing.T) {
	t.Parallel()
	for _, again := range repetitions {
		wholetest.InFleetNamed(t, again.name, func(t *testing.T, f *wholetest.Fleet) {
			f.Store, f.File = slowLogs{memory.New(memory.Config{}), 5 * time.Second}, overA2A
			one, two := f.Gateway(nil), f.Gateway(map[string]string{"SLUICE_HEARTBEAT": "500ms"})
			var wg sync.WaitGroup
			wg.Go(func() {
				one.Ask(t, again.method, again.path, again.body, "Idempotency-Key", "key-12345")
			})
			synctest.Wait()
			began := time.Now()
			resp := two.Send(t, t.Context(), again.method, again.path, again.body, "Idempotency-Key", "key-12345")
			committed := time.Since(began)
			body, err := io.ReadAll(resp.Body)
			waited := time.Since(began)
			switch {
			case waited != 2*time.Second:
				t.Errorf("after %v", waited)
			case again.method == http.MethodGet:
				if resp.StatusCode != http.StatusOK || err == nil || committed != 0 || strings.Count(string(body), ": ping") < 3 {
					t.Errorf("%d after %v, %v, %q", resp.StatusCode, committed, err, body)
				}
			case resp.Header.Get("Retry-After") != "1":
				t.Errorf("headers %v", resp.Header)
			case again.rpc:
				if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"code":-32603`) {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
			case resp.StatusCode != http.StatusConflict || !strings.Contains(string(body), "duplicate_request"):
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			time.Sleep(2 * time.Second)
			if status, body := two.Ask(t, again.method, again.path, again.body, "Idempotency-Key", "key-12345"); status != http.StatusOK || strings.Count(body, "word ") < 5 {
				t.Errorf("later: %d %s", status, body)
			}
			wg.Wait()
			if f.Runs != 1 {
				t.Errorf("%d runs", f.Runs)
			}
		})
	}
}

// A client whose turn runs and has no log any more comes back; where the turn is over it is not
// to.
func TestRepeatedKeyOfATurnThatIsOver(t *testing.T) {
	get := "/chat/stream?input=hi&idempotency_key=key-12345"
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, two := f.Gateway(nil), f.Gateway(nil)
		resp := one.Send(t, t.Context(), http.MethodGet, get, "")
		_, _, turn := wholetest.StartOf(t, resp)
		if err := f.Store.DropLog(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		again := two.Send(t, t.Context(), http.MethodGet, get, "")
		if _, err := io.ReadAll(again.Body); err == nil || again.StatusCode != http.StatusOK {
			t.Errorf("while it runs: %d %v", again.StatusCode, err)
		}
		_, _ = io.ReadAll(resp.Body)
		synctest.Wait()
		began := time.Now()
		if status, body := two.Ask(t, http.MethodGet, get, ""); status != http.StatusNoContent || body != "" || time.Since(began) != 0 {
			t.Errorf("%d %q after %v", status, body, time.Since(began))
		}
	})
}

var datedText = regexp.MustCompile(`"(created_at|timestamp)":"[^"]*"`)

// undated returns a reply without what says when it was made.
func undated(body string) string { return datedText.ReplaceAllString(body, "") }
