//go:build !nosdk

package gemini

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/model/gemini/sdk"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// The drivers must not differ in anything that a caller, an operator or the
// service can see. The tests in this file compare them with each other.

// drivers are the ways to make a Model. Each passes the same tests.
var drivers = map[string]func(Config) (*Model, error){
	"rest": NewREST,
	"sdk":  NewSDK,
}

// rawAnswer is an answer before it is put together.
type rawAnswer interface {
	nextChunk(c *rawChunk) error
	buffered() bool
	close()
}

// restAnswer is an answer without the SDK.
type restAnswer struct{ records }

func (a *restAnswer) nextChunk(c *rawChunk) error { return a.readNext(c) }
func (a *restAnswer) buffered() bool              { return a.events.Buffered() }

// sdkOver returns the source of the SDK's driver over a transport.
func sdkOver(tb testing.TB, transport http.RoundTripper) *sdkSource {
	tb.Helper()
	client, err := sdk.New(sdk.Transport{})
	if err != nil {
		tb.Fatal(err)
	}
	h, c := httpOver(tb, transport)
	return overSDK(client)(h, c, defaultModel).(*sdkSource)
}

// rawAnswers are the two ways to one.
func rawAnswers(tb testing.TB, transport http.RoundTripper) map[string]func(context.Context) (rawAnswer, error) {
	s := sdkOver(tb, transport)
	return map[string]func(context.Context) (rawAnswer, error){
		"rest": func(ctx context.Context) (rawAnswer, error) {
			a := &restAnswer{records{http: s.http, codec: s.codec, body: new(model.Body)}}
			return a, a.Open(ctx)
		},
		"sdk": func(ctx context.Context) (rawAnswer, error) {
			return s.openRaw(ctx, &chat.ModelRequest{}, new(model.Body))
		},
	}
}

// reading is what a source makes of an answer.
type reading struct {
	Chunks   []rawChunk
	Buffered []bool
	Err      string
}

func read(t *testing.T, open func(context.Context) (rawAnswer, error)) (r reading) {
	t.Helper()
	ans, err := open(t.Context())
	if err == nil {
		defer ans.close()
	}
	for c := new(rawChunk); err == nil; {
		if err = ans.nextChunk(c); err == nil {
			copied := *c
			copied.parts = append([]rawPart(nil), c.parts...)
			r.Chunks = append(r.Chunks, copied)
			r.Buffered = append(r.Buffered, ans.buffered())
		}
	}
	if _, ok := errors.AsType[*model.Defect](err); ok {
		t.Errorf("the driver failed: %v", err)
	}
	r.Err = err.Error()
	return r
}

// agreement returns a check that the drivers make the same of c, as it is then.
func agreement(tb testing.TB, c *canned) func(t *testing.T) {
	sources := rawAnswers(tb, c)
	return func(t *testing.T) {
		t.Helper()
		rest, sdk := read(t, sources["rest"]), read(t, sources["sdk"])
		if !reflect.DeepEqual(rest, sdk) { // cmp would take seconds in all
			t.Errorf("the drivers differ (-rest +sdk):\n%s", cmp.Diff(rest, sdk, cmp.AllowUnexported(rawChunk{}, rawPart{}, rawCall{}, rawArg{})))
		}
	}
}

// TestDriversAgreeOnRecordings, whole and cut.
func TestDriversAgreeOnRecordings(t *testing.T) {
	t.Parallel()
	for _, rec := range readCorpus(t) {
		t.Run(rec.name, func(t *testing.T) {
			t.Parallel()
			c := &canned{status: rec.status}
			check := agreement(t, c)
			const cuts = 16
			for i := range cuts + 1 {
				c.body = rec.wire[:len(rec.wire)*i/cuts]
				for _, c.err = range []error{nil, io.ErrUnexpectedEOF} {
					check(t)
				}
			}
		})
	}
}

