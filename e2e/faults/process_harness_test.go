package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/internal/base/testnet"
)

// outcome is what the client of one stream has seen of it.
type outcome struct {
	status int
	header http.Header
	dones  int
	after  int             // events behind done
	end    streamEnd       // of done
	fault  *streamFault    // the last error; nil: there was none
	calls  []string        // how each tool_call ended
	beats  []time.Duration // comments, each by the time since the event or comment before
	err    error           // of the connection; nil after a clean end
}

type streamEnd struct {
	Success bool   `json:"success"`
	Reason  string `json:"finish_reason"`
	Output  string `json:"final_output"`
}

type streamFault struct {
	Type        string `json:"error_type"`
	Recoverable bool   `json:"recoverable"`
	Fatal       bool   `json:"fatal"`
	RetryAfter  int    `json:"retry_after_ms"`
}

// says is the outcome in a word: the finish reason of a whole stream with what failed, or the
// type of a refusal, or what became of it instead.
func (o *outcome) says() string {
	switch {
	case o.err != nil && o.dones == 0 && o.status != 0:
		return "broken"
	case o.err != nil:
		return o.err.Error()
	case o.status != http.StatusOK && o.fault != nil:
		return fmt.Sprint(o.status, " ", o.fault.Type)
	case o.dones != 1 || o.after > 0:
		return fmt.Sprintf("%d done, %d events behind it", o.dones, o.after)
	case o.fault != nil && o.fault.Fatal:
		return o.end.Reason + " " + o.fault.Type
	}
	return o.end.Reason
}

// event takes in one event.
func (o *outcome) event(kind, data string) {
	if o.dones > 0 {
		o.after++
	}
	switch kind {
	case "error":
		o.fault = new(streamFault)
		_ = json.Unmarshal([]byte(data), o.fault)
	case "tool_call":
		var call struct{ Status string }
		if _ = json.Unmarshal([]byte(data), &call); call.Status != "in_progress" {
			o.calls = append(o.calls, call.Status)
		}
	case "done":
		o.dones++
		_ = json.Unmarshal([]byte(data), &o.end)
	}
}

// talk runs a turn over a connection of its own, on the caller's goroutine alone, and calls
// began, unless it is nil, at the first text of the answer. It is written for many at a time: it
// knows no more of HTTP than it needs, and shares no code with the gateway.
func talk(ctx context.Context, addr, input string, began func()) (o outcome) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		o.err = err
		return o
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	return talkOn(conn, input, began)
}

// talkOn is talk over a connection that is open.
func talkOn(conn net.Conn, input string, began func()) (o outcome) {
	_ = conn.SetDeadline(time.Now().Add(2 * process.Patience))
	if _, o.err = io.WriteString(conn, turnRequest(input)); o.err != nil {
		return o
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<10), nil)
	if err != nil {
		o.err = err
		return o
	}
	o.status, o.header = resp.StatusCode, resp.Header
	if resp.StatusCode != http.StatusOK {
		o.fault = new(streamFault)
		o.err = json.NewDecoder(resp.Body).Decode(o.fault)
		return o
	}
	lines, kind, last := bufio.NewScanner(resp.Body), "", time.Now()
	lines.Buffer(make([]byte, 0, 1<<10), 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case name == "event":
			kind = value
		case name == "data":
			o.event(kind, value)
			last = time.Now()
			if kind == "response_delta" && began != nil {
				began()
				began = nil
			}
		case strings.HasPrefix(lines.Text(), ":"):
			o.beats = append(o.beats, time.Since(last))
			last = time.Now()
		}
	}
	o.err = lines.Err()
	return o
}

