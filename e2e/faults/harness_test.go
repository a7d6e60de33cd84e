package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/e2e/process"
	"sluice/internal/base/config/configtest"
)

func TestMain(m *testing.M) {
	if beCrowdModel() { // this process is a model that a test has started
		return
	}
	configtest.Parallel(8)
	os.Exit(process.Main(m))
}

// aTurn is the body of a request that runs a turn.
const aTurn = `{"input":"hello"}`

// gateway is Sluice as a process, in front of a model that the test scripts.
type gateway struct {
	*process.Gateway
	model *process.Model
}

// start starts a gateway whose model answers so.
func start(t testing.TB, answer func(*process.Question), env ...string) *gateway {
	t.Helper()
	process.Needed(t)
	model := process.NewModel(t, answer)
	all := model.Env()
	maps.Copy(all, pairs(env))
	return &gateway{process.Start(t, all), model}
}

func pairs(list []string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

// echo answers what it is asked.
func echo(q *process.Question) { q.SendText(q.Text) }

// unhurried are settings with which no time of the gateway's own ends a turn within a test.
func unhurried(more ...string) []string {
	return append([]string{"SLUICE_REQUEST_TIMEOUT", "20m", "SLUICE_MODEL_TIMEOUT", "20m", "SLUICE_TOOL_TIMEOUT", "20m"}, more...)
}

// dial opens a connection on which each wait is bounded.
func (g *gateway) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", g.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(process.Patience))
	return c
}

// reply is what came of a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// read reads a reply.
func read(t testing.TB, r *bufio.Reader, method string) reply {
	t.Helper()
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no reply: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("a reply that breaks off: %v: %s", err, body)
	}
	if resp.Close {
		resp.Header.Set("Connection", "close")
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// say sends bytes on a connection of their own, and returns the reply and whether the gateway then
// closes the connection by itself.
func (g *gateway) say(t testing.TB, request string) (_ reply, closed bool) {
	t.Helper()
	c := g.dial(t)
	go func() { _, _ = io.WriteString(c, request) }() // a reply may come first
	r := bufio.NewReader(c)
	method, _, _ := strings.Cut(request, " ")
	got := read(t, r, method)
	if !strings.Contains(got.header.Get("Connection"), "close") {
		return got, false
	}
	_, err := io.Copy(io.Discard, r)
	return got, err == nil || !strings.Contains(err.Error(), "timeout")
}

// request writes a request with a body.
func request(method, path, body string, header ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: gateway.test\r\n", method, path)
	if body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	for _, h := range header {
		b.WriteString(h + "\r\n")
	}
	return b.String() + "\r\n" + body
}

// post sends JSON for a turn.
func (g *gateway) post(t testing.TB, body string, header ...string) reply {
	t.Helper()
	got, _ := g.say(t, request("POST", "/chat/stream", body, append(header, "Content-Type: application/json")...))
	return got
}

// problem is the body of a refusal.
type problem struct {
	Status    int
	ErrorType string `json:"error_type"`
	RequestID string `json:"request_id"`
	Errors    []struct{ Field, Code string }
}

// refused checks a refusal: its status and type, and what it names as faulty ("" is not looked at).
func (r reply) refused(t testing.TB, status int, errorType, fault string) {
	t.Helper()
	var p problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Errorf("got %d, want %d %s: %s", r.status, status, errorType, r.body)
		return
	}
	if r.status != status || p.Status != status || p.ErrorType != errorType || r.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d, want %d %s: %s", r.status, status, errorType, r.body)
	}
	if p.RequestID == "" || p.RequestID != r.header.Get("X-Request-ID") {
		t.Errorf("request %q, in the header %q", p.RequestID, r.header.Get("X-Request-ID"))
	}
	if fault != "" && (len(p.Errors) != 1 || p.Errors[0].Field+" "+p.Errors[0].Code != fault) {
		t.Errorf("faults %v, want %s", p.Errors, fault)
	}
}

// event is one of a stream.
type event struct {
	kind string
	data map[string]any
}

// events reads a stream, strictly: each event has one line of data, which is JSON.
func events(t testing.TB, body string) (all []event) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "event":
				if e.kind != "" {
					t.Errorf("two names in %q", block)
				}
				e.kind = value
			case "data":
				if e.data != nil {
					t.Errorf("two lines of data in %q", block)
				}
				if err := json.Unmarshal([]byte(value), &e.data); err != nil {
					t.Errorf("%v in %q", err, block)
				}
			case "id", "retry", "":
			default:
				t.Errorf("a line %q", line)
			}
		}
		if e.kind != "" {
			all = append(all, e)
		}
	}
	return all
}

// finished checks that a turn went well, with one terminal event, which is the last, and returns
// the answer.
func (r reply) finished(t testing.TB) (answer string) {
	t.Helper()
	if r.status != http.StatusOK {
		t.Errorf("got %d: %s", r.status, r.body)
		return ""
	}
	return finished(t, r.body)
}

func finished(t testing.TB, body string) (answer string) {
	t.Helper()
	all := events(t, body)
	terminals := 0
	for _, e := range all {
		if e.kind == "done" {
			terminals++
		}
	}
	if terminals != 1 || all[len(all)-1].kind != "done" || all[len(all)-1].data["success"] != true {
		t.Errorf("%d terminal events: %s", terminals, body)
		return ""
	}
	answer, _ = all[len(all)-1].data["final_output"].(string)
	return answer
}

// ready is what /readyz says.
type ready struct {
	Status   string
	Streams  int
	Breakers []struct {
		Service, State string
		FailureCount   int `json:"failure_count"`
	}
}

// unharmed checks that nobody counts a failure, and nothing has panicked.
func (g *gateway) unharmed(t testing.TB) {
	t.Helper()
	got, _ := g.say(t, request("GET", "/readyz", ""))
	var r ready
	if err := json.Unmarshal([]byte(got.body), &r); err != nil || len(r.Breakers) == 0 {
		t.Fatalf("%v: %s", err, got.body)
	}
	for _, b := range r.Breakers {
		if b.State != "closed" || b.FailureCount != 0 {
			t.Errorf("breaker of %s: %s after %d failures", b.Service, b.State, b.FailureCount)
		}
	}
	if len(g.Logged("panic_recovered")) > 0 {
		t.Error("something has panicked")
	}
}

// healthy checks that a new client gets an answer.
func (g *gateway) healthy(t testing.TB) {
	t.Helper()
	if got, _ := g.say(t, request("GET", "/healthz", "")); got.status != http.StatusOK {
		t.Errorf("/healthz: %d", got.status)
	}
}

// untouched checks that the model was never asked.
func (g *gateway) untouched(t testing.TB) {
	t.Helper()
	if n := len(g.model.Questions()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
}

// curl is curl, streaming.
func curl(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), process.Tool(t, "curl"), append([]string{"-sSN", "--max-time", "180"}, args...)...)
}

// posting are curl's arguments for a turn.
func (g *gateway) posting(body string, more ...string) []string {
	return append([]string{"-H", "Content-Type: application/json", "-d", body, "http://" + g.Addr + "/chat/stream"}, more...)
}

// within waits for c, which may be closed.
func within[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(process.Patience):
		t.Fatalf("%s takes too long", what)
	}
	return v
}

// upTo reads a stream until it has held a text.
func upTo(t testing.TB, r io.Reader, text string) string {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(got.String(), text) {
		n, err := r.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("no %q: %v in %s", text, err, got.String())
		}
	}
	return got.String()
}
