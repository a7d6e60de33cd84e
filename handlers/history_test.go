package handlers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/handlers"
)

// Of a history that was too long the reply and the log say how much is left; of one
// that was not they say nothing.
func TestPrunedHistoryIsReported(t *testing.T) {
	t.Parallel()
	exchange := `{"role":"user","content":"question"},{"role":"assistant","content":"answer"},`
	for _, tt := range []struct {
		exchanges int
		want      string
		details   []map[string]any
	}{
		{0, "", nil}, {25, "", nil},
		{30, "kept=32; dropped=28", []map[string]any{{"kept": 32.0, "dropped": 28.0}}}, // the first 14 leave at once
	} {
		g := serve(t, handlers.Config{Origins: []string{"https://app.example"}})
		history := strings.TrimSuffix(strings.Repeat(exchange, tt.exchanges), ",")
		got := g.do(t, "POST", "/chat/stream", `{"input":"hi","history":[`+history+`]}`, jsonType, "Origin: https://app.example")
		judge(t, got.body)
		if header := got.header.Get("X-Sluice-History"); header != tt.want {
			t.Errorf("%d exchanges: X-Sluice-History is %q, want %q", tt.exchanges, header, tt.want)
		}
		if exposed := got.header.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "X-Sluice-History") {
			t.Errorf("exposed are %s", exposed)
		}
		var details []map[string]any
		for _, ln := range g.log.lines(t) {
			if ln.Event == "history_pruned" {
				details = append(details, ln.Details)
			}
		}
		if diff := cmp.Diff(tt.details, details); diff != "" {
			t.Errorf("%d exchanges: log (-want +got):\n%s", tt.exchanges, diff)
		}
	}
}
