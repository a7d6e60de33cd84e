package agent_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/turn/tool"
)

// A shortage of the gateway's own ends the turn with one fatal error, whether a tool
// or the model meets it: the next call would meet it as well.
func TestShortageOfOurOwnEndsTheTurn(t *testing.T) {
	t.Parallel()
	short := func(service string) *fault.Error { return fault.NewOverloaded(service, syscall.EMFILE) }
	t.Run("tool", func(t *testing.T) {
		t.Parallel()
		got := play(t, scene{
			answers: []answer{wants(call("a", "add", "{}"), call("b", "read", "{}"))},
			call: func(ctx context.Context, c tool.Call) (tool.Result, error) {
				if c.Name == "read" {
					return tool.Result{}, wait(ctx, time.Hour)
				}
				_ = wait(ctx, time.Second)
				f := short("mcp:todo")
				f.NoEffect = true
				return tool.Result{}, f
			},
		})
		got.want(t, "start m", "call a add@todo {}", "call b read@todo {}",
			"failed a 1s The gateway is overloaded; try again in a moment", "failed b 1s Something went wrong on our side",
			"error fatal overloaded The gateway is overloaded; try again in a moment", "done error")
		if f := got.faults[0]; !f.Recoverable || f.RetryAfter == 0 || f.Service != "mcp:todo" {
			t.Errorf("the fault is %+v", f)
		}
	})
	t.Run("tool that may have run", func(t *testing.T) {
		t.Parallel()
		got := play(t, scene{
			answers: []answer{wants(call("a", "add", "{}"))},
			call: func(context.Context, tool.Call) (tool.Result, error) {
				f := short("mcp:todo")
				f.Unknown = true
				return tool.Result{}, f
			},
		})
		got.want(t, "start m", "call a add@todo {}", "unknown a 0s The gateway is overloaded; try again in a moment",
			"error fatal overloaded The gateway is overloaded; try again in a moment", "done error")
	})
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		got := play(t, scene{answers: []answer{fails(short("gemini"))}})
		got.want(t, "start m", "error fatal overloaded The gateway is overloaded; try again in a moment", "done error")
	})
}
