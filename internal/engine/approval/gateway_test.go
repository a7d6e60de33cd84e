package approval_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/state/store/memory"
	"sluice/mcpclient"
)

// bank is gateways whose model wants to pay, and the server that pays.
type bank struct {
	*wholetest.Bank
	t     *testing.T
	last  atomic.Value // the arguments of the last payment
	calls int          // that the model makes at once
	text  string       // that the model says before
	seen  atomic.Value // the last request of the model

	mu   sync.Mutex // guards the field below
	keys []string   // that the payments carried
}

func newBank(t *testing.T) *bank {
	b := &bank{Bank: wholetest.NewBank(t), t: t, calls: 1}
	b.Pays = func(req *mcp.CallToolRequest) {
		b.noteKey(req)
		args, _ := json.Marshal(req.GetArguments())
		b.last.Store(string(args))
	}
	return b
}

// ServeHTTP is the model: it wants to pay, and when it has an answer, it is done.
func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.seen.Store(string(body))
	var parts []string
	if b.text != "" {
		parts = append(parts, fmt.Sprintf(`{"text":%q}`, b.text))
	}
	for i := range b.calls {
		parts = append(parts, fmt.Sprintf(`{"functionCall":{"id":"call_%d","name":"pay","args":{"amount":%d}},"thoughtSignature":"c2ln"}`, i+1, 10*(i+1)))
	}
	if bytes.Contains(body, []byte("functionResponse")) {
		parts = []string{`{"text":"Done."}`}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":3}}`+"\r\n\r\n", strings.Join(parts, ","))
}

// gateway starts one.
func (b *bank) gateway(env map[string]string) wholetest.Peer {
	b.t.Helper()
	m := server.NewMCPServer("bank", "1", server.WithToolCapabilities(true))
	b.Serve(m)
	return asking(b.t, env, "", gateway.Seams{Store: b.Store, Gemini: testnet.Serve(b.t, b), Servers: within("bank", m)})
}

// within is the one server of a gateway, in this process.
func within(name string, m *server.MCPServer) []mcpclient.Server {
	return []mcpclient.Server{{Name: name, Transport: mcpclient.InProcess, InProcess: m, Breaker: breaker.New(breaker.Config{Service: "mcp:" + name})}}
}

// asking starts a gateway that asks before calls that destroy. yaml is its configuration file;
// empty: it has none.
func asking(t *testing.T, env map[string]string, yaml string, with gateway.Seams) wholetest.Peer {
	t.Helper()
	all := map[string]string{
		"GEMINI_API_KEY": wholetest.Key, "GEMINI_BASE_URL": "http://gemini", "SLUICE_HEARTBEAT": "0", "SLUICE_CONFIRM": "destructive", "SLUICE_APPROVAL_KEY": wholetest.ApprovalKey,
	}
	if yaml != "" {
		all["SLUICE_CONFIG"] = "sluice.yaml"
	}
	maps.Copy(all, env)
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(all), func(string) ([]byte, error) { return []byte(yaml), nil })
	if err != nil {
		t.Fatal(err)
	}
	if yaml != "" {
		wholetest.SetServers(&cfg, nil) // those of the file are in this process
	}
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	synctest.Wait()
	return wholetest.Peer{Client: http.Client{Transport: testnet.Serve(t, g)}}
}

// inBank runs a test in a bubble: with tokens that hold the turn, and with a store.
func inBank(t *testing.T, test func(t *testing.T, b *bank)) {
	t.Parallel()
	for _, with := range []string{"token", "store"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBank(t)
				if with == "store" {
					b.Store = memory.New(memory.Config{})
				}
				test(t, b)
			})
		})
	}
}

func (b *bank) wantPaid(n int64) {
	b.t.Helper()
	if got := b.Paid.Load(); got != n {
		b.t.Errorf("paid %d times, want %d", got, n)
	}
}

// refused wants a problem of an error type.
func (b *bank) refused(status int, body string, wantStatus int, want string, pointers ...string) {
	b.t.Helper()
	var p struct {
		Type   string `json:"error_type"`
		Errors []struct {
			Field string `json:"field"`
		} `json:"errors"`
	}
	_ = json.Unmarshal([]byte(body), &p)
	var got []string
	for _, e := range p.Errors {
		got = append(got, e.Field)
	}
	if status != wantStatus || p.Type != want || len(pointers) > 0 && !slices.Equal(got, pointers) {
		b.t.Errorf("got %d %s %v, want %d %s %v: %.200s", status, p.Type, got, wantStatus, want, pointers, body)
	}
}

