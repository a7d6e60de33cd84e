package gemini

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/breaker"
	"sluice/breaker/breakertest"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/base/testnet"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// wantFailures checks how many failures in a row the breaker has seen.
func wantFailures(t *testing.T, m *Model, want uint32) {
	t.Helper()
	if got := m.Breaker().Snapshot().FailureCount; got != want {
		t.Errorf("breaker counts %d failures, want %d", got, want)
	}
}

// scriptedFault is a reply, given to each request, and what must come of it.
type scriptedFault struct {
	name       string
	reply      http.HandlerFunc
	text       string
	want       fault.Type
	retryAfter time.Duration
	requests   int
	failures   uint32
}

// scriptedFaults are the faults of the service that need nothing but a reply.
func scriptedFaults() []scriptedFault {
	retry1s := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"quota","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}`
	part := textChunk("part")
	return []scriptedFault{
		{"429 with RetryInfo", status(429, retry1s), "", fault.ModelRateLimited, 34070 * time.Millisecond, 1, 0},
		{"429 with a hint in the message", status(429, googleError(429, "RESOURCE_EXHAUSTED", "Please retry in 48.9s.")), "", fault.ModelRateLimited, 48900 * time.Millisecond, 1, 0},
		{"429 with Retry-After", status(429, "", "Retry-After", "7"), "", fault.ModelRateLimited, 7 * time.Second, 1, 0},
		{"429 for the day", status(429, googleError(429, "", "Please retry in 10h12m5.5s")), "", fault.ModelRateLimited, 10*time.Hour + 12*time.Minute + 5500*time.Millisecond, 1, 0},
		{"429 without a delay", status(429, ""), "", fault.ModelRateLimited, 0, 1, 0},
		{"500 with HTML", status(500, "<html>SECRET</html>"), "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
		{"503 empty", status(503, ""), "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
		{"503 that asks for patience", status(503, "", "Retry-After", "20"), "", fault.ModelUnavailable, 20 * time.Second, 1, 1},
		{"504", status(504, ""), "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
		{"501", status(501, ""), "", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"400", status(400, googleError(400, "INVALID_ARGUMENT", "no")), "", fault.ModelError, 0, 1, 0},
		{"401", status(401, ""), "", fault.ModelError, 0, 1, 0},
		{"403", status(403, googleError(403, "PERMISSION_DENIED", "no")), "", fault.ModelError, 0, 1, 0},
		{"404", status(404, googleError(404, "NOT_FOUND", "no")), "", fault.ModelError, 0, 1, 0},
		{"304", status(304, ""), "", fault.ModelError, 0, 1, 1},
		{"malformed JSON", stream(part, event(`{"candidates":[{]}`)), "part", fault.ModelUnavailable, 5 * time.Second, 1, 0},
		{"half a chunk", stream(part, `data: {"candidates":[{"conte`), "part", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"clean EOF without finish", stream(part), "part", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"200 with empty body", stream(""), "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
		{"204", status(204, ""), "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
		{"RST mid-stream", then(stream(part), reset), "part", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"RST before the first chunk", reset, "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
		{"FIN inside the body", then(stream(part), cut), "part", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"FIN after the finish reason", then(finished("all"), cut), "all", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"error event mid-stream", stream(part, event(googleError(503, "UNAVAILABLE", "high demand"))), "part", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"error event first", stream(event(googleError(503, "UNAVAILABLE", "high demand"))), "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
		{"error as a bare tail", stream(part, "{\n  \"error\": {\n    \"code\": 503,\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n"), "part", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"bare tail right behind a chunk", stream(strings.TrimRight(part, "\r\n") + "\n" + googleError(429, "", "retry in 3s")), "part", fault.ModelRateLimited, 3 * time.Second, 1, 0},
		{"error in an array", status(200, "[{\n  \"error\": {\"code\": 400, \"status\": \"INVALID_ARGUMENT\"}\n}]", "Content-Type", "application/json"), "", fault.ModelError, 0, 1, 0},
		{"array event", stream(event("[" + googleError(429, "", "") + "]")), "", fault.ModelRateLimited, 0, 1, 0},
		{"error without a code", stream(event(`{"error":{"status":"RESOURCE_EXHAUSTED"}}`)), "", fault.ModelRateLimited, 0, 1, 0},
		{"error of an odd form", stream(event(`{"error":"out of order"}`)), "", fault.ModelUnavailable, 5 * time.Second, 1, 1},
		{"200 with another JSON document", status(200, `{"hello":1}`), "", fault.ModelUnavailable, 5 * time.Second, 1, 0},
		{"200 with HTML", status(200, "<html>\n<body>hi</body>\n"), "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
		{"wrong types", stream(event(`{"candidates":"str"}`)), "", fault.ModelUnavailable, 5 * time.Second, 1, 0},
		{"prompt blocked", stream(event(`{"promptFeedback":{"blockReason":"SAFETY"}}`)), "", fault.ModelBlocked, 0, 1, 0},
		{"prompt blocked for a new reason", stream(event(`{"promptFeedback":{"blockReason":"BRAND_NEW"}}`)), "", fault.ModelBlocked, 0, 1, 0},
		{"SAFETY", stream(part, finishChunk("SAFETY")), "part", fault.ModelBlocked, 0, 1, 0},
		{"RECITATION after STOP", stream(part, finishChunk("STOP"), finishChunk("RECITATION")), "part", fault.ModelBlocked, 0, 1, 0},
		{"PROHIBITED_CONTENT", stream(finishChunk("PROHIBITED_CONTENT")), "", fault.ModelBlocked, 0, 1, 0},
		{"SPII", stream(finishChunk("SPII")), "", fault.ModelBlocked, 0, 1, 0},
		{"LANGUAGE", stream(finishChunk("LANGUAGE")), "", fault.ModelBlocked, 0, 1, 0},
		{"OTHER", stream(part, finishChunk("OTHER")), "part", fault.ModelUnavailable, 5 * time.Second, 1, 0},
		{"MISSING_THOUGHT_SIGNATURE", stream(finishChunk("MISSING_THOUGHT_SIGNATURE")), "", fault.ModelError, 0, 1, 0},
		{"STOP without anything", stream(finishChunk("STOP")), "", fault.ModelUnavailable, 5 * time.Second, 2, 0},
		{"STOP with thoughts only", stream(event(`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]},"finishReason":"STOP"}]}`)), "", fault.ModelUnavailable, 5 * time.Second, 1, 0},
		{"huge chunk", stream(part, "data: "+strings.Repeat("x", 2<<20)), "part", fault.ModelUnavailable, 5 * time.Second, 1, 0},
		{"huge chunk of many lines", stream(part, strings.Repeat("data: 0123456789abcdef\n", 1<<16)), "part", fault.ModelUnavailable, 5 * time.Second, 1, 0},
		{"huge error body", status(500, strings.Repeat("x", 1<<20)), "", fault.ModelUnavailable, 5 * time.Second, 3, 1},
	}
}

func TestFaults(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for _, tt := range scriptedFaults() {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				u := serve(t, tt.reply)
				m := open(t, Config{BaseURL: u.URL, APIKey: "SECRET"})
				got, err := ask(t.Context(), m)
				e := wantFault(t, err, tt.want)
				if d := tt.retryAfter - e.RetryAfter; d < 0 || d > 30*time.Second && tt.retryAfter <= time.Minute || d > 0 && tt.retryAfter < time.Minute {
					t.Errorf("retry after %v, want %v", e.RetryAfter, tt.retryAfter)
				}
				if got.Text != tt.text {
					t.Errorf("text = %q, want %q", got.Text, tt.text)
				}
				if n := len(u.requests()); n != tt.requests {
					t.Errorf("%d requests, want %d", n, tt.requests)
				}
				if strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), "http:") {
					t.Errorf("error text tells too much: %v", err)
				}
				wantFailures(t, m, tt.failures)
			})
		}
	})
}

func TestRefusedConnection(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		m := open(t, Config{BaseURL: "http://" + l.Addr().String(), APIKey: "SECRET"})
		_, err = ask(t.Context(), m)
		e := wantFault(t, err, fault.ModelUnavailable)
		if e.Message != "AI service temporarily unavailable" {
			t.Errorf("message = %q", e.Message)
		}
		wantFailures(t, m, 1)
	})
}

