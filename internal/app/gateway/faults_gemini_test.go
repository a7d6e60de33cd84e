package gateway_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/breaker"
	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/model"
	"sluice/mcpclient"
)

// geminiRow is one way in which Gemini misbehaves, and what must come of it.
type geminiRow struct {
	name    string
	env     string                     // NAME=value lines, each after a line end
	replies func(n int, w *wire) []act // to Gemini's request n
	tools   string                     // of an MCP server in this process; see fakeTool

	want    string        // the events of the first turn
	within  time.Duration // how long it may take; 0: no time at all but the pauses between attempts
	breaker string        // its state and failures after the turn
	asked   int           // requests that reached the fake

	// place puts the fake where real sockets matter. Without it the row is played in
	// memory and in fake time.
	place func(t *testing.T, s *rawServer) (baseURL string, tr http.RoundTripper)
	// then is what is looked at after the turn.
	then func(t *testing.T, f *faulty, s *rawServer)
	// memory bounds what the turn allocates; such a row is played alone.
	memory uint64
}

// retries is more than the pauses between three attempts can take: at most 250
// and 500 ms.
const retries = 750 * time.Millisecond

// TestGeminiFaults plays each way in which Gemini can fail, with each driver. Rows
// that are about sockets run over real ones, all others in fake time.
func TestGeminiFaults(t *testing.T) {
	rows := slices.Concat(geminiConnections(), geminiSilence(), geminiRefusals(), geminiBrokenStreams(),
		geminiWrongTypes(), geminiEndings(), geminiCalls(), geminiSizes(), geminiTexts(), geminiBreaker())
	for _, driver := range drivers() {
		t.Run(driver, func(t *testing.T) {
			for _, row := range rows {
				row.env = "GEMINI_DRIVER=" + driver + row.env
				t.Run(row.name, func(t *testing.T) {
					if row.memory == 0 {
						t.Parallel()
					}
					if row.place != nil {
						row.play(t)
						return
					}
					synctest.Test(t, row.play)
				})
			}
		})
	}
}

// drivers returns the drivers that this build has.
func drivers() []string {
	_, err := settings.Loader().Load(nil, gatewaytest.LookupIn(map[string]string{"GEMINI_DRIVER": "sdk"}), os.ReadFile)
	if err != nil {
		return []string{"rest"}
	}
	return []string{"rest", "sdk"}
}

func (row geminiRow) play(t *testing.T) {
	s := newRawServer(t, row.replies)
	with := gateway.Seams{Servers: []mcpclient.Server{{
		Name: "fake", Transport: mcpclient.InProcess, InProcess: wholetest.FakeServer(t, row.tools),
		Breaker: breaker.New(breaker.Config{Service: "mcp:fake"}),
	}}}
	if row.place != nil {
		var base string
		base, with.Gemini = row.place(t, s)
		row.env += "\nGEMINI_BASE_URL=" + base
	} else {
		tr := model.NewTransport(nil)
		tr.DialContext = s.dial
		t.Cleanup(tr.CloseIdleConnections)
		with.Gemini = tr
	}
	f := startFaulty(t, row.env, with)
	f.seen = sync.OnceFunc(func() { close(s.seen) })
	f.log.Await(t, "mcp_connected", nil)
	f.memory = row.memory
	f.wantTurn(row.want, row.within+retries)
	f.memory = 0
	f.wantBreaker(f.Links().All()[0].Breaker(), row.breaker)
	if n := s.asked(); n != row.asked {
		t.Errorf("%d requests reached Gemini, want %d", n, row.asked)
	}
	if row.then != nil {
		row.then(t, f, s)
	}
	f.settle()
}

// always gives each request the same reply, inTurn each the next one, and the last
// one to all that follow.
func always(acts ...act) func(int, *wire) []act { return inTurn(acts) }

func inTurn(replies ...[]act) func(int, *wire) []act {
	return func(n int, _ *wire) []act { return replies[min(n, len(replies)-1)] }
}