// TestDriversAgreeOnOddParts: those that the SDK panics at or gives up at, and
// text that its JSON readers might see otherwise.
func TestDriversAgreeOnOddParts(t *testing.T) {
	t.Parallel()
	c := &canned{status: 200}
	check := agreement(t, c)
	for _, part := range []string{
		`{}`, `{"thoughtSignature":"s"}`, `{"text":"","thoughtSignature":"s"}`, `{"text":null}`, `{"thought":true}`,
		`{"functionResponse":{"name":"f","response":{}}}`, `{"functionResponse":{}}`, `{"fileData":{"fileUri":"x"}}`, `{"toolCall":{"a":1}}`,
		`{"inlineData":{"mimeType":"x","data":"%"}}`, `{"executableCode":{"language":"COBOL"}}`, `{"brandNew":{}}`, `{"text":"a","brandNew":{}}`,
		`{"functionCall":{}}`, `{"functionCall":null}`, `{"functionCall":{"name":""}}`, `{"functionCall":{"name":"f","args":null}}`,
		`{"functionCall":{"name":"f","args":{"a":1e999,"b":12345678901234567890,"c":-0.0}},"text":"a","inlineData":{}}`,
		`{"functionCall":{"name":"f\"\u0000\u2028","id":"i","args":{"a\u0000":"\ud83d\ude00"}},"thoughtSignature":"s"}`,
		`{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x"}],"willContinue":true}}`,
		`{"text":"\u0000\u001f\u007f\u2028\ufeff\ufffd\uffff\ud83d\ude00 <>&\\\""}`, `{"text":"],[{}"}`, `{"text":5}`, `{"text":"\ud800"}`, "{\"text\":\"\xff\"}",
		`{"text":"a","text":"b"}`, `{"text":"` + strings.Repeat(`\"`, 100_000) + `"}`,
		`{"functionCall":{"name":"f","args":{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}}`,
	} {
		for _, wire := range []string{
			event(`{"candidates":[{"content":{"parts":[` + part + `]}}]}`),
			event(`{"candidates":[{"content":{"parts":[{"text":"a"},` + part + `,` + part + `]},"index":3},{"content":{"parts":[{"text":"b"}]}}]}`),
			event(`[{"candidates":[{"content":{"parts":[` + part + `]}}]},{"candidates":[{"content":{"parts":[{"text":"c"}]}}]}]`),
		} {
			c.body = textChunk("before") + wire + textChunk("after") + finishChunk("STOP")
			check(t)
		}
	}
}

// FuzzDriversAgree on whatever the service may send.
func FuzzDriversAgree(f *testing.F) {
	f.Add(200, textChunk("a")+finishChunk("STOP"), false)
	f.Add(200, event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"s"},{"inlineData":{}}]}}]}`), true)
	f.Add(200, textChunk("a")+googleError(503, "UNAVAILABLE", "x"), false)
	f.Add(429, googleError(429, "RESOURCE_EXHAUSTED", "Please retry in 1s."), false)
	f.Add(302, "", false)
	f.Add(200, textChunk("a")+event(`{"usageMetadata":{"promptTokenCount":1e300,"candidatesTokenCount":"7","thoughtsTokenCount":[]}}`)+finishChunk("STOP"), false)
	c := new(canned)
	check := agreement(f, c)
	f.Fuzz(func(t *testing.T, status int, body string, cut bool) {
		c.status, c.body, c.err = status, body, nil
		if cut {
			c.err = io.ErrUnexpectedEOF
		}
		check(t)
	})
}

// FuzzDriversAsk the same, whatever the request holds.
func FuzzDriversAsk(f *testing.F) {
	transport := &canned{status: 200, body: textChunk("a") + finishChunk("STOP")}
	m, err := NewSDK(Config{Transport: transport})
	if err != nil {
		f.Fatal(err)
	}
	c := defaultCodec(f)
	fuzzRequests(f, func(t *testing.T, req *chat.ModelRequest) {
		if err := m.Stream(t.Context(), req, func(*chat.Chunk) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(c.Render(nil, req, nil)), transport.sent); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
	})
}

// observed is all that can be seen of a call.
type observed struct {
	Chunks   []chat.Chunk
	Err      *fault.Error // without its cause
	Cause    string
	Outcomes map[string]int
	Failures uint32
	Log      []logLine
	Requests []received
}

// observe makes a call to a service of its own. What depends on time and ports is
// made equal: chunks without content, which follow from More, the texts of
// transport errors, and the seconds of the breaker.
func observe(t *testing.T, driver func(Config) (*Model, error), reply http.HandlerFunc) (o observed) {
	u := serve(t, reply)
	count := metrics.New()
	m := open(t, driver, Config{BaseURL: u.URL, APIKey: "SECRET", Version: "1", Metrics: count})
	var log bytes.Buffer
	ctx := zerolog.New(&log).WithContext(chat.WithRequestID(t.Context(), "req_1"))
	err := m.Stream(ctx, &chat.ModelRequest{Messages: []chat.Message{user(chat.Part{Text: "hello"})}}, func(c *chat.Chunk) error {
		if len(c.Parts) > 0 || c.Finish != chat.FinishNone {
			o.Chunks = append(o.Chunks, keep(c))
		}
		return nil
	})
	if e, ok := errors.AsType[*fault.Error](err); ok {
		e.RetryAfter = e.RetryAfter.Round(10 * time.Second)
		o.Cause, e.Err, o.Err = ofTransport.ReplaceAllString(e.Err.Error(), "transport"), nil, e
	}
	o.Outcomes = outcomes(t, count)
	o.Failures = m.Breaker().Snapshot().FailureCount
	o.Log = readLog(t, ofTransport.ReplaceAllString(log.String(), "transport"))
	o.Requests = u.requests()
	return o
}

var ofTransport = regexp.MustCompile(`transport: [^"\n]*`)

// keep copies what a chunk only lends.
func keep(c *chat.Chunk) chat.Chunk {
	kept := chat.Chunk{Parts: slices.Clone(c.Parts), Finish: c.Finish}
	if c.Usage != nil {
		usage := *c.Usage
		kept.Usage = &usage
	}
	return kept
}

func TestDriversAgreeOnFaults(t *testing.T) {
	t.Parallel()
	cases := scriptedFaults()
	for name, reply := range map[string]http.HandlerFunc{
		"finished": finished("hello"), "max tokens": stream(textChunk("a"), finishChunk("MAX_TOKENS")), "malformed call": stream(finishChunk("MALFORMED_FUNCTION_CALL")),
		"call without a name": stream(event(`{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}`)), "unknown reason": stream(textChunk("a"), finishChunk("BRAND_NEW")),
		"redirect": status(307, "", "Location", "/x"), "huge answer": stream(strings.Repeat(textChunk(strings.Repeat("x", 32<<10)), 70)),
		"odd usage": stream(textChunk("a"), event(`{"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1.5,"thoughtsTokenCount":-1}}`), event(`{"usageMetadata":[]}`), finishChunk("STOP")),
		"comments":  stream(": hello\n\nevent: x\nid: 7\n"+textChunk("a"), strings.TrimSpace(finishChunk("STOP"))),
		"one":       stream(textChunk("a"), textChunk("b"), event(`{"usageMetadata":{"promptTokenCount":1}}`), finishChunk("STOP")),
	} {
		cases = append(cases, scriptedFault{name: name, reply: reply})
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(observe(t, NewREST, tt.reply), observe(t, NewSDK, tt.reply), cmp.AllowUnexported(received{})); diff != "" {
				t.Errorf("the drivers differ (-rest +sdk):\n%s", diff)
			}
		})
	}
}

