package mcpclient

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/testnet"
	"sluice/mcpclient/internal/wire"
)

// wide returns n tools, of so many bytes each.
func wide(n, size int) []string {
	tools := make([]string, n)
	for i := range n {
		tools[i] = fmt.Sprintf(`{"name":"t%d","description":"%s","inputSchema":{}}`, i, strings.Repeat("x", size))
	}
	return tools
}

// A list that is too long loses what is too much, and is logged once.
func TestLongListsAreCut(t *testing.T) {
	t.Parallel()
	page := func(tools []string, next string) string {
		return `{"tools":[` + strings.Join(tools, ",") + `],"nextCursor":"` + next + `"}`
	}
	many, large := wide(wire.MaxTools+1, 1), wide(50, 100<<10)
	for name, tt := range map[string]struct {
		pages    map[string]string // by cursor
		stream   bool
		min, max int // how many tools are kept
		logged   string
	}{
		"all that is allowed": {map[string]string{"": page(many[:wire.MaxTools], "")}, false, wire.MaxTools, wire.MaxTools, ""},
		"one tool more":       {map[string]string{"": page(many, "")}, false, wire.MaxTools, wire.MaxTools, `"tools":1,`},
		"one more, paged":     {map[string]string{"": page(many[:600], "2"), "2": page(many[600:], "")}, false, wire.MaxTools, wire.MaxTools, `"tools":1,`},
		"pages behind":        {map[string]string{"": page(many[:wire.MaxTools], "2")}, false, wire.MaxTools, wire.MaxTools, `"tools":0,`},
		"a large page, SSE":   {map[string]string{"": page(large, "")}, true, 39, 41, `"tools":0,`},
		"large second page":   {map[string]string{"": page(wide(2, 1), "2"), "2": page(wide(60, 100<<10)[2:], "3")}, false, 41, 43, `"tools":0,`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			f.onAny = func(w http.ResponseWriter, _ *http.Request, req fakeRequest) bool {
				if req.Method != "tools/list" {
					return false
				}
				result := tt.pages[req.Params.Cursor]
				if tt.stream {
					event(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, result))
				} else {
					sendResult(w, req, result)
				}
				return true
			}
			var log logBuffer
			cfg := over(serve(t, f))
			cfg.Log, cfg.ConnectWait, cfg.Servers[0].Timeout = log.logger(), time.Minute, time.Minute
			c := newClient(t, cfg)
			offered := names(c.Tools(t.Context()))
			if n := len(offered); n < tt.min || n > tt.max {
				t.Fatalf("%d tools are offered, want %d to %d: %s", n, tt.min, tt.max, log.String())
			}
			want := make([]string, len(offered)) // the first ones that the server lists, by name
			for i := range want {
				want[i] = fmt.Sprint("t", i)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, offered); diff != "" {
				t.Fatalf("tools (-want +got):\n%.500s", diff)
			}
			mustCall(t, c, offered[len(offered)-1], "ok")
			c.upstreams[0].requestRefresh() // the same list again logs nothing new
			testnet.Eventually(t, "the list is read again", func() bool { return f.counts("tools/list") >= 2*len(tt.pages) || f.counts("tools/list") > 7 })
			if n := strings.Count(log.String(), "mcp_tool_dropped"); tt.logged == "" && n != 0 || tt.logged != "" && (n != 1 || !strings.Contains(log.String(), tt.logged)) {
				t.Errorf("the log is not as it should be: %s", log.String())
			}
		})
	}
}

func TestLongListInProcessIsCut(t *testing.T) {
	t.Parallel()
	s := server.NewMCPServer("go", "1", server.WithToolCapabilities(true))
	for i := range 50 {
		s.AddTool(mcp.NewTool(fmt.Sprintf("t%02d", i), mcp.WithDescription(strings.Repeat("x", 100<<10))),
			func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("ok"), nil
			})
	}
	var log logBuffer
	cfg := within(s)
	cfg.Log, cfg.ConnectWait, cfg.Servers[0].Timeout = log.logger(), time.Minute, time.Minute
	c := newClient(t, cfg)
	if n := len(c.Tools(t.Context()).Specs); n < 39 || n > 41 {
		t.Fatalf("%d tools are offered: %s", n, log.String())
	}
	mustCall(t, c, "t00", "ok")
}