func TestDistrustedCertificate(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ErrorLog = quiet
		srv.StartTLS()
		defer srv.Close()
		m := open(t, Config{BaseURL: srv.URL})
		_, err := ask(t.Context(), m)
		wantFault(t, err, fault.ModelUnavailable)
		wantFailures(t, m, 1) // no retry helps
	})
}

func TestOneFailureIsInvisible(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for name, first := range map[string]http.HandlerFunc{
			"500": status(500, ""), "502": status(502, ""), "503": status(503, ""), "reset": reset, "empty": stream(""),
			"error event": stream(event(googleError(503, "UNAVAILABLE", ""))),
		} {
			t.Run(name, func(t *testing.T) {
				u := serve(t, first, finished("hello"))
				m := open(t, Config{BaseURL: u.URL})
				got, err := ask(t.Context(), m)
				if err != nil || got.Text != "hello" || got.Finish != chat.FinishStop {
					t.Errorf("told %+v, %v", got, err)
				}
				if diff := cmp.Diff(u.requests()[0].body, u.requests()[1].body); diff != "" {
					t.Errorf("the second request differs (-first +second):\n%s", diff)
				}
				wantFailures(t, m, 0)
			})
		}
	})
}

// TestRedirectIsNotFollowed has a sink that asserts it was sent nothing.
func TestRedirectIsNotFollowed(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for _, code := range []int{301, 302, 303, 307, 308} {
			sink := serve(t, finished("stolen"))
			u := serve(t, status(code, "", "Location", sink.URL+"/v1beta/models/x"))
			m := open(t, Config{BaseURL: u.URL, APIKey: "SECRET"})
			got, err := ask(t.Context(), m)
			wantFault(t, err, fault.ModelError)
			if n := len(sink.requests()); n != 0 || got.Text != "" {
				t.Errorf("%d: the sink got %d requests", code, n)
			}
			wantFailures(t, m, 1)
		}
	})
}