// begun is the beginning of a stream with these chunks, answer a whole one.
func begun(chunks ...act) []act {
	return append([]act{head(200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked")}, chunks...)
}

func answer(chunks ...act) []act { return append(begun(chunks...), endOfBody) }

// chunk sends one event, text, call and finish one with a part or a reason.
func chunk(data string) act { return piece("data: " + data + "\r\n\r\n") }

func parts(list string) act {
	return chunk(`{"candidates":[{"content":{"role":"model","parts":[` + list + `]},"index":0}]}`)
}

func text(s string) act {
	quoted, _ := json.Marshal(s)
	return parts(`{"text":` + string(quoted) + `}`)
}

func call(name, args string) act {
	return parts(`{"functionCall":{"name":"` + name + `","args":` + args + `},"thoughtSignature":"c2ln"}`)
}

func finish(reason string) act {
	return chunk(`{"candidates":[{"finishReason":"` + reason + `","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`)
}

var fine = answer(text("fine"), finish("STOP"))

// Ends of a turn that many rows share. A failed call counts once, whatever its attempts, and leaves
// the breaker closed; an open one reports its time.
const (
	goodTurn    = "start delta(fine) done(stop)"
	openTurn    = "start error(model_unavailable,fatal,recoverable,retry 60s) done(error)"
	brokenTurn  = "start delta(Hel) error(model_unavailable,fatal,recoverable,retry 5s) done(error)"
	failedTurn  = "start error(model_unavailable,fatal,recoverable,retry 5s) done(error)"
	timeoutTurn = "start error(timeout,fatal,recoverable) done(timeout)"
	refusedTurn = "start error(model_error,fatal) done(error)"
)

const page = "<html><body>UPSTREAM 500 at /var/lib/gfe</body></html>"

// moment is how long anything that happens at once may take over real sockets, on
// a machine that has much else to do.
const moment = 5 * time.Second

func geminiConnections() []geminiRow {
	return []geminiRow{
		{name: "G01_refuses_connection", want: failedTurn, within: moment, breaker: "closed 1",
			place: func(t *testing.T, _ *rawServer) (string, http.RoundTripper) {
				return "http://" + gatewaytest.UnusedAddr(t), nil
			}},
		{name: "G02_dns_failure", want: failedTurn, within: moment, breaker: "closed 1", place: noSuchHost},
		{name: "G03_self_signed_certificate", want: failedTurn, within: moment, breaker: "closed 1", place: selfSigned},
		{name: "G17_redirect_to_another_host", want: refusedTurn, within: moment, breaker: "closed 1", asked: 1, place: redirect(307)},
		{name: "G17_redirect_as_get", want: refusedTurn, within: moment, breaker: "closed 1", asked: 1, place: redirect(302)},
		{name: "G22_reset_in_the_stream", want: brokenTurn, within: moment, breaker: "closed 1", asked: 1,
			replies: always(begun(text("Hel"), whenSeen, reset)...),
			place:   func(t *testing.T, s *rawServer) (string, http.RoundTripper) { return s.listen(t), nil }},
		{name: "G22_reset_before_the_stream", want: failedTurn, within: moment, breaker: "closed 1", asked: 3,
			replies: always(reset),
			place:   func(t *testing.T, s *rawServer) (string, http.RoundTripper) { return s.listen(t), nil }},
	}
}

// noSuchHost has the transport ask a name server that knows no names.
func noSuchHost(t *testing.T, _ *rawServer) (string, http.RoundTripper) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe() // no packets, so both speak DNS over TCP
		go func() {
			defer server.Close()
			_ = knowNoName(server)
		}()
		return client, nil
	}}
	tr := model.NewTransport(nil)
	tr.DialContext = (&net.Dialer{Resolver: resolver}).DialContext
	t.Cleanup(tr.CloseIdleConnections)
	return "http://gemini.invalid", tr
}

// knowNoName answers one query with NXDOMAIN (RFC 1035, section 4.1.1).
func knowNoName(c net.Conn) error {
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return err
	}
	message := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, message); err != nil {
		return err
	}
	message[2], message[3] = message[2]|0x80, 0x83 // a response; recursion available, RCODE 3
	_, err := c.Write(append(size[:], message...))
	return err
}

func selfSigned(t *testing.T, _ *rawServer) (string, http.RoundTripper) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a server without a valid certificate was asked")
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, nil
}

// redirect leads to another server, which must never be asked: the key would be in
// the request.
func redirect(status int) func(*testing.T, *rawServer) (string, http.RoundTripper) {
	return func(t *testing.T, s *rawServer) (string, http.RoundTripper) {
		sink := newRawServer(t, always(fine...))
		t.Cleanup(func() {
			for _, w := range sink.requests {
				t.Errorf("the redirect was followed, with the key %q", w.req.Header.Get("X-Goog-Api-Key"))
			}
		})
		s.answer = always(whole(status, "", "Location: "+sink.listen(t)+"/"))
		return s.listen(t), nil
	}
}

