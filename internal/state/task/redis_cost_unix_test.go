//go:build unix

package task_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/redis/redistest"
)

// monitored is what a server is asked for: the commands of clients, without those that its
// scripts run.
type monitored struct {
	mu    sync.Mutex
	lines []string
}

// watch listens to all that a server is asked for, until the test ends.
func watch(t *testing.T, server *redistest.Server) *monitored {
	t.Helper()
	conn, err := net.Dial("unix", server.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatal(line, err)
	}
	w, done := new(monitored), make(chan struct{})
	go func() {
		defer close(done)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if !strings.Contains(line, " lua] ") {
				w.mu.Lock()
				w.lines = append(w.lines, line)
				w.mu.Unlock()
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return w
}

// accept returns what came since the last time, without what a process asks for by itself.
func (w *monitored) accept() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := w.lines
	w.lines = nil
	return slices.DeleteFunc(lines, func(line string) bool {
		return slices.ContainsFunc([]string{`sluice:cancel:`, `sluice:gw:`, `sluice:tasks:holders"`, `sluice:due"`, `sluice:retain`, `"subscribe"`, `"unsubscribe"`, `"script"`, `"hello"`, `"client"`, `"INFO"`, `"info"`},
			func(own string) bool { return strings.Contains(line, own) })
	})
}

// A turn sends Redis one command for each flush and few besides, also one that uses all that
// is kept: an idempotency key, the memory of its conversation, a question that might wait.
func TestCommandsOfATurn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	f := &wholetest.Fleet{T: t, Gemini: wholetest.InPieces{Speaking: wholetest.NewSpeaking(100, true)}, File: "memory: {enabled: true}\nagents: {a: {description: x}}\n"}
	g := f.Gateway(map[string]string{"SLUICE_STORE": "unix://" + server.Socket, "SLUICE_STORE_PREFIX": "test:"})
	seen := watch(t, server)
	turn := func(i int) (appends, others []string) {
		body := `{"input":"hello","agent":"a","user_id":"u","conversation_id":"conv_1","accumulated":false}`
		status, reply := g.Ask(t, http.MethodPost, "/chat/stream", body, "Idempotency-Key", fmt.Sprint("key-number-", i))
		if status != http.StatusOK || !strings.Contains(reply, `"finish_reason":"stop"`) || strings.Count(reply, "event: response_delta") != 100 {
			t.Fatalf("%d %s", status, reply)
		}
		testnet.Eventually(t, "the key is kept for as long as it must be, which comes last but for the trace", func() bool {
			seen.mu.Lock()
			defer seen.mu.Unlock()
			return strings.Contains(strings.Join(seen.lines, ""), "sluice:trace:")
		})
		testnet.SleepAtLeast(10 * time.Millisecond)
		for _, line := range seen.accept() {
			switch {
			case strings.Contains(line, `"test:sluice:log:`):
				appends = append(appends, line)
			case ofTurn(line):
				others = append(others, line)
			}
		}
		return appends, others
	}
	turn(0) // which loads the scripts
	appends, others := turn(1)
	if len(appends) > 100+4 { // the start, the agent, its end and done
		t.Errorf("%d appends for 100 pieces", len(appends))
	}
	if len(others) > 10 {
		t.Errorf("%d commands beside:\n%.6000s", len(others), strings.Join(others, ""))
	}
	t.Logf("%d appends, %d commands beside", len(appends), len(others))
}

// bank is an MCP server with one tool, which must not be called twice.
func bank(t testing.TB) (url string) {
	no, yes := false, true
	m := server.NewMCPServer("bank", "1", server.WithToolCapabilities(true))
	m.AddTool(mcp.NewTool("pay", mcp.WithToolAnnotation(mcp.ToolAnnotation{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &no})),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("paid"), nil
		})
	s := httptest.NewServer(server.NewStreamableHTTPServer(m, server.WithStateLess(true)))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// paying is a model that pays once, if it is asked to.