func TestMalformedCall(t *testing.T) {
	cutCall := `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]},"finishReason":"STOP"}]}`
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for name, reply := range map[string]string{
			"MALFORMED_FUNCTION_CALL": finishChunk("MALFORMED_FUNCTION_CALL"),
			"UNEXPECTED_TOOL_CALL":    finishChunk("UNEXPECTED_TOOL_CALL"),
			"TOO_MANY_TOOL_CALLS":     finishChunk("TOO_MANY_TOOL_CALLS"),
			"no name":                 event(`{"candidates":[{"content":{"parts":[{"functionCall":{}}]}}]}`),
			"no last piece":           event(cutCall),
		} {
			u := serve(t, stream(reply))
			m := open(t, Config{BaseURL: u.URL})
			_, err := ask(t.Context(), m)
			wantFault(t, err, fault.ModelError)
			var malformed interface{ MalformedCall() bool }
			if !errors.Is(err, model.ErrMalformedCall) || !errors.As(err, &malformed) || !malformed.MalformedCall() {
				t.Errorf("%s: error %v does not tell of a malformed call", name, err)
			}
			if len(u.requests()) != 1 {
				t.Errorf("%s: asked again", name)
			}
			wantFailures(t, m, 0)
		}
	})
}

func TestMaxTokens(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for _, reason := range []string{"MAX_TOKENS", "CONTINUATION"} {
			u := serve(t, stream(textChunk("part"), finishChunk(reason)))
			got, err := ask(t.Context(), open(t, Config{BaseURL: u.URL}))
			want := &collected{Text: "part", Finish: chat.FinishMaxTokens, Usage: chat.Usage{InputTokens: 3, OutputTokens: 5, ThinkingTokens: 7}}
			if diff := cmp.Diff(want, got, ignoreCounts); diff != "" || err != nil {
				t.Errorf("told (-want +got):\n%s%v", diff, err)
			}
		}
	})
}

