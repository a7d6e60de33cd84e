package model_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/telemetry/trace"
	"sluice/internal/base/telemetry/trace/tracetest"
	"sluice/internal/model"
	"sluice/internal/model/modeltest"
)

// A call has one span, whatever it took; the service learns of it.
func TestSpansOfCalls(t *testing.T) {
	t.Parallel()
	const head = "  chat fake-1 (client) gen_ai.operation.name=chat gen_ai.request.model=fake-1"
	for name, tt := range map[string]struct {
		replies []modeltest.Reply
		want    string
	}{
		"success": {[]modeltest.Reply{whole(text("CANARY"))}, head + " gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=0 sluice.attempts=1\n"},
		"retries": {[]modeltest.Reply{{Status: http.StatusServiceUnavailable, Pieces: []string{fakeError(model.KindStatus, "CANARY")}}, whole(text("CANARY"))},
			head + " gen_ai.usage.input_tokens=7 gen_ai.usage.output_tokens=0 sluice.attempts=2\n"},
		"failure": {[]modeltest.Reply{{Status: http.StatusBadRequest, Pieces: []string{fakeError(model.KindRejected, "CANARY")}}},
			head + " sluice.attempts=1 failed: model_error\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, s := openWith(t, model.Spec{Retries: 2}, model.Options{}, tt.replies...)
				tree := new(tracetest.Tree)
				ctx, end := tree.Context(t.Context())
				modeltest.Ask(ctx, m)
				end()
				if diff := cmp.Diff("root (server)\n"+tt.want, tree.String()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				for _, req := range s.Requests() {
					if got := req.Header.Get("Traceparent"); got != "00-00000000000000000000000000000001-0000000000000002-01" {
						t.Errorf("traceparent is %q", got)
					}
				}
			})
		})
	}
}

// notes is a Recorder that keeps what a trace learns of a call beyond telemetry.
type notes struct{ lines []string }

func (n *notes) Begin(trace.Kind, string, string) trace.Recorder { return n }
func (*notes) String(string, string)                             {}
func (*notes) Int(string, int)                                   {}
func (*notes) Float(string, float64)                             {}
func (*notes) Propagate(http.Header)                             {}
func (*notes) Link(string)                                       {}
func (*notes) End(string)                                        {}
func (n *notes) First()                                          { n.lines = append(n.lines, "first") }
func (n *notes) Replied(cached, _ int, finish string) {
	n.lines = append(n.lines, fmt.Sprintf("cached %d, finish %q", cached, finish))
}

// The trace of a call has its first piece once, and how each attempt ended.
func TestFirstPieceAndEndAreNoted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replies []modeltest.Reply
		want    []string
	}{
		"success": {[]modeltest.Reply{whole(text("One, "), text("two"))}, []string{"first", `cached 0, finish "stop"`}},
		"retries": {[]modeltest.Reply{{Status: http.StatusServiceUnavailable, Pieces: []string{fakeError(model.KindStatus, "no")}}, whole(text("One"))},
			[]string{`cached 0, finish ""`, "first", `cached 0, finish "stop"`}},
		"failure": {[]modeltest.Reply{{Status: http.StatusBadRequest, Pieces: []string{fakeError(model.KindRejected, "no")}}}, []string{`cached 0, finish ""`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m, _ := openWith(t, model.Spec{Retries: 2}, model.Options{}, tt.replies...)
				seen := new(notes)
				modeltest.Ask(trace.Within(t.Context(), func(trace.Recorder) trace.Recorder { return seen }), m)
				if diff := cmp.Diff(tt.want, seen.lines); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}
