package gateway_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/breaker"
	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/process"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/testnet"
	"sluice/internal/model"
	"sluice/mcpclient"
)

// spoken are pieces of an answer in the protocol of a way.
type spoken struct {
	begin, text, end string
	call             func(n int, args string) string
}

func data(s string) string { return "data: " + s + "\n\n" }

func spokenBy(w wholetest.Protocol) spoken {
	switch w.Name {
	case "chat":
		return spoken{"", data(`{"choices":[{"index":0,"delta":{"content":"Hel"}}]}`),
			data(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`) + data("[DONE]"),
			func(n int, args string) string {
				return data(fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","type":"function","function":{"name":"work","arguments":%q}}]}}]}`, n, n, args))
			}}
	case "responses":
		return spoken{"", data(`{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"Hel"}`),
			data(`{"type":"response.completed","response":{"status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1}}}`),
			func(n int, args string) string {
				return data(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":{"type":"function_call","id":"f%d","call_id":"c%d","name":"work","arguments":%q,"status":"completed"}}`, n, n, n, args))
			}}
	case "messages":
		return spoken{data(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}}`) +
			data(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
			data(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}`),
			data(`{"type":"content_block_stop","index":0}`) + data(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`) + data(`{"type":"message_stop"}`),
			func(n int, args string) string {
				return data(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"c%d","name":"work","input":{}}}`, n+1, n)) +
					data(fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, n+1, args)) +
					data(fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n+1))
			}}
	}
	part := func(p, finish, usage string) string {
		return data(`{"candidates":[{"content":{"role":"model","parts":[` + p + `]},"index":0` + finish + `}]` + usage + `}`)
	}
	return spoken{"", part(`{"text":"Hel"}`, "", ""), part(`{"text":""}`, `,"finishReason":"STOP"`, `,"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}`),
		func(_ int, args string) string {
			return part(`{"functionCall":{"name":"work","args":`+args+`}}`, "", "")
		}}
}

// modelRow is bad input from a configured model, and what must come of it, whatever its
// protocol.
type modelRow struct {
	name     string
	replies  func(s spoken) [][]act // in turn; the last one to all that follow
	want     string
	within   time.Duration // 0: no time at all
	breaker  string
	consumed int // most bytes that may be taken from the model; 0: no bound
	then     func(t *testing.T, r wholetest.WireReply)
}

func one(acts ...act) func(spoken) [][]act {
	return func(spoken) [][]act { return [][]act{acts} }
}