func paying(w http.ResponseWriter, r *http.Request) {
	asked, _ := io.ReadAll(r.Body)
	part := `{"text":"It is done."}`
	if bytes.Contains(asked, []byte("please pay")) && !bytes.Contains(asked, []byte(`"functionResponse"`)) {
		part = `{"functionCall":{"name":"pay","args":{}}}`
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]},\"finishReason\":\"STOP\"}]}\r\n\r\n", part)
}

// What is saved of a turn goes with what is written anyway: it costs at most one command, and one
// more for a call that must not be made twice, which waits for it.
func TestCommandsOfASavedTurn(t *testing.T) {
	t.Parallel()
	const turns = 5
	redis := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	seen, url := watch(t, redis), bank(t)
	// commands runs some turns, and returns what they sent.
	commands := func(g wholetest.Peer, input string, turns int) (n int) {
		for range turns {
			status, reply := g.Ask(t, http.MethodPost, "/chat/stream", fmt.Sprintf(`{"input":%q,"accumulated":false}`, input))
			if status != http.StatusOK || !strings.Contains(reply, `"finish_reason":"stop"`) || strings.Contains(reply, `"tool_name":"pay"`) != (input == "please pay") {
				t.Fatalf("%d %s", status, reply)
			}
		}
		testnet.Eventually(t, "the traces are kept, which come last", func() bool {
			seen.mu.Lock()
			defer seen.mu.Unlock()
			return strings.Count(strings.Join(seen.lines, ""), "sluice:trace:") >= turns
		})
		testnet.SleepAtLeast(10 * time.Millisecond)
		for _, line := range seen.accept() {
			if ofTurn(line) {
				n++
			}
		}
		return n
	}
	counts := map[string]map[bool]int{"hello": {}, "please pay": {}}
	for _, saved := range []bool{false, true} {
		f := &wholetest.Fleet{T: t, Gemini: http.HandlerFunc(paying), File: fmt.Sprintf("tasks: {take_over: %t}\nmcpServers: {bank: {url: %q}}\n", saved, url)}
		g := f.Gateway(map[string]string{"SLUICE_STORE": "unix://" + redis.Socket, "SLUICE_STORE_PREFIX": fmt.Sprint("saved-", saved, ":")})
		for input, of := range counts {
			commands(g, input, 1) // which loads the scripts
			of[saved] = commands(g, input, turns)
		}
	}
	t.Logf("of %d turns: %v", turns, counts)
	for input, most := range map[string]int{"hello": 1, "please pay": 2} {
		if more := counts[input][true] - counts[input][false]; more > most*turns || counts[input][false] == 0 {
			t.Errorf("%s: %d commands more than %d, want at most %d", input, more, counts[input][false], most*turns)
		}
	}
}

// A turn of a conversation that is kept sends at most three commands more than one that is remembered.
// A turn without a conversation sends none more.
func TestCommandsOfAConversation(t *testing.T) {
	t.Parallel()
	const turns = 5
	redis := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	seen := watch(t, redis)
	commands := func(g wholetest.Peer, body string, turns int) (n int) {
		for range turns {
			if status, reply := g.Ask(t, http.MethodPost, "/chat/stream", body); status != http.StatusOK || !strings.Contains(reply, `"finish_reason":"stop"`) {
				t.Fatalf("%d %s", status, reply)
			}
		}
		testnet.Eventually(t, "the traces are kept, which come last", func() bool {
			seen.mu.Lock()
			defer seen.mu.Unlock()
			return strings.Count(strings.Join(seen.lines, ""), "sluice:trace:") >= turns
		})
		testnet.SleepAtLeast(10 * time.Millisecond)
		for _, line := range seen.accept() {
			if ofTurn(line) {
				n++
			}
		}
		return n
	}
	bodies := map[string]string{"of one": `{"input":"hello","accumulated":false,"conversation_id":"conv_1"}`, "alone": `{"input":"hello","accumulated":false}`}
	counts := map[string]map[bool]int{"of one": {}, "alone": {}}
	for _, kept := range []bool{false, true} {
		f := &wholetest.Fleet{T: t, Gemini: http.HandlerFunc(paying), File: fmt.Sprintf("memory: {enabled: true}\nconversations: {enabled: %t}\n", kept)}
		g := f.Gateway(map[string]string{"SLUICE_STORE": "unix://" + redis.Socket, "SLUICE_STORE_PREFIX": fmt.Sprint("kept-", kept, ":")})
		for name, body := range bodies {
			commands(g, body, 1) // which loads the scripts
			counts[name][kept] = commands(g, body, turns)
		}
	}
	t.Logf("of %d turns: %v", turns, counts)
	for name, most := range map[string]int{"of one": 3, "alone": 0} {
		if more := counts[name][true] - counts[name][false]; more > most*turns || counts[name][false] == 0 {
			t.Errorf("%s: %d commands more than %d, want at most %d", name, more, counts[name][false], most*turns)
		}
	}
}

