package gemini

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/model"
)

// readEvents returns the data of all events in body, and how the stream ended.
func readEvents(t *testing.T, body string) (data []string, err error) {
	t.Helper()
	h, _ := httpOver(t, &canned{status: 200, body: body})
	events, err := h.Send(t.Context(), new(model.Body))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	for {
		_, b, err := events.Next()
		if err != nil {
			return data, err
		}
		data = append(data, string(b))
	}
}

func TestBareErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		events   int
		want     string // of the error's text
	}{
		{"alone", "{\n \"error\": {\n  \"code\": 503,\n  \"status\": \"UNAVAILABLE\", \"message\": \"high demand\"}}", 0, "upstream answered 503 UNAVAILABLE: high demand"},
		{"indented", "  {\"error\":{\"code\":400}}", 0, "upstream answered 400"},
		{"behind an event", "data: {}\n\n{\"error\":{\"code\":500}}\n", 1, "upstream answered 500"},
		{"behind an open event", "data: {}\n{\"error\":{\"code\":500}}\n", 1, "upstream answered 500"},
		{"in an array", "[{\n\"error\":{\"code\":500}}\n]", 0, "upstream answered 500"},
		{"behind chunks in an array", "[{\"candidates\":[]}\n,\r\n{\"error\":{\"code\":500}}]", 0, "upstream answered 500"},
		{"the rest of an array", "data: {}\n\n,{\"error\":{\"code\":500}}]", 1, "upstream answered 500"},
		{"null", "{\"error\":null}", 0, "upstream answered 0"},
		{"no error", "{\"a\":1}", 0, model.ErrUnreadable.Error()},
		{"cut", "{\"error\":{\"code\":5", 0, model.ErrUnreadable.Error()},
		{"huge", "{\"a\":\"" + strings.Repeat("x", 1<<17) + "\",\"error\":{}}", 0, model.ErrTooLarge.Error()},
		{"many lines", "{\n" + strings.Repeat("\"a\":1,\n", 1<<17) + "\"error\":{}}", 0, model.ErrUnreadable.Error()},
	}
	for _, tt := range tests {
		got, err := readEvents(t, tt.in)
		if err.Error() != tt.want || len(got) != tt.events {
			t.Errorf("%s: %d events, %v, want %d, %s", tt.name, len(got), err, tt.events, tt.want)
		}
	}
}

func TestParseError(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"plain", `{"code":503,"message":"busy","status":"UNAVAILABLE"}`, "upstream answered 503 UNAVAILABLE: busy"},
		{"reason", `{"code":400,"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}`, "upstream answered 400 INVALID_ARGUMENT API_KEY_INVALID"},
		{"status only", `{"status":"NOT_FOUND"}`, "upstream answered 404 NOT_FOUND"},
		{"odd types", `{"code":"x","message":{},"status":7,"details":{"a":1}}`, "upstream answered 0"},
		{"odd details", `{"code":500,"details":[1,null,{"@type":7,"reason":7}]}`, "upstream answered 500"},
		{"odd status", `{"code":500,"status":"model said: hello"}`, "upstream answered 500"},
		{"Google's key", `{"code":400,"message":"key AIzaSyA-b_c1234567890 is bad"}`, "upstream answered 400: key [redacted] is bad"},
		{"announced key", `{"code":400,"message":"Invalid API key: key1234, api_key=abcdef&x token:\"tok12345\" Bearer ya29.abc"}`,
			`upstream answered 400: Invalid API key: [redacted], api_key=[redacted] token:"[redacted]" Bearer [redacted]`},
		{"long word", `{"code":400,"message":"for 0123456789abcdefABCDEF0123456789abcdef of generate_content_free_tier_requests_x"}`, "upstream answered 400: for [redacted] of generate_content_free_tier_requests_x"},
		{"no key", `{"code":400,"message":"API key not valid. Please pass a valid API key."}`, "upstream answered 400: API key not valid. Please pass a valid API key."},
		{"long", `{"code":400,"message":"` + strings.Repeat("é ", 500) + `"}`, "upstream answered 400: " + strings.Repeat("é ", 66) + "é…"},
	}
	for _, tt := range tests {
		if got := parseError([]byte(tt.in)).Error(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	info := func(d string) string {
		return `{"code":429,"message":"Please retry in 9s.","details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + d + `"}]}`
	}
	for in, want := range map[string]time.Duration{
		info("27s"): 27 * time.Second, info("34.074824224s"): 34074824224 * time.Nanosecond, info("x"): 9 * time.Second, info("-5s"): 9 * time.Second,
		info("999999h"): 24 * time.Hour, `{"message":"Please retry in 48.9s."}`: 48900 * time.Millisecond,
		`{"message":"Please retry in 345.5ms."}`: 345500 * time.Microsecond, `{"message":"retry in a while"}`: 0, `{"message":"retry in s"}`: 0,
		`{"message":"retry in 99999999999999999999s"}`: 0,
	} {
		if got := parseError([]byte(in)).RetryAfter; got != want {
			t.Errorf("%s: %v, want %v", in, got, want)
		}
	}
}

func FuzzParseError(f *testing.F) {
	f.Add(`{"code":429,"message":"retry in 3s","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}`)
	f.Add(`[{"error":{"code":"x"}}]`)
	f.Fuzz(func(t *testing.T, in string) {
		findError([]byte(in))
		e := parseError([]byte(in))
		if e.RetryAfter < 0 || e.RetryAfter > 24*time.Hour {
			t.Errorf("retry after %v", e.RetryAfter)
		}
		if len(e.Error()) > 400 {
			t.Errorf("text of %d bytes", len(e.Error()))
		}
	})
}
