package task_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store/redis/redistest"
)

// The clock of Redis moves in the middle of a turn: the lease of its gateway is over at once,
// or much later. The turn is not taken for one of the dead by its own gateway.
func TestClockOfRedisMovesInATurn(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": 2 * time.Hour, "back": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, move := redistest.StartWithClock(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
			f := &wholetest.Fleet{T: t}
			g := f.Gateway(map[string]string{"SLUICE_STORE": "unix://" + server.Socket})
			resp := g.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created)
			read, task, turn := wholetest.StartOf(t, resp)
			move(by)
			rest, err := io.ReadAll(resp.Body)
			whole := read + string(rest)
			if err != nil || strings.Count(whole, "event: done") != 1 || !strings.Contains(whole, `"success":true`) {
				t.Errorf("its client got, %v\n%s", err, whole)
			}
			wantSettled(f, g, task, turn, whole, by > 0, false) // the log is kept for an hour
		})
	}
}
