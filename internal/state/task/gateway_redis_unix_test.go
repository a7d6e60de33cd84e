//go:build unix

package task_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store/redis/redistest"
)

// onRedis runs a test, in real time, with gateways that know one another by a server of
// Redis alone.
func onRedis(t *testing.T, test func(t *testing.T, f *wholetest.Fleet, gateway func() wholetest.Peer)) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	f := &wholetest.Fleet{T: t}
	test(t, f, func() wholetest.Peer {
		return f.Gateway(map[string]string{"SLUICE_STORE": "unix://" + server.Socket, "SLUICE_STORE_PREFIX": "test:"})
	})
}

// A question that one gateway asked is answered through another, which remembers what the
// first one has said; and forgets it.
func TestQuestionAndMemoryOverRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, f *wholetest.Fleet, gateway func() wholetest.Peer) {
		model := f.House("  sticky: hold\n" + wholetest.Remembered)
		one, two := gateway(), gateway()
		first := one.RunTurn(t, wholetest.Input("Turn on the kitchen lights", `,"conversation_id":"conv_1"`))
		if state := two.Task(t, first.Task).Status.State; state != "completed" {
			t.Errorf("the task is %q", state)
		}
		if held := two.RunTurn(t, wholetest.Input("Play some jazz music", `,"conversation_id":"conv_1"`)); held.Method != "hold" || held.Agent != "light-agent" {
			t.Errorf("%+v", held)
		}
		asked := one.RunTurn(t, wholetest.Input("Make it cozy", wholetest.OfAnn))
		_, waits := two.Ask(t, http.MethodGet, "/tasks/"+asked.Task, "")
		if !strings.Contains(waits, `"state":"input-required"`) || !strings.Contains(waits, `"pendingQuestion":{"inARow":1,"asked":[{"role":"user","content":"Make it cozy"},{"role":"assistant","content":"`+asked.Final+`"}]}`) {
			t.Errorf("the document is %s", waits)
		}
		from := len(model.All())
		answered := two.RunTurn(t, wholetest.Input("the kitchen lights", wholetest.OfAnn))
		if answered.Task != asked.Task || answered.Agent != "light-agent" {
			t.Errorf("%+v", answered)
		}
		if got := wholetest.ContentsOf(t, model.All()[from+1]); got != "user: Make it cozy|model: "+asked.Final+"|user: the kitchen lights" {
			t.Errorf("the agent got\n%s", got)
		}
		from = len(model.All())
		one.RunTurn(t, wholetest.Input("Turn on the kitchen lights", wholetest.OfAnn))
		two.RunTurn(t, wholetest.Input("Turn off the kitchen lights", wholetest.OfAnn))
		all := model.All()[from:]
		if got := wholetest.ContentsOf(t, all[len(all)-1]); !strings.Contains(got, "|model: call set_light signed|user: result set_light|") {
			t.Errorf("the agent got\n%s", got)
		}
		if status, body := two.Ask(t, http.MethodDelete, "/conversations/conv_1?user_id=ann", ""); status != http.StatusNoContent {
			t.Errorf("%d %s", status, body)
		}
		from = len(model.All())
		one.RunTurn(t, wholetest.Input("Turn off the kitchen lights", wholetest.OfAnn))
		if got := wholetest.ContentsOf(t, model.All()[from+1]); got != "user: Turn off the kitchen lights" {
			t.Errorf("after that the agent got\n%s", got)
		}
	})
}

// The same request at two gateways at once runs once, and both replies report its turn.
func TestRepeatedKeyOverRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, f *wholetest.Fleet, gateway func() wholetest.Peer) {
		f.Gemini, f.File = wholetest.InPieces{Speaking: wholetest.NewSpeaking(3, true)}, overA2A
		gateways := []wholetest.Peer{gateway(), gateway()}
		for i := range 20 {
			for j, again := range repetitions {
				key := fmt.Sprintf("00000000-0000-4000-%04d-%012d", 8000+j, i)
				path, body := strings.ReplaceAll(again.path, "key-12345", key), strings.ReplaceAll(again.body, "f47ac10b-58cc-4372-a567-0e02b2c3d479", key)
				var wg sync.WaitGroup
				var replayed atomic.Int32
				for _, p := range gateways {
					wg.Go(func() {
						resp := p.Send(t, t.Context(), again.method, path, body, "Idempotency-Key", key)
						got, err := io.ReadAll(resp.Body)
						if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(got), "twelve bytes") {
							t.Errorf("%s: %d %v %s", again.name, resp.StatusCode, err, got)
						}
						if resp.Header.Get("X-Sluice-Replayed") == "true" {
							replayed.Add(1)
						}
					})
				}
				if wg.Wait(); replayed.Load() != 1 {
					t.Errorf("%s: %d of two replies are those of the other's turn", again.name, replayed.Load())
				}
			}
		}
	})
}
