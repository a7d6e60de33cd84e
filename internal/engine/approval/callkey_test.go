package approval_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/app/gateway/wholetest"
)

// keysSent returns the keys of the payments so far.
func (b *bank) keysSent() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.keys...)
}

// noteKey notes the key that a call carries; empty: none.
func (b *bank) noteKey(req *mcp.CallToolRequest) {
	key := ""
	if req.Params.Meta != nil {
		key, _ = req.Params.Meta.AdditionalFields["sluice/call_key"].(string)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys = append(b.keys, key)
}

// A token that two gateways accept, neither of which saw the other's use, pays twice: by
// the key of the call the server can know. Another call has another key.
func TestServersCanRecognizeRepeatedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		first, second := b.gateway(nil), b.gateway(nil)
		q, other := b.Ask(first, ""), b.Ask(first, "")
		for _, answer := range []struct {
			at wholetest.Peer
			of wholetest.Question
		}{{first, q}, {second, q}, {first, other}} {
			if status, body := b.Answer(answer.at, answer.of.Token, `"action":"approve"`); status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
		}
		keys := b.keysSent()
		if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[0] == keys[2] {
			t.Errorf("the calls carry %q", keys)
		}
	})
}

// A call that nobody is asked about, in a plain turn, is never repeated, and carries nothing.
func TestPlainCallsCarryNoKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		p := b.gateway(map[string]string{"SLUICE_CONFIRM": "off"})
		if status, body := b.Post(p, "/chat/stream", `{"input":"Pay"}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		if keys := b.keysSent(); len(keys) != 1 || keys[0] != "" {
			t.Errorf("the call carries %q", keys)
		}
	})
}
