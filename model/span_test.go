package model_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"sluice/model"
	"sluice/model/modeltest"
	"sluice/telemetry/trace/tracetest"
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
