//go:build unix

package gateway

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/internal/testnet"
	"sluice/store/redis/redistest"
)

// onRedis runs a test, in real time, with gateways that know one another by a server of
// Redis alone.
func onRedis(t *testing.T, test func(t *testing.T, f *fleet, gateway func() peer)) {
	t.Parallel()
	server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	f := &fleet{t: t}
	test(t, f, func() peer {
		return f.gateway(map[string]string{"SLUICE_STORE": "unix://" + server.Socket, "SLUICE_STORE_PREFIX": "test:"})
	})
}

// A question that one gateway asked is answered through another, which remembers what the
// first one has said; and forgets it.
func TestQuestionAndMemoryOverRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, f *fleet, gateway func() peer) {
		model := f.house("  sticky: hold\n" + remembered)
		one, two := gateway(), gateway()
		first := one.say(t, input("Turn on the kitchen lights", `,"conversation_id":"conv_1"`))
		if state := two.task(t, first.Task).Status.State; state != "completed" {
			t.Errorf("the task is %q", state)
		}
		if held := two.say(t, input("Play some jazz music", `,"conversation_id":"conv_1"`)); held.Method != "hold" || held.Agent != "light-agent" {
			t.Errorf("%+v", held)
		}
		asked := one.say(t, input("Make it cozy", ofAnn))
		_, waits := two.ask(t, http.MethodGet, "/tasks/"+asked.Task, "")
		if !strings.Contains(waits, `"state":"input-required"`) || !strings.Contains(waits, `"pendingQuestion":{"inARow":1,"asked":[{"role":"user","content":"Make it cozy"},{"role":"assistant","content":"`+asked.Final+`"}]}`) {
			t.Errorf("the document is %s", waits)
		}
		from := len(model.all())
		answered := two.say(t, input("the kitchen lights", ofAnn))
		if answered.Task != asked.Task || answered.Agent != "light-agent" {
			t.Errorf("%+v", answered)
		}
		if got := contentsOf(t, model.all()[from+1]); got != "user: Make it cozy|model: "+asked.Final+"|user: the kitchen lights" {
			t.Errorf("the agent got\n%s", got)
		}
		from = len(model.all())
		one.say(t, input("Turn on the kitchen lights", ofAnn))
		two.say(t, input("Turn off the kitchen lights", ofAnn))
		all := model.all()[from:]
		if got := contentsOf(t, all[len(all)-1]); !strings.Contains(got, "|model: call set_light signed|user: result set_light|") {
			t.Errorf("the agent got\n%s", got)
		}
		if status, body := two.ask(t, http.MethodDelete, "/conversations/conv_1?user_id=ann", ""); status != http.StatusNoContent {
			t.Errorf("%d %s", status, body)
		}
		from = len(model.all())
		one.say(t, input("Turn off the kitchen lights", ofAnn))
		if got := contentsOf(t, model.all()[from+1]); got != "user: Turn off the kitchen lights" {
			t.Errorf("after that the agent got\n%s", got)
		}
	})
}

// startRedis starts a Redis and returns its location.
func startRedis(t *testing.T) string {
	t.Helper()
	server := redistest.Start(t, "redis-server", false)
	testnet.Eventually(t, "Redis listens", func() bool {
		conn, err := server.Dial(t.Context(), "", "")
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
	return "unix://" + server.Socket
}

// The same request at two gateways at once runs once, and both replies tell its turn.
func TestRepeatedKeyOverRedis(t *testing.T) {
	onRedis(t, func(t *testing.T, f *fleet, gateway func() peer) {
		f.gemini, f.file = inPieces{speaking: newSpeaking(3, true)}, overA2A
		gateways := []peer{gateway(), gateway()}
		for i := range 20 {
			for j, again := range repetitions {
				key := fmt.Sprintf("00000000-0000-4000-%04d-%012d", 8000+j, i)
				path, body := strings.ReplaceAll(again.path, "key-12345", key), strings.ReplaceAll(again.body, "f47ac10b-58cc-4372-a567-0e02b2c3d479", key)
				var wg sync.WaitGroup
				var replayed atomic.Int32
				for _, p := range gateways {
					wg.Go(func() {
						resp := p.send(t, t.Context(), again.method, path, body, "Idempotency-Key", key)
						told, err := io.ReadAll(resp.Body)
						if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(told), "twelve bytes") {
							t.Errorf("%s: %d %v %s", again.name, resp.StatusCode, err, told)
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