// turnRequest is a turn as it is sent.
func turnRequest(input string) string {
	body := fmt.Sprintf(`{"input":%q,"accumulated":false}`, input)
	return fmt.Sprintf("POST /chat/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// audience is many streams at a time.
type audience struct {
	t     testing.TB
	began chan string  // a stream that has its first text, or what became of it instead
	over  chan outcome // each at its end
}

// gather begins n streams, a few at a time, and returns when each has its first text. wanted
// says how those are counted that end before.
func gather(t testing.TB, addr string, n int, input func(i int) string) *audience {
	t.Helper()
	a := &audience{t: t, began: make(chan string, n), over: make(chan outcome, n)}
	door := make(chan struct{}, 50) // as many are let in at a time
	for i := range n {
		door <- struct{}{}
		go func() { // ends with the stream, and so with the test at the latest
			hasBegun := false
			o := talk(t.Context(), addr, input(i), func() { hasBegun = true; a.began <- ""; <-door })
			if !hasBegun {
				a.began <- o.says()
				<-door
			}
			a.over <- o
		}()
	}
	return a
}

// allBegun waits until n streams have their first text.
func (a *audience) allBegun(n int) {
	a.t.Helper()
	for range n {
		if word := receive(a.t, "the first text of a stream", a.began); word != "" {
			a.t.Fatalf("a stream did not begin: %s", word)
		}
	}
}

// count waits for the ends of n streams, and counts them by what they say. look, unless it is
// nil, sees each.
func (a *audience) count(n int, look func(*outcome)) map[string]int {
	a.t.Helper()
	count := map[string]int{}
	for range n {
		o := receive(a.t, "the end of a stream", a.over)
		count[o.says()]++
		if look != nil {
			look(&o)
		}
	}
	return count
}

// receive returns what c brings.
func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(process.Patience):
		t.Fatalf("still waiting for %s", what)
		panic("unreachable")
	}
}

// crowdModel is a Gemini API that costs little: many turns ask it at the same time. To "hold" it
// says a word and is silent until it is left; to "mute" it says nothing; to "quick" it says a word, and ends when it is let
// go; to "odd" it says what no model may, and "broken" gets a 500; anything else it answers at once.
type crowdModel struct {
	url   string
	close func()        // closes the connections of those who ask
	let   chan struct{} // closed: quick ones may end
	asked chan struct{} // a value a question, as far as there is room
}

const (
	crowdWord = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Word."}]},"index":0}]}`
	crowdEnd  = `{"candidates":[{"content":{"role":"model","parts":[{"text":" End."}]},"index":0,"finishReason":"STOP"}],` +
		`"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}}`
	crowdOdd = `{"candidates":"private words"}`
)

func newCrowdModel(t testing.TB) *crowdModel {
	m := &crowdModel{let: make(chan struct{}), asked: make(chan struct{}, 1<<16)}
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	m.url, m.close = srv.URL, srv.CloseClientConnections
	return m
}

// modelVariable makes the test's program a crowdModel.
const modelVariable = "SLUICE_FAULTS_MODEL"

// beCrowdModel serves a model if this process is to be one: its address goes to stdout, a line
// on stdin lets quick ones end, and it ends with stdin.
func beCrowdModel() bool {
	if os.Getenv(modelVariable) == "" {
		return false
	}
	m := &crowdModel{let: make(chan struct{})}
	srv := httptest.NewServer(m)
	fmt.Println(srv.URL)
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err == nil {
		close(m.let)
	}
	_, _ = io.Copy(io.Discard, in)
	return true
}

// newCrowdModelElsewhere is newCrowdModel in a process with descriptors of its own. let makes quick ones end.
func newCrowdModelElsewhere(t testing.TB) (m *crowdModel, let func()) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), modelVariable+"=1")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return &crowdModel{url: strings.TrimSpace(url)}, func() { _, _ = io.WriteString(in, "\n") }
}