// An answer is good once, for what it allows, and for its user.
func TestAnswersAreGoodOnce(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		q := b.Ask(p, "")
		b.wantPaid(0)
		if q.Calls[0].Reason != "destructive" || (q.Task != "") != (b.Store != nil) {
			t.Errorf("question %+v", q)
		}
		status, body := b.Answer(p, q.Token, `"action":"approve"`)
		if status != http.StatusOK || !strings.Contains(body, `"final_output":"Done."`) || !strings.Contains(body, `"input_tokens":10,`) {
			t.Errorf("%d %s", status, body)
		}
		b.wantPaid(1)
		status, body = b.Answer(p, q.Token, `"action":"approve"`)
		b.refused(status, body, http.StatusConflict, "approval_used")
		b.wantPaid(1)
	})
}

// A token that the version before the tree has made is good here: the turn goes on to its end,
// once. It waits since the bubble's begin.
func TestTokenOfTheVersionBefore(t *testing.T) {
	token, err := os.ReadFile("../run/testdata/token-agent-1.txt")
	if err != nil {
		t.Fatal(err)
	}
	inBank(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		status, body := b.Answer(p, strings.TrimSpace(string(token)), `"action":"approve"`)
		if status != http.StatusOK || !strings.Contains(body, `"final_output":"\n\nDone."`) || !strings.Contains(body, `"input_tokens":10,`) {
			t.Errorf("%d %s", status, body)
		}
		b.wantPaid(1)
		status, body = b.Answer(p, strings.TrimSpace(string(token)), `"action":"approve"`)
		b.refused(status, body, http.StatusConflict, "approval_used")
		b.wantPaid(1)
	})
}

// Of many answers at once one is taken.
func TestOneOfManyAnswersIsAccepted(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		q := b.Ask(p, "")
		var accepted, used atomic.Int64
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				action := []string{"approve", "reject"}[i%2]
				switch status, body := b.Answer(p, q.Token, fmt.Sprintf(`"action":%q`, action)); {
				case status == http.StatusOK:
					accepted.Add(1)
				case status == http.StatusConflict && strings.Contains(body, "approval_used"):
					used.Add(1)
				default:
					t.Errorf("%d %s", status, body)
				}
			})
		}
		all.Wait()
		if accepted.Load() != 1 || used.Load() != 15 || b.Paid.Load() > 1 {
			t.Errorf("%d were taken, %d refused, paid %d times", accepted.Load(), used.Load(), b.Paid.Load())
		}
	})
}

