package todo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHundredCallsAtOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		dial dialer
		file bool
	}{
		{"in process, in memory", dialInProcess, false},
		{"in process, in a file", dialInProcess, true},
		{"HTTP, in a file", dialHTTP, true},
		{"stdio, in memory", dialStdio, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var cfg Config
			if test.file {
				cfg.Path = filepath.Join(t.TempDir(), "todos.db")
			}
			store := open(t, cfg)
			s := connect(t, NewServer(store, "1.0"), test.dial, "2025-11-25")
			var group sync.WaitGroup
			for i := range 100 {
				group.Go(func() {
					want := fmt.Sprintf(`"title":"number %d"`, i)
					result, err := s.CallTool(t.Context(), request("create_todo", "{"+want+"}"))
					if err != nil || result.IsError || !strings.Contains(string(result.RawStructuredContent), want) {
						t.Errorf("number %d: %+v, %v", i, result, err)
					}
				})
			}
			group.Wait()
			if todos, ids := count(t, store); todos != 100 || ids != 100 {
				t.Errorf("%d todos with %d ids, want 100", todos, ids)
			}
		})
	}
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestHandlerRefuses(t *testing.T) {
	t.Parallel()
	store := open(t, testConfig())
	srv := httptest.NewServer(Handler(NewServer(store, "1.0")))
	t.Cleanup(srv.Close)
	padded := func(size int) string { return ping + strings.Repeat(" ", size-len(ping)) }
	for _, test := range []struct {
		name, method, body string
		header             http.Header
		want               int
	}{
		{"a ping", "POST", ping, nil, 200},
		{"an Origin that is its own", "POST", ping, http.Header{"Origin": {srv.URL}}, 200},
		{"another site's page", "POST", ping, http.Header{"Origin": {"https://example.com"}}, 403},
		{"another site's page in a browser of today", "POST", ping, http.Header{"Sec-Fetch-Site": {"cross-site"}}, 403},
		{"a form", "POST", ping, http.Header{"Content-Type": {"text/plain"}}, 400},
		{"broken JSON", "POST", `{"jsonrpc"`, nil, 400},
		{"a body of 1 MiB", "POST", padded(maxMessage), nil, 200},
		{"a larger body", "POST", padded(maxMessage + 1), nil, 413},
		{"GET", "GET", "", nil, 405},
		{"HEAD", "HEAD", "", nil, 405},
		{"DELETE", "DELETE", "", nil, 405},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), test.method, srv.URL, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			for name, values := range test.header {
				req.Header[name] = values
			}
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != test.want {
				t.Errorf("%d %s, %v, want %d", resp.StatusCode, body, err, test.want)
			}
			if allow := resp.Header.Get("Allow"); test.want == 405 && allow != "POST" {
				t.Errorf("Allow: %q, want POST", allow)
			}
		})
	}
}

// A body of unknown length that never ends is cut as well, and one that breaks
// off is not taken for a message.
func TestHandlerReadsNoEndlessBody(t *testing.T) {
	t.Parallel()
	h := Handler(NewServer(open(t, testConfig()), "1.0"))
	for _, test := range []struct {
		name string
		body io.Reader
		want int
	}{
		{"endless", spaces{}, 413},
		{"broken off", io.MultiReader(strings.NewReader(ping), broken{}), 400},
	} {
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/", test.body)
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != test.want {
			t.Errorf("%s: %d %s, want %d", test.name, w.Code, w.Body, test.want)
		}
	}
}

// spaces is an endless stream of them.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, strings.Repeat(" ", len(p))), nil }

var errBroken = errors.New("broken")

// broken fails at every use.
type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }

// Everything before the end of the input is answered, in order, also a line that
// lacks its newline.
func TestServeStdioAnswersAllBeforeTheEnd(t *testing.T) {
	t.Parallel()
	m := NewServer(open(t, testConfig()), "1.0")
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"create_todo","arguments":{"title":"x"}}}`,
		" \t",
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete_todo","arguments":{"todo_id":"todo_1","confirmation":true}}}`,
		`nonsense`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no_such_tool"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"ping"}`,
	}, "\r\n")
	var out strings.Builder
	if err := ServeStdio(t.Context(), m, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	todo := `{"id":"todo_1","title":"x","status":"pending","priority":"medium","created_at":"2026-11-25T09:00:00Z"}`
	result := `"result":{"content":[{"type":"text","text":"` + strings.ReplaceAll(todo, `"`, `\"`) + `"}],"structuredContent":` + todo + `}}`
	want := strings.Join([]string{
		`{"jsonrpc":"2.0","id":"a",` + result,
		`{"jsonrpc":"2.0","id":2,` + result,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Failed to parse message"}}`,
		`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"tool 'no_such_tool' not found: tool not found"}}`,
		`{"jsonrpc":"2.0","id":4,"result":{}}`,
		"",
	}, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

// Lines this long make the reader move what it has buffered, all the time.
func TestServeStdioKeepsLinesApart(t *testing.T) {
	t.Parallel()
	m := NewServer(open(t, testConfig()), "1.0")
	padding := strings.Repeat(" ", 3000)
	var in, out, want strings.Builder
	for i := range 100 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0",%s"id":%d,"method":"ping"}`+"\n", padding, i)
		fmt.Fprintf(&want, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", i)
	}
	if err := ServeStdio(t.Context(), m, strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestServeStdioEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := NewServer(open(t, testConfig()), "1.0")
	in, clientOut := io.Pipe()
	clientIn, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- ServeStdio(ctx, m, in, out) }()
	if _, err := io.WriteString(clientOut, ping+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(clientIn).ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
		t.Fatalf("answer %q, %v", line, err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("ServeStdio: %v, want nil", err)
	}
	clientOut.Close() // frees the reader of in
}

func TestServeStdioFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		in   io.Reader
		out  io.Writer
		want error
	}{
		{"a line without end", spaces{}, io.Discard, bufio.ErrTooLong},
		{"input that breaks", broken{}, io.Discard, errBroken},
		{"output that breaks", strings.NewReader(ping + "\n" + ping), broken{}, errBroken},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := NewServer(open(t, testConfig()), "1.0")
			if err := ServeStdio(t.Context(), m, test.in, test.out); !errors.Is(err, test.want) {
				t.Errorf("ServeStdio: %v, want %v", err, test.want)
			}
		})
	}
}

// What the store cannot do fails the call rather than reaching the model.
func TestClosedStoreFailsTheCall(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), testConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, NewServer(store, "1.0"), dialInProcess, "2025-11-25")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if result, err := s.CallTool(t.Context(), request("list_todos", `{}`)); err == nil {
		t.Errorf("list_todos on a closed store: %+v", result)
	}
}
