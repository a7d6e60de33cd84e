package process_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
)

// crowd is how many streams run at once.
func crowd() int {
	if testing.Short() {
		return 200
	}
	return 1000
}

// twoMinds is a Gemini API that answers the input "quick" when it is let go, and
// "stuck" never.
type twoMinds struct {
	url     string
	waiting chan struct{} // gets one for each that waits
	gone    chan struct{} // lets one go
}

// await returns when n wait.
func (m *twoMinds) await(t *testing.T, n int) {
	t.Helper()
	for range n {
		gatewaytest.Within(t, "the model calls", m.waiting)
	}
}

// letGo answers n of those who wait.
func (m *twoMinds) letGo(n int) {
	for range n {
		m.gone <- struct{}{}
	}
}

func newTwoMinds(t *testing.T) *twoMinds {
	t.Helper()
	m := &twoMinds{waiting: make(chan struct{}, crowd()), gone: make(chan struct{}, crowd())}
	quick, stuck := gatewaytest.Scripted(t, "lenient\nloop\ntext On\ntext e, two\nfinish STOP"), gatewaytest.Scripted(t, "lenient\nloop\ntext One\nstall")
	m.url = gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`stuck"`)) {
			stuck.ServeHTTP(w, r)
			return
		}
		m.waiting <- struct{}{}
		select {
		case <-m.gone:
			quick.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	return m
}

func (m *twoMinds) env(more ...string) map[string]string {
	return gatewaytest.With(map[string]string{
		"GEMINI_API_KEY":  "test-key-0123456789",
		"GEMINI_BASE_URL": m.url,
		// Not what is at test here, and a busy machine takes its time.
		"SLUICE_REQUEST_TIMEOUT": "1h", "SLUICE_MODEL_TIMEOUT": "1h", "SLUICE_WRITE_TIMEOUT": "1h",
	}, more...)
}

// ending is how one stream of a crowd ended.
type ending struct {
	frames []gatewaytest.Frame
	err    error
}

// gather begins n streams and returns when all have their first event. The channel
// gets each stream's end.
func gather(r *gatewaytest.Running, n int, text func(i int) string) <-chan ending {
	r.T.Helper()
	began, ended := make(chan error, n), make(chan ending, n)
	door := make(chan struct{}, 50) // as many come in at the same time
	for i := range n {
		door <- struct{}{}
		go func() {
			s, err := r.Post(r.T.Context(), gatewaytest.Input(text(i)))
			var first gatewaytest.Frame
			if err == nil {
				first, err = s.Next()
			}
			<-door
			began <- err
			if err != nil {
				return
			}
			frames, err := s.ReadToEnd()
			ended <- ending{append([]gatewaytest.Frame{first}, frames...), err}
		}()
	}
	for range n {
		if err := gatewaytest.Within(r.T, "the streams' first events", began); err != nil {
			r.T.Fatalf("a stream did not begin: %v", err)
		}
	}
	return ended
}

// outcomes counts n streams by finish reason. Each must be whole.
func outcomes(t *testing.T, n int, ended <-chan ending) map[string]int {
	t.Helper()
	count := map[string]int{}
	for range n {
		e := gatewaytest.Within(t, "the streams' ends", ended)
		if e.err != nil {
			t.Fatalf("a stream was lost: %v", e.err)
		}
		if dones := gatewaytest.Only(e.frames, "done"); len(dones) != 1 {
			t.Fatalf("a stream has %d done", len(dones))
		}
		reason := gatewaytest.Done(e.frames).Str("finish_reason")
		if reason == "shutdown" {
			if e := gatewaytest.WantFailure(t, e.frames, "shutting_down", "shutdown"); e.Data["recoverable"] != true {
				t.Fatalf("got %s", e.Raw)
			}
		}
		count[reason]++
	}
	return count
}

// A crowd is served, and then another one is while the program is asked to end: nothing new is
// let in, what runs may end by itself until the drain time is over, and is reported then.
// Nobody is lost. Not parallel: it takes all that the machine has.
func TestCrowd(t *testing.T) {
	api, n := newTwoMinds(t), crowd()
	r := wholetest.ListenWith(t, api.env("SLUICE_DRAIN_TIMEOUT", "1s", "SLUICE_LOG_LEVEL", "warning"), new(gatewaytest.LogTail))
	ended := gather(r, n, func(int) string { return "quick" })
	if _, rep := r.Ready(); rep.Streams != n {
		t.Errorf("%d streams at the same time, want %d", rep.Streams, n)
	}
	api.await(t, n)
	api.letGo(n)
	if got := outcomes(t, n, ended); got["stop"] != n {
		t.Errorf("of %d streams: %v", n, got)
	}
	if _, body := r.Get("/metrics"); !strings.Contains(body, fmt.Sprintf("\nsluice_events_total{event=\"done\"} %d\n", n)) {
		t.Errorf("/metrics:\n%s", body)
	}

	ended = gather(r, n, func(i int) string { return []string{"quick", "stuck"}[i%2] })
	api.await(t, n/2)
	r.Signals <- syscall.SIGTERM
	wantRefusal(t, r)
	api.letGo(n / 2)
	got := outcomes(t, n, ended)
	if got["shutdown"] < n/2 || got["stop"] == 0 || got["stop"]+got["shutdown"] != n {
		t.Errorf("of %d streams, half of them stuck: %v", n, got)
	}
	if code := r.Wait(); code != wholetest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if _, err := r.Client.Get(r.Base + "/healthz"); err == nil {
		t.Error("it still answers")
	}
}