// TestMaxTokensCutsACall: what was said of the call's arguments is not all.
func TestMaxTokensCutsACall(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, stream(event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.all","boolValue":true}],"willContinue":true}}]},"finishReason":"MAX_TOKENS"}]}`)))
		got, err := ask(t.Context(), open(t, Config{BaseURL: u.URL}))
		if err != nil || len(got.Calls) != 0 || got.Finish != chat.FinishMaxTokens {
			t.Errorf("told %+v, %v", got, err)
		}
	})
}

func TestUnknownFinishReason(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, stream(textChunk("part"), finishChunk("BRAND_NEW")))
		_, err := ask(t.Context(), open(t, Config{BaseURL: u.URL}))
		e := wantFault(t, err, fault.ModelUnavailable)
		if strings.Contains(e.Message, "BRAND_NEW") || !strings.Contains(e.Err.Error(), "BRAND_NEW") {
			t.Errorf("message %q, cause %v", e.Message, e.Err)
		}
	})
}

// TestHugeAnswer sends text without end, in chunks of a usual size.
func TestHugeAnswer(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		chunk := textChunk(strings.Repeat("x", 32<<10))
		u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, chunk); err != nil {
					return
				}
			}
		})
		m := open(t, Config{BaseURL: u.URL})
		size := 0
		err := m.Stream(t.Context(), &chat.ModelRequest{}, func(c *chat.Chunk) error {
			for _, p := range c.Parts {
				size += len(p.Text)
			}
			return nil
		})
		wantFault(t, err, fault.ModelUnavailable)
		if size > 2<<20 {
			t.Errorf("handed on %d bytes", size)
		}
		wantFailures(t, m, 0)
	})
}

func TestCommentsAndOtherFields(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, stream(
			": hello\n\nevent: message\nid: 7\nretry: 10\n"+textChunk("a"),
			"data: {\"candidates\":[{\"content\":\ndata: {\"parts\":[{\"text\":\"b\"}]}}]}\nunknown: x\n\n",
			"event: ping\n\n",
			strings.TrimRight(finishChunk("STOP"), "\r\n"), // no blank line, no line end
		))
		got, err := ask(t.Context(), open(t, Config{BaseURL: u.URL}))
		if err != nil || got.Text != "ab" || got.Finish != chat.FinishStop {
			t.Errorf("told %+v, %v", got, err)
		}
	})
}

func TestTextIsByteEqual(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		want := "a\r\nb\n\ndata: c\u2028\u2029\U0001f600é\"\\\x00\x7f"
		u := serve(t, finished(want))
		got, err := ask(t.Context(), open(t, Config{BaseURL: u.URL}))
		if diff := cmp.Diff(want, got.Text); diff != "" || err != nil {
			t.Errorf("text (-want +got):\n%s%v", diff, err)
		}
	})
}

func TestBreakerOpen(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, status(503, ""))
		m := open(t, Config{BaseURL: u.URL})
		for range 3 { // of three attempts each
			ask(t.Context(), m)
		}
		_, err := ask(t.Context(), m)
		e := wantFault(t, err, fault.ModelUnavailable)
		if n := len(u.requests()); n != 9 {
			t.Errorf("%d requests, want 9: an open breaker lets nothing through", n)
		}
		if e.RetryAfter < 50*time.Second || e.RetryAfter > time.Minute {
			t.Errorf("retry after %v, want the breaker's", e.RetryAfter)
		}
		if _, ok := errors.AsType[*breaker.OpenError](err); !ok {
			t.Errorf("cause = %v, want the breaker's", e.Err)
		}
	})
}

