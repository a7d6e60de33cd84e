package loadtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"sluice/internal/base/testnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// address is of no machine (RFC 5737) and needs no lookup.
const address = "http://192.0.2.1"

// inBubble makes the load of cfg on h, in fake time.
func inBubble(t *testing.T, cfg Config, h http.HandlerFunc) (rep Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { rep = load(t, cfg, h) })
	return rep
}

// load makes the load of cfg on h, from inside a bubble.
func load(t *testing.T, cfg Config, h http.HandlerFunc) Report {
	t.Helper()
	transport := serve(t, h)
	cfg.URL, cfg.Transport = address, transport
	if cfg.Inputs == nil {
		cfg.Inputs = []string{"hi"}
	}
	rep, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := rep.Streams
	if sum := s.Done + s.Failed + s.Refused + s.Broken + s.Unreconciled + s.LeftEarly + s.Interrupted; sum != s.Started {
		t.Errorf("%d streams began and %d ended: %+v", s.Started, sum, s)
	}
	return rep
}

// serve serves h in memory until the test ends. The body is read before h begins:
// net/http does not notice that a client left before.
func serve(t *testing.T, h http.HandlerFunc) *http.Transport {
	t.Helper()
	l := testnet.Listen()
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(l)
	}()
	transport := newTransport(100)
	transport.DialContext = l.Dial
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = srv.Close()
		<-ended
	})
	return transport
}

// event returns the frame of event n of the request that events answers. members
// is what its data holds besides the request id.
func event(n int, name, members string) string {
	retry := ""
	if n == 1 {
		retry = "retry: 86400000\n"
	}
	return fmt.Sprintf("%sid: req_1:%d\nevent: %s\ndata: {\"request_id\":\"req_1\",%s}\n\n", retry, n, name, members)
}

const (
	startData = `"model":"m","protocol":"sluice/1"`
	doneData  = `"final_output":"Hello, world\n","tools_called":[],"success":true,"finish_reason":"stop"`
)

// good is a whole stream.
func good() string {
	return event(1, "start", startData) + event(2, "thinking", `"content":"hm"`) +
		event(3, "response_delta", `"delta":"Hello, "`) + event(4, "response_delta", `"delta":"world\n"`) + event(5, "done", doneData)
}

// begin writes the headers of a stream.
func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Request-ID", "req_1")
	w.WriteHeader(http.StatusOK)
}

// play answers with a stream.
func play(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		begin(w)
		_, _ = w.Write([]byte(body))
	}
}

// slowly answers with a good stream, with a pause between two events.
func slowly(pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		begin(w)
		for i, block := range slices.Collect(strings.SplitAfterSeq(good(), "\n\n"))[:5] {
			if i > 0 && !pass(r.Context(), pause) {
				return
			}
			_, _ = w.Write([]byte(block))
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// pass lets time pass. It returns false if the client leaves meanwhile.
func pass(ctx context.Context, pause time.Duration) bool {
	select {
	case <-time.After(pause):
		return true
	case <-ctx.Done():
		return false
	}
}