// wantRefusal checks that a gateway that drains says so. The first look may come
// before the signal was taken; soon after it must be seen.
func wantRefusal(t *testing.T, r *gatewaytest.Running) {
	t.Helper()
	status, rep := r.Ready()
	testnet.Eventually(t, "/readyz fails", func() bool {
		if status == http.StatusOK {
			status, rep = r.Ready()
		}
		return status != http.StatusOK
	})
	if status != http.StatusServiceUnavailable || rep.Status != "draining" {
		t.Errorf("/readyz: %d %+v", status, rep)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.Base+"/chat/stream", strings.NewReader(gatewaytest.Input("hi")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	header := gatewaytest.WantProblem(t, r, req, http.StatusServiceUnavailable, "shutting_down")
	if after, err := strconv.Atoi(header.Get("Retry-After")); err != nil || after < 1 {
		t.Errorf("Retry-After is %q", header.Get("Retry-After"))
	}
}

// A second signal means now: within a second every stream is reported, and it is over.
func TestSecondSignal(t *testing.T) {
	const n = 20
	api := newTwoMinds(t)
	r := wholetest.Listen(t, api.env("SLUICE_DRAIN_TIMEOUT", "1h"))
	ended := gather(r, n, func(int) string { return "stuck" })
	r.Signals <- syscall.SIGTERM
	r.Log.Await(t, "draining", nil)
	r.Signals <- syscall.SIGTERM
	began := time.Now()
	code := r.Wait()
	testnet.Prompt(t, "the end after the second signal", time.Since(began), time.Second)
	if code != wholetest.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	if got := outcomes(t, n, ended); got["shutdown"] != n {
		t.Errorf("the streams ended with %v", got)
	}
}

// pulse reports each write.
type pulse struct {
	http.ResponseWriter
	beats chan<- struct{}
}

func (p *pulse) Write(b []byte) (int, error) {
	n, err := p.ResponseWriter.Write(b)
	select {
	case p.beats <- struct{}{}:
	default:
	}
	return n, err
}

// Unwrap lets http.ResponseController flush.
func (p *pulse) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Nor does a client that does not read make it later, however long a write may take.
func TestSecondSignalWithAClientThatDoesNotRead(t *testing.T) {
	api := gatewaytest.Scripted(t, "repeat 100 fill 20000\nstall")
	beats := make(chan struct{}, 1)
	url := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(&pulse{w, beats}, r)
	}))
	r := wholetest.Listen(t, api.Env("GEMINI_BASE_URL", url, "SLUICE_DRAIN_TIMEOUT", "1h", "SLUICE_WRITE_TIMEOUT", "1h"))
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	body := gatewaytest.Input("hi")
	if _, err := fmt.Fprintf(conn, "POST /chat/stream HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Within(t, "the answer's begin", beats)
	testnet.Silence(t, "the model can write no more, as the client does not read", beats, 200*time.Millisecond)
	r.Signals <- syscall.SIGTERM
	r.Log.Await(t, "draining", nil)
	r.Signals <- syscall.SIGTERM
	began := time.Now()
	code := r.Wait()
	testnet.Prompt(t, "the end after the second signal", time.Since(began), time.Second)
	if code != wholetest.ExitFailed {
		t.Errorf("exit code %d", code)
	}
}

// A program that starts it as a part of itself ends it with its context.
func TestContextEndsTheProgram(t *testing.T) {
	t.Parallel()
	r := wholetest.Listen(t, nil)
	r.Cancel()
	if code := r.Wait(); code != wholetest.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// A gateway at its limit of streams refuses before a stream begins.
func TestOverload(t *testing.T) {
	t.Parallel()
	r := wholetest.Listen(t, newTwoMinds(t).env("SLUICE_MAX_STREAMS", "1", "SLUICE_DRAIN_TIMEOUT", "0s"))
	s := r.StartTurn("stuck")
	s.Until(t, "response_delta")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.Base+"/chat/stream?input=hi", nil)
	if err != nil {
		t.Fatal(err)
	}
	if h := gatewaytest.WantProblem(t, r, req, http.StatusServiceUnavailable, "overloaded"); h.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.Leave()
	r.Log.Await(t, "request_completed", nil)
	testnet.Eventually(t, "a free place", func() bool { // it is free right after that line
		s, err := r.Post(t.Context(), gatewaytest.Input("quick"))
		if err == nil {
			s.Leave()
		} else if !strings.Contains(err.Error(), "overloaded") {
			t.Fatal(err)
		}
		return err == nil
	})
}