// A bad answer uses nothing up, whatever is bad about it.
func TestBadAnswersUseNothingUp(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		b.calls = 2
		p := b.gateway(nil)
		q := b.Ask(p, `,"user_id":"ann"`)
		flipped := []byte(q.Token)
		flipped[len(flipped)/2] ^= 1
		for name, tt := range map[string]struct {
			token, members string
			status         int
			kind           string
			pointers       []string
		}{
			"cut":             {q.Token[:len(q.Token)-8], `"action":"approve"`, 403, "approval_invalid", nil},
			"flipped":         {string(flipped), `"action":"approve"`, 403, "approval_invalid", nil},
			"longer":          {q.Token + "AAAA", `"action":"approve"`, 403, "approval_invalid", nil},
			"another version": {"slap2." + q.Token[6:], `"action":"approve"`, 403, "approval_invalid", nil},
			"no token":        {"", `"action":"approve"`, 422, "validation_error", []string{"/approval/token"}},
			"nonsense":        {"slap1.", `"action":"approve"`, 403, "approval_invalid", nil},
			"64 KiB":          {"slap1." + strings.Repeat("A", 64<<10-6), `"action":"approve"`, 403, "approval_invalid", nil},
			"65 KiB":          {"slap1." + strings.Repeat("A", 65<<10-6), `"action":"approve"`, 403, "approval_invalid", nil},
			"no decision":     {q.Token, `"message":"?"`, 422, "validation_error", []string{"/approval/action"}},
			"unknown action":  {q.Token, `"action":"always"`, 422, "validation_error", []string{"/approval/action"}},
			"both":            {q.Token, `"action":"approve","calls":[{"call_id":"call_1","action":"approve"}]`, 422, "validation_error", []string{"/approval/calls"}},
			"one missing":     {q.Token, `"calls":[{"call_id":"call_1","action":"approve"}]`, 422, "validation_error", []string{"/approval/calls"}},
			"none":            {q.Token, `"calls":[]`, 422, "validation_error", []string{"/approval/calls"}},
			"twice": {q.Token, `"calls":[{"call_id":"call_1","action":"approve"},{"call_id":"call_1","action":"reject"},{"call_id":"call_2","action":"reject"}]`,
				422, "validation_error", []string{"/approval/calls/1/call_id"}},
			"unknown call": {q.Token, `"calls":[{"call_id":"call_1","action":"approve"},{"call_id":"call_2","action":"reject"},{"call_id":"call_3","action":"reject"}]`,
				422, "validation_error", []string{"/approval/calls/2/call_id"}},
			"arguments that do not fit": {q.Token, `"calls":[{"call_id":"call_1","action":"modify","arguments":{"amount":0}},{"call_id":"call_2","action":"reject"}]`,
				422, "validation_error", []string{"/approval/calls/0/arguments/amount"}},
			"no arguments": {q.Token, `"calls":[{"call_id":"call_1","action":"modify"},{"call_id":"call_2","action":"reject"}]`,
				422, "validation_error", []string{"/approval/calls/0/arguments"}},
			"arguments to approve": {q.Token, `"calls":[{"call_id":"call_1","action":"approve","arguments":{"amount":1}},{"call_id":"call_2","action":"reject"}]`,
				422, "validation_error", []string{"/approval/calls/0/arguments"}},
			"another tool": {q.Token, `"calls":[{"call_id":"call_1","action":"modify","tool_name":"other","arguments":{"amount":1}},{"call_id":"call_2","action":"reject"}]`,
				422, "validation_error", []string{"/approval/calls/0/tool_name"}},
			"modify all":     {q.Token, `"action":"modify","arguments":{"amount":1}`, 422, "validation_error", []string{"/approval/calls"}},
			"state":          {q.Token, `"action":"approve","state_updates":{}`, 422, "validation_error", []string{"/approval/state_updates"}},
			"a long message": {q.Token, `"action":"reject","message":"` + strings.Repeat("é", 2001) + `"`, 422, "validation_error", []string{"/approval/message"}},
		} {
			status, body := b.Answer(p, tt.token, tt.members)
			b.t.Log(name)
			b.refused(status, body, tt.status, tt.kind, tt.pointers...)
		}
		status, body := b.Post(p, "/chat/stream", fmt.Sprintf(`{"input":"Pay","approval":{"token":%q,"action":"approve"}}`, q.Token))
		b.refused(status, body, 422, "validation_error", "/input")
		status, body = b.Post(p, "/chat/stream", fmt.Sprintf(`{"user_id":"bob","approval":{"token":%q,"action":"approve"}}`, q.Token))
		b.refused(status, body, 403, "approval_invalid")
		b.wantPaid(0)
		status, body = b.Answer(p, q.Token, `"calls":[{"call_id":"call_2","action":"modify","arguments":{"amount":7}},{"call_id":"call_1","action":"reject","message":"Too dear."}]`)
		if status != http.StatusOK || b.last.Load() != `{"amount":7}` {
			t.Errorf("%d, paid %v: %s", status, b.last.Load(), body)
		}
		b.wantPaid(1)
	})
}

// Nothing runs when it is too late; nor did the clock that jumps make it early again.
func TestLateAnswers(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		p := b.gateway(map[string]string{"SLUICE_APPROVAL_TTL": "30m"})
		early, late := b.Ask(p, ""), b.Ask(p, "")
		time.Sleep(29 * time.Minute)
		if status, body := b.Answer(p, early.Token, `"action":"approve"`); status != http.StatusOK {
			t.Errorf("in time: %d %s", status, body)
		}
		time.Sleep(2 * time.Minute)
		status, body := b.Answer(p, late.Token, `"action":"approve"`)
		b.refused(status, body, http.StatusGone, "approval_expired")
		b.wantPaid(1)
	})
}

// A tool that has become another one is asked about again, with what it is now.
func TestChangedToolIsAskedAboutAgain(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		q := b.Ask(p, "")
		b.Offer(`{"type":"object","properties":{"amount":{"type":"integer"},"currency":{"type":"string"}}}`)
		time.Sleep(time.Minute) // until the gateway has listed the tools again
		again := b.QuestionOf(b.Answer(p, q.Token, `"action":"approve"`))
		b.wantPaid(0)
		if again.Calls[0].Reason != "tool_changed" || again.Calls[0].ID != q.Calls[0].ID || again.Token == q.Token {
			t.Errorf("asked again: %+v", again)
		}
		status, body := b.Answer(p, q.Token, `"action":"approve"`)
		b.refused(status, body, http.StatusConflict, "approval_used")
		if status, body := b.Answer(p, again.Token, `"action":"approve"`); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
		b.wantPaid(1)
	})
}

