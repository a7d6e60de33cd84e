package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/base/redact"
	"sluice/internal/turn/tool"
)

// addSlow adds a tool "slow" that reports 1 of 2, waits for the tool "release", and
// reports 2 of 2 before it ends.
func addSlow(s *server.MCPServer) {
	released := make(chan struct{}, 1)
	s.AddTool(mcp.NewTool("slow"), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := sendProgress(ctx, req, 1); err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		select {
		case <-released:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := sendProgress(ctx, req, 2); err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText("ok"), nil
	})
	s.AddTool(mcp.NewTool("release"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		released <- struct{}{}
		return mcp.NewToolResultText("ok"), nil
	})
}

func sendProgress(ctx context.Context, req mcp.CallToolRequest, n int) error {
	if req.Params.Meta == nil {
		return fmt.Errorf("no _meta")
	}
	return server.ServerFromContext(ctx).SendNotificationToClient(ctx, methodProgress, map[string]any{
		"progressToken": req.Params.Meta.ProgressToken, "progress": n, "total": 2, "message": fmt.Sprint("step ", n),
	})
}

func slowServer() *server.MCPServer {
	s := goServer()
	addSlow(s)
	return s
}

// The tool waits for us to have learned of its progress, so that a report which is held back
// until the answer is there never comes.
func TestProgressComesWhileTheToolRuns(t *testing.T) {
	for name, servers := range map[string]func(t *testing.T) Server{
		"streamable HTTP, sessions": func(t *testing.T) Server {
			return Server{Transport: HTTP, URL: serve(t, server.NewStreamableHTTPServer(slowServer())) + "/mcp"}
		},
		"streamable HTTP, negotiated": func(t *testing.T) Server {
			return Server{Transport: HTTP, URL: serve(t, server.NewStreamableHTTPServer(slowServer())) + "/mcp", ProtocolVersion: autoProtocol}
		},
		"legacy SSE": func(t *testing.T) Server {
			return Server{Transport: SSE, URL: serve(t, server.NewSSEServer(slowServer())) + "/sse"}
		},
		"stdio":      func(*testing.T) Server { return childConfig("mcp-go-slow").Servers[0] },
		"in process": func(*testing.T) Server { return Server{Transport: InProcess, InProcess: slowServer()} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers(t)
			s.Name = "s"
			c := newClient(t, Config{Servers: []Server{s}, ConnectWait: connectTimeout})
			progress := make(chan tool.Progress, 8)
			ctx := tool.WithProgress(t.Context(), func(p tool.Progress) { progress <- p })
			c.Tools(ctx)
			var wg sync.WaitGroup
			wg.Go(func() {
				if r, f := call(ctx, c, "slow"); f != nil || r.Text != "ok" {
					t.Errorf("got %q, %v", r.Text, f)
				}
				close(progress)
			})
			var got []tool.Progress
			for p := range progress {
				if got = append(got, p); len(got) == 1 {
					mustCall(t, c, "release", "ok")
				}
			}
			wg.Wait()
			// The last report and the answer may be on their way at the same time where they
			// do not come over one connection.
			want := []tool.Progress{{Progress: 1, Total: 2, Message: "step 1"}, {Progress: 2, Total: 2, Message: "step 2"}}
			if diff := cmp.Diff(want[:max(1, min(len(got), 2))], got); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}

// reporting answers a call with the reports, each a notification's params; TOKEN
// stands for the call's own token.
func reporting(reports ...string) callHandler {
	return func(w http.ResponseWriter, _ *http.Request, req fakeRequest) {
		for _, params := range reports {
			params = strings.ReplaceAll(params, "TOKEN", string(req.Params.Meta.Token))
			event(w, `{"jsonrpc":"2.0","method":"notifications/progress","params":`+params+`}`)
		}
		event(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"ok"}]}}`, req.ID))
	}
}

func TestWhatCountsAsProgress(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.onCall = reporting(
		`{"progressToken":TOKEN,"progress":1}`,
		`{"progressToken":TOKEN,"progress":1}`,
		`{"progressToken":TOKEN,"progress":0.5,"message":"back"}`,
		`{"progressToken":"sluice-999","progress":50}`,
		`{"progressToken":7,"progress":50}`,
		`{"progress":50}`,
		`{"progressToken":TOKEN}`,
		`{"progressToken":TOKEN,"progress":"9"}`,
		`{"progressToken":TOKEN,"progress":1e999}`,
		`{"progressToken":TOKEN,"progress":2,"total":-1,"message":"a\u0007b\u202Ec"}`,
		`{"progressToken":TOKEN,"progress":3,"total":4,"message":"/etc/passwd at http://10.1.2.3:80/x?k=1 and 10.1.2.3:99 says s3cret-token"}`,
		`{"progressToken":TOKEN,"progress":4,"message":7}`,
	)
	cfg := over(serve(t, f))
	cfg.Servers[0].Headers = map[string]string{"Authorization": "Bearer s3cret-token"}
	c := newClient(t, cfg)
	var got []tool.Progress
	over := false
	ctx := tool.WithProgress(t.Context(), func(p tool.Progress) {
		if over {
			t.Error("a report after the call")
		}
		got = append(got, p)
	})
	if _, err := call(ctx, c, "write"); err != nil {
		t.Fatal(err)
	}
	over = true
	want := []tool.Progress{
		{Progress: 1},
		{Progress: 2, Message: "abc"},
		{Progress: 3, Total: 4, Message: "[path] at [address] and [address] says [redacted]"},
	}
	if diff := cmp.Diff(want, got[:min(3, len(got))]); diff != "" || len(got) > 4 {
		t.Errorf("%d reports (-want +got):\n%s", len(got), diff)
	}
}

func TestEachCallHasItsToken(t *testing.T) {
	t.Parallel()
	f := newFake()
	var mu sync.Mutex // guards seen
	seen := map[string]int{}
	f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		mu.Lock()
		seen[string(req.Params.Meta.Token)]++
		mu.Unlock()
		sendText(w, req, "ok")
	}
	c := newClient(t, over(serve(t, f)))
	mustCall(t, c, "write", "ok") // no progress was asked for: no token
	ctx := tool.WithProgress(t.Context(), func(tool.Progress) {})
	for range 3 {
		if _, err := call(ctx, c, "write"); err != nil {
			t.Fatal(err)
		}
	}
	if seen[""] != 1 || len(seen) != 4 {
		t.Errorf("tokens: %v, want none and three different ones", seen)
	}
	if n := len(c.upstreams[0].listeners.byToken); n != 0 {
		t.Errorf("%d listeners are left over", n)
	}
}

// A read that is sent again begins to count again; what is reported only grows.
func TestProgressOfARepeatedCallGrows(t *testing.T) {
	t.Parallel()
	f := newFake()
	n := 0
	f.onCall = func(w http.ResponseWriter, r *http.Request, req fakeRequest) {
		if n++; n == 1 {
			event(w, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":5}}`, req.Params.Meta.Token))
			return // without an answer
		}
		reporting(`{"progressToken":TOKEN,"progress":1}`, `{"progressToken":TOKEN,"progress":6}`)(w, r, req)
	}
	c := newClient(t, over(serve(t, f)))
	var got []float64
	ctx := tool.WithProgress(t.Context(), func(p tool.Progress) { got = append(got, p.Progress) })
	if _, err := call(ctx, c, "read"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{5, 6}, got); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestListenerThatHasEnded(t *testing.T) {
	t.Parallel()
	var all listeners
	l := &listener{report: func(tool.Progress) { t.Error("a late report") }, hide: redact.New(nil)}
	token := all.add(l)
	l.endReports()
	all.dispatch(token, tool.Progress{Progress: 1})
	all.remove(token)
	all.onMessage(json.RawMessage(`{"method":"notifications/progress","params":{"progressToken":"` + token + `","progress":2}}`))
}