// TestBreakerOpensBetweenAttempts, by the calls of others: no further attempt is made, and the error
// stays.
func TestBreakerOpensBetweenAttempts(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		b := breaker.Config{Service: service, Failures: 1, Recovery: time.Hour}
		var m *Model
		u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			breakertest.Fail(t, m.Breaker())
			status(503, googleError(503, "UNAVAILABLE", "overloaded"))(w, r)
		})
		m = open(t, Config{BaseURL: u.URL, Breaker: b})
		_, err := ask(t.Context(), m)
		e := wantFault(t, err, fault.ModelUnavailable)
		if len(u.requests()) != 1 || e.RetryAfter < 59*time.Minute || !strings.Contains(err.Error(), "overloaded") {
			t.Errorf("%d requests, retry after %v, error %v", len(u.requests()), e.RetryAfter, err)
		}
	})
}

// TestClientsThatLeave do not open the breaker.
func TestClientsThatLeave(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		gone := make(chan time.Time, 1)
		u := serve(t, func(w http.ResponseWriter, r *http.Request) {
			stream(textChunk("part"))(w, r)
			<-r.Context().Done()
			gone <- time.Now()
		})
		m := open(t, Config{BaseURL: u.URL})
		var delays []time.Duration
		for range 100 {
			ctx, leave := newCancel(t)
			var left time.Time
			err := m.Stream(ctx, &chat.ModelRequest{}, func(*chat.Chunk) error {
				left = time.Now()
				leave(nil)
				return nil
			})
			if err != fault.ErrClientGone {
				t.Fatalf("error = %v, want ErrClientGone", err)
			}
			delays = append(delays, (<-gone).Sub(left))
		}
		slices.Sort(delays)
		testnet.Prompt(t, "closing half of the connections", delays[len(delays)/2], 50*time.Millisecond)
		wantFailures(t, m, 0)
	})
}

func TestYieldEndsTheCall(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, then(stream(textChunk("part")), hang))
		m := open(t, Config{BaseURL: u.URL})
		want := errors.New("enough")
		if err := m.Stream(t.Context(), &chat.ModelRequest{}, func(*chat.Chunk) error { return want }); err != want {
			t.Errorf("error = %v, want yield's own", err)
		}
		wantFailures(t, m, 0)
	})
}

// TestYieldPanics: the verdict is given all the same, or a probe would be lost.
func TestYieldPanics(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		b := breaker.Config{Service: service, Failures: 1, Recovery: time.Nanosecond, HalfOpenCalls: 1}
		u := serve(t, status(501, ""), finished("a"))
		m := open(t, Config{BaseURL: u.URL, Breaker: b})
		ask(t.Context(), m)
		func() {
			defer func() { recover() }()
			m.Stream(t.Context(), &chat.ModelRequest{}, func(*chat.Chunk) error { panic("yield") })
		}()
		if _, err := ask(t.Context(), m); err != nil {
			t.Errorf("after a panic: %v", err)
		}
	})
}

// TestConnectionIsReused after an answer that was read to its end, and after an
// error.
func TestConnectionIsReused(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		u := serve(t, finished("a"), status(429, googleError(429, "", "")), finished("b"))
		m := open(t, Config{BaseURL: u.URL})
		for range 20 {
			ask(t.Context(), m)
		}
		if n := u.conns.Load(); n != 1 || len(u.requests()) != 20 {
			t.Errorf("%d connections for %d requests, want 1", n, len(u.requests()))
		}
	})
}