func (m *crowdModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	select {
	case m.asked <- struct{}{}:
	default:
	}
	if asks(body, "mute") {
		<-r.Context().Done()
		return
	}
	if asks(body, "broken") {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, sseEvent(crowdWord))
	var until <-chan struct{}
	switch {
	case asks(body, "hold"):
		until = make(chan struct{})
	case asks(body, "quick"):
		until = m.let
	}
	if until != nil {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-until:
		case <-r.Context().Done():
			return
		}
	}
	if asks(body, "odd") {
		_, _ = io.WriteString(w, sseEvent(crowdOdd))
	}
	_, _ = io.WriteString(w, sseEvent(crowdEnd))
}

// asks says whether the input of a request begins with a word. It may stand behind the line of the
// time.
func asks(request []byte, word string) bool {
	return bytes.Contains(request, []byte(`"`+word)) || bytes.Contains(request, []byte(`\n\n`+word))
}

func sseEvent(data string) string { return "data: " + data + "\n\n" }

// env is what points a gateway at the model; no time of ours is to end a turn on a busy machine.
func (m *crowdModel) env(more ...string) map[string]string {
	all := map[string]string{"GEMINI_API_KEY": "not-a-real-key-of-anybody", "GEMINI_BASE_URL": m.url, "SLUICE_LOG_LEVEL": "info",
		"SLUICE_REQUEST_TIMEOUT": "1h", "SLUICE_MODEL_TIMEOUT": "1h", "SLUICE_WRITE_TIMEOUT": "1m"}
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// with returns env with more variables.
func with(env map[string]string, more ...string) map[string]string {
	all := maps.Clone(env)
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// plainClient opens a connection for each request.
var plainClient = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: process.Patience}

// get returns status and body of a page; status 0: there was no answer.
func get(t testing.TB, addr, path string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := plainClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(content)
}

func readiness(t testing.TB, addr string) (status int, r ready) {
	t.Helper()
	status, body := get(t, addr, "/readyz")
	_ = json.Unmarshal([]byte(body), &r)
	return status, r
}

// leave begins a turn and closes its connection at the first text.
func leave(t testing.TB, addr string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if o := talk(ctx, addr, "hold", cancel); o.dones > 0 || o.status != http.StatusOK {
		t.Errorf("a turn that was left: %s", o.says())
	}
}

// wantTurn runs a turn, which must end so.
func wantTurn(t testing.TB, addr, input, want string) outcome {
	t.Helper()
	o := talk(t.Context(), addr, input, nil)
	if got := o.says(); got != want {
		t.Errorf("a turn ended with %q, want %q", got, want)
	}
	return o
}

// figure returns the value of a metric on the address for operators.
func figure(t testing.TB, g *process.Gateway, name string) float64 {
	t.Helper()
	_, text := get(t, g.Admin, "/metrics")
	for line := range strings.Lines(text) {
		var v float64
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &v); err == nil {
				return v
			}
		}
	}
	t.Fatalf("there is no metric %s:\n%s", name, text)
	return 0
}

// draining waits until a gateway that was signalled says so, refuses a turn, and checks
// both.
func draining(t testing.TB, addr string) {
	t.Helper()
	var status int
	var r ready
	testnet.Eventually(t, "/readyz fails", func() bool {
		status, r = readiness(t, addr)
		return status != http.StatusOK
	})
	if status != http.StatusServiceUnavailable || r.Status != "draining" {
		t.Errorf("/readyz: %d %+v, want 503 and draining", status, r)
	}
	o := wantTurn(t, addr, "hi", "503 shutting_down")
	var seconds int
	if _, err := fmt.Sscan(o.header.Get("Retry-After"), &seconds); err != nil || seconds < 1 || seconds > 5 {
		t.Errorf("Retry-After is %q, want 1 to 5", o.header.Get("Retry-After"))
	}
}

// wasCut checks the fatal error of a stream that the end of the process has cut.
func wasCut(t testing.TB, o *outcome) {
	t.Helper()
	if f := o.fault; f == nil || o.end.Success || !f.Fatal || !f.Recoverable || f.RetryAfter < 1000 || f.RetryAfter > 5000 {
		t.Errorf("a stream that was cut ended with %+v and %+v", o.fault, o.end)
	}
}