// A tool that is gone does not run: its call fails, and the turn continues.
func TestToolThatIsGoneDoesNotRun(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		p := b.gateway(nil)
		q := b.Ask(p, "")
		b.Withdraw()
		time.Sleep(time.Minute)
		status, body := b.Answer(p, q.Token, `"action":"approve"`)
		if status != http.StatusOK || !strings.Contains(body, `"status":"failed"`) {
			t.Errorf("%d %s", status, body)
		}
		b.wantPaid(0)
	})
}

// Two gateways that share a key: paused on one, allowed on the other, where a second use is
// refused. That the first one did not see the token is a limit of the form without a
// store; with one it is refused there too.
func TestTokensAreGoodAtGatewaysOfTheSameKey(t *testing.T) {
	inBank(t, func(t *testing.T, b *bank) {
		first, second := b.gateway(nil), b.gateway(nil)
		q := b.Ask(first, "")
		if status, body := b.Answer(second, q.Token, `"action":"approve"`); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		status, body := b.Answer(second, q.Token, `"action":"approve"`)
		b.refused(status, body, http.StatusConflict, "approval_used")
		b.wantPaid(1)
		status, body = b.Answer(first, q.Token, `"action":"approve"`)
		if b.Store != nil {
			b.refused(status, body, http.StatusConflict, "approval_used")
			b.wantPaid(1)
		} else if status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
	})
}

// A key that is in use no more still opens; a foreign one does not.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		fresh := base64.StdEncoding.EncodeToString([]byte("fedcba9876543210fedcba9876543210"))
		old := b.gateway(nil)
		rotated := b.gateway(map[string]string{"SLUICE_APPROVAL_KEY": fresh + "," + wholetest.ApprovalKey})
		foreign := b.gateway(map[string]string{"SLUICE_APPROVAL_KEY": fresh})
		q := b.Ask(old, "")
		status, body := b.Answer(foreign, q.Token, `"action":"approve"`)
		b.refused(status, body, http.StatusForbidden, "approval_invalid")
		if status, body := b.Answer(rotated, q.Token, `"action":"approve"`); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
		if status, body := b.Answer(foreign, b.Ask(rotated, "").Token, `"action":"reject"`); status != http.StatusOK {
			t.Errorf("%d %s", status, body)
		}
		b.wantPaid(1)
	})
}

// A turn that no token has room for is not paused: its calls are refused, and the model
// says so.
func TestTurnsTooLongToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		p := b.gateway(nil)
		var history []map[string]string
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 22 {
			text := make([]rune, 3000)
			for j := range text { // what does not get shorter
				text[j] = rune(0x4E00 + random.IntN(0x5000))
			}
			history = append(history, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": string(text)})
		}
		list, _ := json.Marshal(history)
		status, body := b.Post(p, "/chat/stream", `{"input":"Pay","history":`+string(list)+`}`)
		if status != http.StatusOK || !strings.Contains(body, `"finish_reason":"stop"`) || strings.Contains(body, "tool_call") {
			t.Errorf("%d %s", status, body)
		}
		if seen := b.seen.Load().(string); !strings.Contains(seen, "too long to wait") {
			t.Errorf("the model was not told: %.300s", seen[len(seen)-300:])
		}
		b.wantPaid(0)
	})
}

// Without questions nobody answers, and a client that cannot show one is not asked.
func TestNobodyIsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		off := b.gateway(map[string]string{"SLUICE_CONFIRM": "off"})
		status, body := b.Answer(off, "slap1.x", `"action":"approve"`)
		b.refused(status, body, 422, "validation_error", "/approval")
		p := b.gateway(nil)
		status, body = b.Post(p, "/chatkit", `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"Pay"}],"quoted_text":"","attachments":[],"inference_options":{}}}}`)
		if status != http.StatusOK || !strings.Contains(body, "Done.") {
			t.Errorf("%d %s", status, body)
		}
		if seen := b.seen.Load().(string); !strings.Contains(seen, "this client cannot ask for that") {
			t.Errorf("the model was not told: %s", seen)
		}
		b.wantPaid(0)
	})
}