// ofTurn says whether a command is about a turn, its task, key, conversation or memory. A
// gateway sends others from time to time, however many turns it runs: it renews its lease,
// and looks at what is due, cancelled, changed or left by the dead.
func ofTurn(line string) bool {
	for _, name := range []string{"turn_", "task_", "sluice:idem:", "sluice:tasks:conv:", "sluice:tasks:user:", "sluice:mem:", "sluice:conv", "sluice:turns:"} {
		if strings.Contains(line, name) {
			return true
		}
	}
	return false
}

// Readers of turns that run elsewhere share a process's few connections.
func TestReadersShareConnections(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	gemini, readers := wholetest.InPieces{Speaking: wholetest.NewSpeaking(4, true), Gate: make(chan struct{})}, 1000
	if testing.Short() {
		readers = 100
	}
	f := &wholetest.Fleet{T: t, Gemini: gemini}
	// A busy machine must not refuse readers for its delays.
	env := map[string]string{"SLUICE_STORE": "unix://" + server.Socket, "SLUICE_ADMISSION": "count"}
	one, two := f.Gateway(env), f.Gateway(env)
	resp := one.Send(t, t.Context(), http.MethodPost, "/chat/stream", `{"input":"hello","accumulated":false}`)
	defer resp.Body.Close()
	_, task, _ := wholetest.StartOf(t, resp)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := make(chan string, readers)
	var begun sync.WaitGroup
	begun.Add(readers)
	opening := make(chan struct{}, 50) // a thousand in one instant may be asked to come again
	for range readers {
		opening <- struct{}{}
		go func() {
			resp := two.Send(t, ctx, http.MethodGet, "/tasks/"+task+"/events", "")
			for resp.StatusCode == http.StatusServiceUnavailable && ctx.Err() == nil { // the machine is busy: come again
				_ = resp.Body.Close()
				testnet.SleepAtLeast(10 * time.Millisecond)
				resp = two.Send(t, ctx, http.MethodGet, "/tasks/"+task+"/events", "")
			}
			last := ""
			defer func() {
				if last == "" {
					last = resp.Status
					begun.Done()
					<-opening
				}
				ends <- last
			}()
			for in := bufio.NewScanner(resp.Body); in.Scan(); {
				if name, ok := strings.CutPrefix(in.Text(), "event: "); ok {
					if last == "" {
						begun.Done()
						<-opening
					}
					last = name
				}
			}
		}()
	}
	begun.Wait()
	clients, err := redisClient(t, server).ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	// Two gateways of 16, and the test's own.
	if n := strings.Count(clients, "\n"); n > 2*16+1 {
		t.Errorf("%d connections for %d readers", n, readers)
	}
	close(gemini.Gate)
	for range readers {
		if last := <-ends; last != "done" {
			t.Fatalf("a reader ended with %q", last)
		}
	}
	t.Logf("%d connections", strings.Count(clients, "\n"))
}