func modelRows() []modelRow {
	plain := piece
	dribble := []act{head(200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked")}
	var pings []act
	for _, b := range strings.Split(strings.Repeat("data: never ", 4), "") {
		dribble = append(dribble, plain(b), pause(time.Second))
		pings = append(pings, plain(": ping\n\n"), pause(time.Second))
	}
	return []modelRow{
		{name: "html", replies: one(whole(200, page, "Content-Type: text/html")), want: failedTurn, breaker: "closed 1"},
		{name: "text", replies: one(whole(200, "UPSTREAM says hello", "Content-Type: text/plain")), want: failedTurn, breaker: "closed 1"},
		{name: "gzip", replies: one(whole(200, "\x1f\x8b\x08UPSTREAM", "Content-Type: text/event-stream", "Content-Encoding: gzip")), want: failedTurn, breaker: "closed 0"},
		{name: "dribble", replies: one(dribble...), want: timeoutTurn, within: 15 * time.Second, breaker: "closed 1"},
		{name: "pings alone", replies: func(spoken) [][]act { return [][]act{begun(pings...)} }, want: timeoutTurn, within: 30 * time.Second, breaker: "closed 0"},
		{name: "a line without end", replies: one(head(200, "Content-Type: text/event-stream"), say("data: "), flood("UPSTREAM", 64<<20)), want: failedTurn, breaker: "closed 0", consumed: 4 << 20},
		{name: "an error without end", replies: one(head(500), flood("UPSTREAM", 64<<20)), want: failedTurn, breaker: "closed 1", consumed: 1 << 20},
		{name: "json without end", replies: one(head(200, "Content-Type: application/json"), say(`{"UPSTREAM":"`), flood("UPSTREAM", 64<<20)), want: failedTurn, breaker: "closed 0", consumed: 8 << 20},
		{name: "text without end", replies: func(s spoken) [][]act {
			return [][]act{{head(200, "Content-Type: text/event-stream"), say(s.begin), flood(strings.Replace(s.text, "Hel", strings.Repeat("Hel", 1000), 1), 512<<20)}}
		}, breaker: "closed 0", then: func(t *testing.T, r wholetest.WireReply) {
			if !strings.Contains(r.Body, `"error_type":"model_unavailable"`) || len(r.Body) > 16<<20 {
				t.Errorf("%d bytes came, the end is %s", len(r.Body), r.Body[max(0, len(r.Body)-300):])
			}
		}},
		{name: "one call of 3 MiB", replies: func(s spoken) [][]act {
			return [][]act{{head(200, "Content-Type: text/event-stream"), say(s.begin), say(s.call(0, `{"a":"`+strings.Repeat("x", 3<<20)+`"}`)), say(s.end)}}
		}, want: failedTurn, breaker: "closed 0", consumed: 8 << 20},
		{name: "10,000 calls", replies: func(s spoken) [][]act {
			var all strings.Builder
			for n := range 10_000 {
				all.WriteString(s.call(n, `{}`))
			}
			return [][]act{
				{head(200, "Content-Type: text/event-stream"), say(s.begin), say(all.String()), say(s.end), hangUp},
				{head(200, "Content-Type: text/event-stream"), say(s.begin), say(s.text), say(s.end), hangUp},
			}
		}, breaker: "closed 0", within: time.Second, then: func(t *testing.T, r wholetest.WireReply) {
			if n := strings.Count(r.Body, `"status":"in_progress"`); n != 128 || strings.Count(r.Body, "Tool calls not executed: 9872.") != 1 || !strings.Contains(r.Body, `"finish_reason":"stop"`) {
				t.Errorf("%d calls were told of; the end is %s", n, r.Body[max(0, len(r.Body)-300):])
			}
		}},
	}
}

// TestModelFaults plays bad input of models over each protocol, in fake time.
func TestModelFaults(t *testing.T) {
	for _, w := range wholetest.Protocols() {
		for _, row := range modelRows() {
			t.Run(w.Name+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { row.play(t, w) })
			})
		}
	}
}

func (row modelRow) play(t *testing.T, w wholetest.Protocol) {
	s := newRawServer(t, inTurn(row.replies(spokenBy(w))...))
	tr := model.NewTransport(nil)
	tr.DialContext = s.dial
	t.Cleanup(tr.CloseIdleConnections)
	f := startFaultyFile(t, "models:\n"+w.Spec("default", "http://model", "retries: 0"), gateway.Seams{Gemini: tr, Servers: []mcpclient.Server{{
		Name: "fake", Transport: mcpclient.InProcess, InProcess: wholetest.FakeServer(t, `[{"name":"work"}]`),
		Breaker: breaker.New(breaker.Config{Service: "mcp:fake"}),
	}}})
	f.seen = sync.OnceFunc(func() { close(s.seen) })
	f.log.Await(t, "mcp_connected", nil)
	if row.then == nil {
		f.wantTurn(row.want, row.within)
	} else {
		row.then(t, f.turn("hello", row.within+time.Second))
	}
	f.wantBreaker(f.Links().All()[0].Breaker(), row.breaker)
	if n := s.consumed(); row.consumed > 0 && n > row.consumed {
		t.Errorf("%d bytes were taken from the model, want at most %d", n, row.consumed)
	}
	f.settle()
}

// startFaultyFile is startFaulty with a configuration file in place of variables.
func startFaultyFile(t *testing.T, content string, with gateway.Seams) *faulty {
	t.Helper()
	env := map[string]string{"SLUICE_CONFIG": "sluice.yaml", "SLUICE_HEARTBEAT": "0", "SLUICE_LOG_LEVEL": "debug", "TEST_KEY": wholetest.Key}
	var file settings.File
	cfg, err := settings.LoaderWith(&file).Load(nil, gatewaytest.LookupIn(env), func(name string) ([]byte, error) {
		if name != "sluice.yaml" {
			return nil, os.ErrNotExist
		}
		return []byte(content), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &faulty{t: t, log: new(gatewaytest.LogTail), seen: func() {}}
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, process.NewLogger(f.log, config.Of[settings.Logging](&cfg).Level), with)
	if err != nil {
		t.Fatal(err)
	}
	f.Gateway = g
	t.Cleanup(g.Close)
	served := testnet.Serve(t, g)
	served.MaxIdleConnsPerHost = -1 // so that nothing is left when a client leaves
	f.client.Transport = served
	return f
}