func geminiSilence() []geminiRow {
	dribble := strings.Split(`data: {"candidates":[{"content":{"parts":[{"text":"never`, "")
	bytewise := []act{head(200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked")}
	for _, b := range dribble {
		bytewise = append(bytewise, piece(b), pause(time.Second))
	}
	slowly := begun()
	for range 10 {
		slowly = append(slowly, pause(9*time.Second), text("x"))
	}
	return []geminiRow{
		{name: "G04_hangs_before_headers", replies: always(hang), want: timeoutTurn, within: 15 * time.Second, breaker: "closed 1", asked: 1},
		{name: "G04_hangs_in_the_headers", replies: always(say("HTTP/1.1 200 OK\r\nContent-Type: te"), hang), want: timeoutTurn, within: 15 * time.Second, breaker: "closed 1", asked: 1},
		{name: "G04_hangs_after_headers", replies: always(begun(hang)...), want: timeoutTurn, within: 15 * time.Second, breaker: "closed 1", asked: 1},
		{name: "G05_hangs_in_the_stream", replies: always(begun(pause(10*time.Second), text("Hel"), hang)...),
			want: "start delta(Hel) error(timeout,fatal,recoverable) done(timeout)", within: 25 * time.Second, breaker: "closed 1", asked: 1},
		{name: "G06_dribbles_one_byte_a_second", replies: always(bytewise...), want: timeoutTurn, within: 15 * time.Second, breaker: "closed 1", asked: 1},
		{name: "G06_dribbles_chunks_beyond_the_turn", replies: always(slowly...),
			want: "start delta(xxx) error(timeout,fatal,recoverable) done(timeout)", within: 30 * time.Second, breaker: "closed 0", asked: 1},
		{name: "G06_headers_dribble", replies: always(append([]act{say("HTTP/1.1 200 OK\r\n")}, slices.Repeat([]act{say("X: y\r\n"), pause(time.Second)}, 40)...)...),
			want: timeoutTurn, within: 15 * time.Second, breaker: "closed 1", asked: 1},
	}
}

func apiError(status int, name string, details ...string) act {
	return whole(status, fmt.Sprintf(`{"error":{"code":%d,"message":"UPSTREAM says no","status":"%s","details":[%s]}}`,
		status, name, strings.Join(details, ",")), "Content-Type: application/json")
}

func retryInfo(delay string) string {
	return `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}`
}

func geminiRefusals() []geminiRow {
	limited := func(retry string) string {
		return "start error(model_rate_limited,fatal,recoverable" + retry + ") done(error)"
	}
	rows := []geminiRow{
		{name: "G07_429_with_retry_info", replies: always(apiError(429, "RESOURCE_EXHAUSTED", retryInfo("34.07s"))),
			want: limited(",retry 35s"), breaker: "closed 0", asked: 1},
		{name: "G08_429_with_header_only", replies: always(whole(429, "", "Retry-After: 7")), want: limited(",retry 7s"), breaker: "closed 0", asked: 1},
		{name: "G08_429_says_nothing", replies: always(whole(429, "")), want: limited(""), breaker: "closed 0", asked: 1},
		{name: "G09_429_daily_quota", replies: always(apiError(429, "RESOURCE_EXHAUSTED", retryInfo("3600s"))),
			want: limited(",retry 3600s"), breaker: "closed 0", asked: 1},
		{name: "G10_500_once", replies: inTurn([]act{apiError(500, "INTERNAL")}, fine), want: goodTurn, breaker: "closed 0", asked: 2},
		{name: "G11_500_html_steadily", replies: always(whole(500, page, "Content-Type: text/html")), want: failedTurn, breaker: "closed 1", asked: 3},
		{name: "G12_503_empty", replies: always(whole(503, "")), want: failedTurn, breaker: "closed 1", asked: 3},
		{name: "G13_504", replies: always(apiError(504, "DEADLINE_EXCEEDED")), want: failedTurn, breaker: "closed 1", asked: 3},
		{name: "G14_400_invalid_argument", replies: always(apiError(400, "INVALID_ARGUMENT"))},
		{name: "G15_400_key_invalid", replies: always(apiError(400, "INVALID_ARGUMENT", `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}`))},
		{name: "G15_401_key", replies: always(apiError(401, "UNAUTHENTICATED"))},
		{name: "G15_403_key", replies: always(apiError(403, "PERMISSION_DENIED"))},
		{name: "G15_403_repeats_the_key", replies: always(whole(403, `{"error":{"code":403,"message":"UPSTREAM `+wholetest.Key+`"}}`))},
		{name: "G16_404_model_gone", replies: always(apiError(404, "NOT_FOUND"))},
	}
	for i := range rows {
		if rows[i].want == "" { // ours to mend: nothing that counts, nothing to try again
			rows[i].want, rows[i].breaker, rows[i].asked = refusedTurn, "closed 0", 1
		}
	}
	return rows
}

func geminiBrokenStreams() []geminiRow {
	half := piece(`data: {"candidates":[{"content":{"parts":[{"text":"UPSTR`)
	unavailable := `{"error":{"code":503,"message":"UPSTREAM is overloaded","status":"UNAVAILABLE"}}`
	rows := []geminiRow{
		{name: "G18_malformed_json_chunk", replies: always(answer(text("Hel"), chunk(`{"candidates":[{]}UPSTREAM`), text("lo"), finish("STOP"))...), breaker: "closed 0", asked: 1},
		{name: "G18_malformed_first_chunk", replies: always(answer(chunk(`{"UPSTREAM`))...), want: failedTurn, breaker: "closed 0", asked: 1},
		{name: "G19_half_a_chunk_then_eof", replies: always(answer(text("Hel"), half)...)},
		{name: "G20_no_finish_reason", replies: always(answer(text("Hel"))...)},
		{name: "G20_no_finish_reason_after_a_call", replies: always(answer(call("work", "{}"))...), want: failedTurn, tools: `[{"name":"work"}]`},
		{name: "G21_200_with_empty_body", replies: always(whole(200, "", "Content-Type: text/event-stream")), want: failedTurn, breaker: "closed 1", asked: 3},
		{name: "G21_204", replies: always(head(204)), want: failedTurn, breaker: "closed 1", asked: 3},
		{name: "G21_html", replies: always(whole(200, page, "Content-Type: text/html")), want: failedTurn, breaker: "closed 1", asked: 3},
		{name: "G23_fin_in_chunked_body", replies: always(begun(text("Hel"), say("40\r\ndata: {\"cand"), hangUp)...)},
		{name: "G23_fin_between_chunks", replies: always(begun(text("Hel"), hangUp)...)},
		{name: "G23_fin_in_headers", replies: always(say("HTTP/1.1 200 OK\r\nContent-T"), hangUp), want: failedTurn, breaker: "closed 1", asked: 3},
		{name: "G23_no_http", replies: always(say("220 ESMTP\r\n"), hangUp), want: failedTurn, breaker: "closed 1", asked: 3},
		{name: "G24_error_object_in_the_stream", replies: always(answer(text("Hel"), chunk(unavailable))...)},
		{name: "G24_bare_error_object_in_the_stream", replies: always(answer(text("Hel"), piece(unavailable))...)},
		{name: "G24_error_object_first", replies: inTurn(answer(chunk(unavailable)), fine), want: goodTurn, breaker: "closed 0", asked: 2},
	}
	return failsOnce(rows)
}

// failsOnce fills in what rows share that break off after "Hel".
func failsOnce(rows []geminiRow) []geminiRow {
	for i := range rows {
		if rows[i].want == "" {
			rows[i].want = brokenTurn
		}
		if rows[i].breaker == "" {
			rows[i].breaker, rows[i].asked = "closed 1", 1
		}
	}
	return rows
}

// geminiWrongTypes has, for each member that is read, a value of another type.
func geminiWrongTypes() (rows []geminiRow) {
	for _, w := range []struct{ name, data string }{
		{"candidates", `{"candidates":"str"}`},
		{"candidate", `{"candidates":["str"]}`},
		{"content", `{"candidates":[{"content":7}]}`},
		{"parts", `{"candidates":[{"content":{"parts":{}}}]}`},
		{"part", `{"candidates":[{"content":{"parts":[[]]}}]}`},
		{"text", `{"candidates":[{"content":{"parts":[{"text":42}]}}]}`},
		{"call", `{"candidates":[{"content":{"parts":[{"functionCall":"str"}]}}]}`},
		{"arguments", `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"work","args":[1]}}]}}]}`},
		{"finish", `{"candidates":[{"finishReason":{}}]}`},
		{"feedback", `{"promptFeedback":[]}`},
		{"chunk", `"str"`},
		{"number", `42`},
	} {
		rows = append(rows, geminiRow{
			name: "G25_wrong_type_" + w.name, replies: oneIn(answer(text("Hel"), chunk(w.data), finish("STOP"))),
			want: brokenTurn, breaker: "closed 0", asked: 1, then: othersUnharmed,
		})
	}
	return append(rows, geminiRow{ // figures that cannot be read cost nobody an answer
		name: "G25_wrong_type_usage", replies: oneIn(answer(text("Hel"), chunk(`{"usageMetadata":"str"}`), finish("STOP"))),
		want: "start delta(Hel) done(stop)", breaker: "closed 0", asked: 1, then: othersUnharmed,
	})
}

// oneIn gives the first request a reply, and all others a good one.
func oneIn(bad []act) func(int, *wire) []act { return inTurn(bad, fine) }

// othersUnharmed runs turns at the same time after a bad one.
func othersUnharmed(_ *testing.T, f *faulty, _ *rawServer) {
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { f.wantTurn(goodTurn, 0) })
	}
	wg.Wait()
	f.wantBreaker(f.Links().All()[0].Breaker(), "closed 0")
}

