package ask

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a client at a terminal without colours, and what it has printed.
type desk struct {
	*Client
	out paper
	err gatewaytest.SafeBuffer
}

// paper is a terminal that shows no colours.
type paper struct{ gatewaytest.SafeBuffer }

func (*paper) IsTerminal() bool { return true }

// deskAt returns a client of the gateway at base that has lines for stdin.
func deskAt(base, lines string) *desk {
	d := &desk{}
	d.Client = &Client{
		Command: "sluice ask", Base: base, Simulator: "offline-demo",
		Stdin: strings.NewReader(lines), Stdout: &d.out, Stderr: &d.err, Lookup: gatewaytest.LookupIn(map[string]string{"NO_COLOR": "1"}),
	}
	return d
}

// want compares what a call left with what is wanted; out and err are parts.
func (d *desk) want(t *testing.T, name string, got, outcome Outcome, out, err string) {
	t.Helper()
	if got != outcome || !strings.Contains(d.out.String(), out) || !strings.Contains(d.err.String(), err) || (err == "") != (d.err.String() == "") {
		t.Errorf("%s: outcome %d, want %d, with %q and %q in\n%s\n%s", name, got, outcome, out, err, d.out.String(), d.err.String())
	}
}

// keyboard is a terminal at which somebody writes lines.
type keyboard struct{ io.Reader }

func (keyboard) IsTerminal() bool { return true }

// writerFunc is a terminal that looks at what is written.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (writerFunc) IsTerminal() bool { return true }

// gatewayThatSays answers every request with the same stream.
func gatewayThatSays(t *testing.T, stream string) string {
	t.Helper()
	return gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
}

// storing starts a gateway that stores turns, whose model answers with script.
func storing(t *testing.T, script string) string {
	t.Helper()
	return wholetest.Listen(t, gatewaytest.Scripted(t, script).Env("SLUICE_STORE", "memory")).Base
}