func TestDeadServiceNamesNoAddress(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		m := open(t, Config{BaseURL: "http://nowhere.invalid", APIKey: "SECRET", Transport: failing{}})
		_, err := ask(t.Context(), m)
		e := wantFault(t, err, fault.ModelUnavailable)
		if strings.Contains(e.Message, "nowhere") || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("message %q, error %v", e.Message, err)
		}
	})
}

// failing is a transport that fails as net/http's client would.
type failing struct{}

func (failing) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: io.ErrUnexpectedEOF}
}

// TestHTTP2 is the way to the real API.
func TestHTTP2(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		var protos []string
		left := make(chan struct{})
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			protos = append(protos, r.Proto)
			finished("hello")(w, r)
			if len(protos) == 2 {
				<-r.Context().Done()
				close(left)
			}
		}))
		srv.EnableHTTP2 = true
		srv.StartTLS()
		defer srv.Close()
		tr := model.NewTransport(nil)
		tr.TLSClientConfig = srv.Client().Transport.(*http.Transport).TLSClientConfig
		defer tr.CloseIdleConnections()
		m := open(t, Config{BaseURL: srv.URL, Transport: tr})
		if got, err := ask(t.Context(), m); err != nil || got.Text != "hello" {
			t.Errorf("told %+v, %v", got, err)
		}
		ctx, leave := newCancel(t)
		if err := m.Stream(ctx, &chat.ModelRequest{}, func(*chat.Chunk) error { leave(nil); return nil }); err != fault.ErrClientGone {
			t.Errorf("error = %v", err)
		}
		<-left
		if diff := cmp.Diff([]string{"HTTP/2.0", "HTTP/2.0"}, protos); diff != "" {
			t.Errorf("protocols (-want +got):\n%s", diff)
		}
	})
}

// counting counts the bodies that its transport opened and that were closed.
type counting struct {
	http.RoundTripper
	opened, closed atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		c.opened.Add(1)
		resp.Body = &countedBody{resp.Body, c}
	}
	return resp, err
}

type countedBody struct {
	io.ReadCloser
	c *counting
}

func (b *countedBody) Close() error {
	b.c.closed.Add(1)
	return b.ReadCloser.Close()
}

// TestBodiesAreClosed however an attempt ends.
func TestBodiesAreClosed(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		for name, reply := range map[string]http.HandlerFunc{
			"finished": finished("a"), "cut": then(stream(textChunk("a")), cut), "no finish": stream(textChunk("a")), "unreadable": stream("data: x\n\n"),
			"refused": status(400, "no"), "down": status(503, ""), "redirect": status(302, "", "Location", "/x"), "blocked": stream(finishChunk("SAFETY")),
			"yield": then(stream(textChunk("enough")), hang),
		} {
			u := serve(t, reply)
			tr := model.NewTransport(nil)
			c := &counting{RoundTripper: tr}
			m := open(t, Config{BaseURL: u.URL, Transport: c})
			m.Stream(t.Context(), &chat.ModelRequest{}, func(c *chat.Chunk) error {
				if len(c.Parts) > 0 && c.Parts[0].Text == "enough" {
					return io.ErrShortWrite
				}
				return nil
			})
			if opened, closed := c.opened.Load(), c.closed.Load(); opened == 0 || opened != closed {
				t.Errorf("%s: %d bodies opened, %d closed", name, opened, closed)
			}
			tr.CloseIdleConnections()
		}
	})
}

// TestContextThatHasEnded makes no attempt.
func TestContextThatHasEnded(t *testing.T) {
	eachDriver(t, func(t *testing.T, open func(*testing.T, Config) *Model) {
		count := metrics.New()
		m := open(t, Config{BaseURL: "http://127.0.0.1:1", Metrics: count})
		ctx, cancel := newCancel(t)
		cancel(io.ErrClosedPipe)
		if _, err := ask(ctx, m); err != io.ErrClosedPipe {
			t.Errorf("error = %v", err)
		}
		wantOutcomes(t, count, map[string]int{})
	})
}
