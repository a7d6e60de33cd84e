package ask

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

// full is a gateway that refuses each turn.
func full(t *testing.T) string {
	t.Helper()
	return gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"detail":"no \u001b[31mroom"}`))
	}))
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	broken, _, _ := strings.Cut(everyFrame, "id: r:14")
	unchecked := strings.Replace(everyFrame, `"success":true`, `"success":true,"quality":{"passed":false,"outcome":"graceful_failure"}`, 1)
	for _, tt := range []struct {
		name, base, text string
		raw              bool
		outcome          Outcome
		says             string // on stderr
	}{
		{"success", gatewayThatSays(t, everyFrame), "hi", false, Succeeded, ""},
		{"no success", gatewayThatSays(t, strings.Replace(everyFrame, `"success":true`, `"success":false`, 1)), "hi", false, failed, ""},
		{"checks that did not pass", gatewayThatSays(t, unchecked), "hi", false, Unchecked, ""},
		{"cut", gatewayThatSays(t, broken), "hi", false, failed, "the stream broke before done, so the outcome is unknown"},
		{"cut, as JSON", gatewayThatSays(t, broken), "hi", true, failed, "the stream broke before done"},
		{"empty", gatewayThatSays(t, ""), "hi", false, failed, "the stream broke before done"},
		{"garbage", gatewayThatSays(t, "id: r:1\nevent: start\ndata: {\n\n"), "hi", false, failed, "event r:1"},
		{"refused", full(t), "hi", false, failed, "the gateway answered 503 Service Unavailable: no [31mroom\n"},
		{"refused without a word", gatewaytest.ServeHandler(t, http.NotFoundHandler()), "hi", false, failed, "the gateway answered 404 Not Found\n"},
		{"nobody there", "http://" + gatewaytest.UnusedAddr(t), "hi", false, failed, "Nobody listens at http://127.0.0."},
		{"no URL", "::", "hi", false, failed, "sluice ask: "},
		{"no UTF-8", full(t), "\xff", false, failed, "UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := deskAt(tt.base, "")
			d.Raw = tt.raw
			d.want(t, tt.name, d.Turn(t.Context(), Message{Text: tt.text}), tt.outcome, "", tt.says)
			if strings.ContainsFunc(d.err.String()+d.out.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
				t.Errorf("control characters in %q or %q", d.err.String(), d.out.String())
			}
		})
	}
}

// A failure is reported under the name of the command that asked.
func TestCommandIsNamed(t *testing.T) {
	t.Parallel()
	d := deskAt(full(t), "hi\n")
	d.Command = "other run"
	d.want(t, "a turn", d.Turn(t.Context(), Message{Text: "hi"}), failed, "", "other run: the gateway answered 503")
	if strings.Contains(d.err.String(), "sluice") {
		t.Errorf("got %q", d.err.String())
	}
}

// An output that cannot be written to ends the turn.
func TestOutputThatFails(t *testing.T) {
	t.Parallel()
	for _, raw := range []bool{false, true} {
		d := deskAt(gatewayThatSays(t, everyFrame), "")
		d.Raw, d.Stdout = raw, writerFunc(func([]byte) (int, error) { return 0, context.DeadlineExceeded })
		d.want(t, "a closed pipe", d.Turn(t.Context(), Message{Text: "hi"}), failed, "", context.DeadlineExceeded.Error())
	}
}

// What a turn is begun with reaches the gateway, and nothing that was not given.
func TestBodyOfATurn(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 2)
	base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		_ = r.Write(&b)
		_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
		bodies <- body
	}))
	d := deskAt(base, "")
	d.Turn(t.Context(), Message{Text: "hi"})
	d.User = "ann"
	d.Turn(t.Context(), Message{Text: "hi", Workflow: "w", Channel: "sms", Drafts: true})
	for _, want := range []string{
		`{"input":"hi","accumulated":false}`,
		`{"input":"hi","user_id":"ann","workflow":"w","accumulated":false,"channel":"sms","drafts":true}`,
	} {
		if got := <-bodies; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The simulator is not passed off as a model.
func TestSimulatorIsNamed(t *testing.T) {
	t.Parallel()
	base := wholetest.Listen(t, nil).Base
	d := deskAt(base, "")
	d.want(t, "offline", d.Turn(t.Context(), Message{Text: "Show my todos"}), Succeeded, "model offline-demo (a simulator, not Gemini)\n", "")
	d = deskAt(base, "")
	d.Simulator = ""
	d.want(t, "no simulator is known", d.Turn(t.Context(), Message{Text: "Show my todos"}), Succeeded, "model offline-demo\n", "")
}