// TestDriversAgreeOnTheNextRequest: what was reported of a step goes back unchanged. Parallel
// calls, of which the first is signed, come in one chunk and in several.
func TestDriversAgreeOnTheNextRequest(t *testing.T) {
	t.Parallel()
	call := func(id, args, signature string) string {
		return `{"functionCall":{"id":"` + id + `","name":"add","args":` + args + `},"thoughtSignature":"` + signature + `"}`
	}
	chunk := func(parts ...string) string {
		return event(`{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}}]}`)
	}
	thought, text := `{"text":"hm","thought":true,"thoughtSignature":"gone"}`, `{"text":"I add.","thoughtSignature":"t=="}`
	first, second := call("id1", `{ "b":1.50,"a":12345678901234567890}`, "s1=="), call("id2", `{"a":1e999}`, "")
	answers := map[string]string{
		"one chunk":      chunk(thought, text, first, second) + finishChunk("STOP"),
		"several chunks": chunk(thought) + chunk(text) + chunk(first) + chunk(second) + chunk(`{"text":"","thoughtSignature":"last"}`) + finishChunk("STOP"),
	}
	for _, rec := range readCorpus(t) {
		if strings.Contains(rec.name, "parallel") || strings.Contains(rec.name, "multitool") || strings.HasPrefix(rec.name, "call") {
			answers[rec.name] = rec.wire
		}
	}
	for name, wire := range answers {
		requests := map[string]string{}
		for driver, newDriver := range drivers {
			requests[driver] = nextRequest(t, newDriver, wire)
		}
		if diff := cmp.Diff(requests["rest"], requests["sdk"]); diff != "" {
			t.Errorf("%s: the drivers differ (-rest +sdk):\n%s", name, diff)
		}
		if rec := requests["sdk"]; strings.Contains(wire, "id1") && (!strings.Contains(rec, `"s1=="`) || !strings.Contains(rec, `"id2"`) || !strings.Contains(rec, "12345678901234567890")) {
			t.Errorf("%s: not all came back: %s", name, rec)
		}
	}
}

// nextRequest makes a call, answers the calls that are reported, and returns the body of the
// next request.
func nextRequest(t *testing.T, driver func(Config) (*Model, error), wire string) string {
	t.Helper()
	c := &canned{status: 200, body: wire}
	m := open(t, driver, Config{Transport: c, Breaker: breaker.Config{Service: service, Failures: 10, Recovery: time.Second}})
	req := &chat.ModelRequest{Messages: []chat.Message{user(chat.Part{Text: "add"})}}
	said, results := byModel(), user()
	err := m.Stream(t.Context(), req, func(c *chat.Chunk) error {
		for _, p := range c.Parts {
			said.Parts = append(said.Parts, p)
			if p.Call != nil {
				results.Parts = append(results.Parts, chat.Part{Result: &tool.Result{ID: p.Call.ID, Name: p.Call.Name, Text: "3"}})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, said, results)
	c.body = textChunk("3") + finishChunk("STOP")
	if err := m.Stream(t.Context(), req, func(*chat.Chunk) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if !jsontext.Value(c.sent).IsValid() {
		t.Fatalf("not JSON: %s", c.sent)
	}
	return c.sent
}
