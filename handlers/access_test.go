package handlers_test

import (
	"context"
	"testing"

	"sluice/handlers"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// What a GET may call is the configuration's to say; a POST may call everything,
// and no request can say otherwise.
func TestToolsOfAGet(t *testing.T) {
	t.Parallel()
	for _, access := range []chat.ToolAccess{chat.ToolsAll, chat.ToolsReadOnly, chat.ToolsOff} {
		var got chat.ToolAccess
		g := serve(t, handlers.Config{Dialects: []dialect.Dialect{sluice.Dialect{GetTools: access}}, Runner: runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
			got = req.Tools
			return hello(ctx, req, sink)
		})})
		if r := g.do(t, "GET", "/chat/stream?input=hi&tools=all&Tools=0", ""); r.status != 200 || got != access {
			t.Errorf("GET: status %d, tools %v, want %v", r.status, got, access)
		}
		if r := g.do(t, "POST", "/chat/stream", `{"input":"hi","tools":"off","Tools":2}`, jsonType); r.status != 200 || got != chat.ToolsAll {
			t.Errorf("POST: status %d, tools %v, want all", r.status, got)
		}
	}
}