func geminiEndings() []geminiRow {
	blocked := "start error(model_blocked,fatal) done(error)"
	rows := []geminiRow{
		{name: "G26_prompt_blocked", replies: always(answer(chunk(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`))...),
			want: blocked, breaker: "closed 0", asked: 1},
		{name: "G28_malformed_call_twice", replies: always(answer(finish("MALFORMED_FUNCTION_CALL"))...), want: refusedTurn, breaker: "closed 0", asked: 2},
		{name: "G28_malformed_call_once", replies: inTurn(answer(finish("MALFORMED_FUNCTION_CALL")), fine), want: goodTurn, breaker: "closed 0", asked: 2},
		{name: "G29_max_tokens", replies: always(answer(text("Hel"), finish("MAX_TOKENS"))...),
			want: "start delta(Hel) done(max_tokens)", breaker: "closed 0", asked: 1},
		{name: "G30_unknown_finish_reason", replies: always(answer(text("Hel"), finish("BRAND_NEW"))...), want: brokenTurn, breaker: "closed 0", asked: 1,
			then: func(t *testing.T, f *faulty, _ *rawServer) {
				f.log.Await(t, "gemini_api_result", nil, "finish_reason", "BRAND_NEW")
			}},
	}
	for _, reason := range []string{"SAFETY", "RECITATION", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST", "LANGUAGE"} {
		rows = append(rows, geminiRow{name: "G27_finish_" + strings.ToLower(reason), replies: always(answer(text("Hel"), finish(reason))...),
			want: "start delta(Hel) error(model_blocked,fatal) done(error)", breaker: "closed 0", asked: 1})
	}
	return rows
}

const addTool = `[{"name":"add","schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"result":"added {n}"}]`

func geminiCalls() []geminiRow {
	toolFailed := "error(tool_execution_failed,recoverable) "
	ran := "tool(add,in_progress) tool(add,completed) "
	refused := "tool(add,in_progress) tool(add,failed) " + toolFailed
	return []geminiRow{
		{name: "G31_unknown_tool", tools: addTool, replies: inTurn(answer(call("sub", "{}"), finish("STOP")), fine),
			want: "start tool(sub,in_progress) tool(sub,failed) " + toolFailed + "delta(fine) done(stop)", breaker: "closed 0", asked: 2,
			then: sentToModel(`There is no tool \"sub\". Available: add.`)},
		{name: "G32_invalid_arguments", tools: addTool, replies: inTurn(answer(call("add", `{"n":"one"}`), finish("STOP")), fine),
			want: "start " + refused + "delta(fine) done(stop)", breaker: "closed 0", asked: 2,
			then: sentToModel("Invalid arguments for add: /n: got string, want integer")},
		{name: "G33_endless_tool_loop", tools: addTool, replies: func(n int, _ *wire) []act {
			return answer(call("add", fmt.Sprintf(`{"n":%d}`, n)), finish("STOP"))
		}, want: "start " + strings.Repeat(ran, 7) + "done(max_steps)", breaker: "closed 0", asked: 8},
		{name: "G34_same_call_repeated", tools: addTool, replies: always(answer(call("add", `{"n":1}`), finish("STOP"))...),
			want: "start " + strings.Repeat(ran, 2) + strings.Repeat(refused, 5) + "done(max_steps)", breaker: "closed 0", asked: 8},
		{name: "G35_fifty_calls_in_one_step", tools: addTool, replies: inTurn(answer(fiftyCalls(), finish("STOP")), fine),
			want: "start " + strings.Repeat("tool(add,in_progress) ", 50) + strings.Repeat("tool(add,failed) "+toolFailed, 42) +
				strings.Repeat("tool(add,completed) ", 8) + "delta(fine) done(stop)", breaker: "closed 0", asked: 2,
			then: sentToModel("Not executed: at most 8 calls run in one step")},
	}
}

func fiftyCalls() act {
	var list []string
	for n := range 50 {
		list = append(list, fmt.Sprintf(`{"functionCall":{"name":"add","args":{"n":%d}}}`, n))
	}
	return parts(strings.Join(list, ","))
}

// sentToModel checks what the last request to Gemini holds.
func sentToModel(want string) func(*testing.T, *faulty, *rawServer) {
	return func(t *testing.T, _ *faulty, s *rawServer) {
		if last := s.requests[len(s.requests)-1]; !bytes.Contains(last.body, []byte(want)) {
			t.Errorf("the model was not told %s:\n%s", want, last.body)
		}
	}
}

func geminiSizes() []geminiRow {
	const huge = 64 << 20
	open := `data: {"candidates":[{"content":{"parts":[{"text":"`
	event := open + strings.Repeat("a", 64<<10) + "\"}]}}]}\r\n\r\n"
	stream := head(200, "Content-Type: text/event-stream", "Connection: close")
	rows := []geminiRow{
		{name: "G36_huge_chunk", replies: always(stream, say(open), flood("a", huge)), want: failedTurn, breaker: "closed 0", asked: 1, then: called(1<<20, 1<<20+128<<10)},
		{name: "G36_huge_line_of_no_field", replies: always(stream, flood("a", huge)), want: failedTurn, breaker: "closed 0", asked: 1, then: called(1<<20, 1<<20+128<<10)},
		{name: "G36_huge_event_of_many_lines", replies: always(stream, flood("data: aaaaaaaa\n", huge)), want: failedTurn, breaker: "closed 0", asked: 1, then: called(1<<20, 3<<20)},
		{name: "G36_huge_answer", replies: always(stream, flood(event, huge)),
			want: "start delta(2097152 bytes) error(model_unavailable,fatal,recoverable,retry 5s) done(error)", breaker: "closed 0", asked: 1, then: called(2<<20, 2<<20+128<<10)},
		{name: "G37_huge_error_body", replies: always(head(500, "Content-Type: text/html", "Connection: close"), flood("UPSTREAM", huge)),
			want: failedTurn, breaker: "closed 1", asked: 3, then: called(0, 3*128<<10)},
		{name: "G37_huge_headers", replies: always(say("HTTP/1.1 200 OK\r\n"), flood("X-Filler: aaaaaaaaaaaaaaaaaaaaa\r\n", huge)),
			want: failedTurn, breaker: "closed 1", asked: 3, then: called(0, 3*128<<10)},
	}
	limit := uint64(huge) // the fake and the client of the test included; reading it all takes a multiple
	if raceEnabled {
		limit += huge / 4 // the detector makes pools lose a part of what they hold
	}
	for i := range rows {
		rows[i].memory = limit
	}
	return failsOnce(rows)
}

// called checks how many bytes were read of the fake.
func called(atLeast, atMost int) func(*testing.T, *faulty, *rawServer) {
	return func(t *testing.T, _ *faulty, s *rawServer) {
		if n := s.consumed(); n < atLeast || n > atMost {
			t.Errorf("%d KiB were read, want %d to %d", n>>10, atLeast>>10, atMost>>10)
		}
	}
}

func geminiTexts() []geminiRow {
	const odd = "a\r\nb\rc\u2028d\u2029 data: e\n\nevent: done\n\x7f\u0085"
	return []geminiRow{
		{name: "G38_comments_and_foreign_fields", replies: always(answer(piece(": hello\r\n\r\nevent: x\r\nid: 7\r\nretry: 1\r\n"), text("fi"),
			piece(":\n\n"), piece("nonsense\n\n"), text("ne"), finish("STOP"))...), want: goodTurn, breaker: "closed 0", asked: 1},
		{name: "G39_line_ends_in_text", replies: always(answer(text(odd), finish("STOP"))...),
			want: "start delta(" + odd + ") done(stop)", breaker: "closed 0", asked: 1},
		{name: "G39_a_rune_split_over_writes", replies: always(append(begun(), piece("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xe2\x82"),
			pause(time.Millisecond), piece("\xac\"}]},\"finishReason\":\"STOP\"}]}\n\n"), endOfBody)...),
			want: "start delta(€) done(stop)", breaker: "closed 0", asked: 1},
	}
}

func geminiBreaker() []geminiRow {
	const opensAtOnce = "\nSLUICE_GEMINI_BREAKER=1,60s,3"
	return []geminiRow{
		{name: "G40_breaker_open", replies: always(whole(503, "")), env: opensAtOnce, want: openTurn, breaker: "open 1", asked: 3,
			then: func(t *testing.T, f *faulty, s *rawServer) {
				began := time.Now()
				f.wantTurn(openTurn, 0)
				if elapsed := time.Since(began); elapsed > 0 || s.asked() != 3 { // fake time
					t.Errorf("the turn took %v, and Gemini was asked %d times", elapsed, s.asked()-3)
				}
				time.Sleep(20 * time.Second)
				f.wantTurn(strings.Replace(openTurn, "60s", "40s", 1), 0)
			}},
		{name: "G41_recovery", replies: inTurn([]act{whole(503, "")}, []act{whole(503, "")}, []act{whole(503, "")}, fine),
			env: opensAtOnce, want: openTurn, breaker: "open 1", asked: 3, then: recovers},
		{name: "G41_no_recovery", replies: always(whole(503, "")), env: opensAtOnce, want: openTurn, breaker: "open 1", asked: 3,
			then: func(t *testing.T, f *faulty, s *rawServer) {
				time.Sleep(61 * time.Second)
				f.wantTurn(openTurn, retries)
				f.wantBreaker(f.Links().All()[0].Breaker(), "open 2")
				if s.asked() != 6 {
					t.Errorf("Gemini was asked %d times by a probe", s.asked()-3)
				}
			}},
		{name: "G41_hung_probes_do_not_wedge", replies: inTurn([]act{whole(503, "")}, []act{whole(503, "")}, []act{whole(503, "")}, []act{hang}, fine),
			env: opensAtOnce, want: openTurn, breaker: "open 1", asked: 3, then: func(t *testing.T, f *faulty, s *rawServer) {
				time.Sleep(61 * time.Second)
				f.wantTurn(timeoutTurn, 15*time.Second)
				recovers(t, f, s)
			}},
		{name: "G42_a_hundred_clients_leave", replies: inTurn(fine, []act{hang}), want: goodTurn, breaker: "closed 0", asked: 1,
			then: clientsLeave},
	}
}

// recovers lets the recovery time pass; three good turns then close the breaker.
func recovers(t *testing.T, f *faulty, _ *rawServer) {
	time.Sleep(61 * time.Second)
	for _, want := range []string{"half-open 0", "half-open 0", "closed 0"} {
		f.wantTurn(goodTurn, 0)
		f.wantBreaker(f.Links().All()[0].Breaker(), want)
	}
	var states []string
	for _, line := range f.log.All("circuit_breaker_state_change", "service", "gemini") {
		states = append(states, line.Detail("new_state"))
	}
	if want := []string{"open", "half-open", "closed"}; !slices.Equal(states[len(states)-3:], want) {
		t.Errorf("the log tells of the states %q, want %q at the end", states, want)
	}
}

// clientsLeave has a hundred clients leave while Gemini is silent: nobody's fault.
func clientsLeave(t *testing.T, f *faulty, s *rawServer) {
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var began atomic.Int64
	for range 100 {
		wg.Go(func() {
			resp, err := f.client.Do(f.request(ctx, "hello"))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			began.Add(1)
			_, _ = io.Copy(io.Discard, resp.Body)
		})
	}
	synctest.Wait()
	if began.Load() != 100 || s.asked() != 101 {
		t.Errorf("%d turns began, and Gemini was asked %d times", began.Load(), s.asked())
	}
	leave()
	wg.Wait()
	synctest.Wait()
	f.wantBreaker(f.Links().All()[0].Breaker(), "closed 0")
}
