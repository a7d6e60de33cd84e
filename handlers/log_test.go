package handlers_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// The log lines of a turn and of a refusal, with all their fields; the user's text
// is in none of them.
func TestLog(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-é"
	call := stream.Call{ID: "a", Tool: "add", Server: "todo"}
	run := runner(func(ctx context.Context, req chat.Request, sink stream.Sink) error {
		zerolog.Ctx(ctx).Info().Msg("from_the_runner")
		_ = sends(&stream.Start{Model: "m"}, &stream.ToolStarted{Call: call}, &stream.ToolCompleted{Call: call, Result: canary})(ctx, req, sink)
		time.Sleep(1500 * time.Millisecond)
		return sends(&stream.Delta{Text: canary}, &stream.Done{Reason: stream.MaxSteps})(ctx, req, sink)
	})
	synctest.Test(t, func(t *testing.T) {
		g, _, stop := serveInBubble(handlers.Config{Runner: run})
		defer stop()
		who := "&user_id=ann&conversation_id=conv_1"
		judge(t, g.do(t, "GET", "/chat/stream?input="+url.QueryEscape(canary)+who, "", "X-Request-ID: r-1").body)
		judge(t, g.do(t, "POST", "/chat/stream", `{"input":"`+canary+`"}`, jsonType, "X-Request-ID: r-2").body)
		g.do(t, "POST", "/chat/stream", `{"input":7,"conversation_id":"`+canary+`"}`, jsonType, "X-Request-ID: r-3")
		g.do(t, "GET", "/chat/stream?input="+url.QueryEscape(canary)+"&timezone="+url.QueryEscape(canary), "", "X-Request-ID: r-4")

		received := func(method string) map[string]any {
			return map[string]any{"method": method, "path": "/chat/stream", "input_length": 8.0}
		}
		completed := map[string]any{"total_duration_ms": 1500.0, "success": true, "finish_reason": "max_steps", "tools_called": []any{"add"}, "events": 5.0}
		refused := func(method, message string) map[string]any {
			return map[string]any{"error_type": "validation_error", "error_message": message, "recoverable": false,
				"method": method, "path": "/chat/stream", "status": 422.0}
		}
		want := []line{
			{"info", "request_received", "r-1", "ann", "conv_1", 0, received("GET")},
			{"info", "from_the_runner", "r-1", "ann", "conv_1", 0, nil},
			{"info", "request_completed", "r-1", "ann", "conv_1", 1500, completed},
			{"info", "request_received", "r-2", "", "", 0, received("POST")},
			{"info", "from_the_runner", "r-2", "", "", 0, nil},
			{"info", "request_completed", "r-2", "", "", 1500, completed},
			{"info", "request_received", "r-3", "", "", 0, map[string]any{"method": "POST", "path": "/chat/stream", "input_length": 0.0}}, // it is not text
			{"info", "error_occurred", "r-3", "", "", 0, refused("POST", "validation_error: The request has 2 faults: /input must be a string: "+
				"invalid request; /input: must be a string; /conversation_id: must be a UUID, or conv_ and 1 to 64 of A-Z a-z 0-9 _ -")},
			{"info", "request_received", "r-4", "", "", 0, received("GET")},
			{"info", "error_occurred", "r-4", "", "", 0, refused("GET", "validation_error: The request has a fault: /timezone must be an IANA time zone name such as Europe/Berlin: "+
				"invalid request; /timezone: must be an IANA time zone name such as Europe/Berlin")},
		}
		if diff := cmp.Diff(want, g.log.lines(t)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if log := g.log.String(); strings.Contains(log, "CANARY") {
			t.Errorf("the user's text is in the log:\n%s", log)
		}
	})
}

// What is ours to mend is an error, what an operator should know of a warning.
func TestLogLevels(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Limits: handlers.Limits{MaxStreams: 1}, Health: buggy()})
	g.do(t, "GET", "/nowhere", "")
	g.Drain()
	g.chat(t)
	g.do(t, "GET", "/readyz", "")
	var levels []string
	for _, ln := range g.log.lines(t) {
		levels = append(levels, ln.Level+" "+ln.Details["error_type"].(string))
	}
	if diff := cmp.Diff([]string{"info not_found", "warn shutting_down", "error internal_error"}, levels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
