package sluice_test

import (
	"strings"
	"testing"

	"sluice/internal/edge/dialect/sluice"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Without models by key the figures of done are those of before; with them there are
// more.
func TestFiguresOfModels(t *testing.T) {
	t.Parallel()
	usage := chat.Usage{InputTokens: 5, OutputTokens: 2, CachedTokens: 4, Estimated: true}
	sure := usage
	sure.Estimated = false
	for _, tt := range []struct {
		done stream.Done
		want string
	}{
		{stream.Done{Usage: usage}, `"usage":{"input_tokens":5,"output_tokens":2,"thinking_tokens":0},"timings"`},
		{stream.Done{Usage: usage, Models: []string{"b"}}, `"thinking_tokens":0},"models":["b"],"timings"`},
		{stream.Done{Usage: sure, Keyed: true}, `"thinking_tokens":0,"cached_tokens":4},"timings"`},
		{stream.Done{Usage: usage, Keyed: true, Models: []string{"a", "b"}}, `"cached_tokens":4,"estimated":true},"models":["a","b"],"timings"`},
	} {
		frame := sluice.NewEncoder("req_1", false, 0).Encode(nil, stream.Stamp{N: 2}, &tt.done)
		if !strings.Contains(string(frame), tt.want) {
			t.Errorf("%s\nhas no %s", frame, tt.want)
		}
	}
	frame := sluice.NewEncoder("req_1", false, 0).Encode(nil, stream.Stamp{N: 2},
		&stream.ModelChanged{Step: 2, Key: "spare", Model: "gpt-5-mini", Previous: "fast", Reason: "unavailable", Attribution: stream.Attribution{AgentID: "x"}})
	const want = "id: req_1:2\nevent: model\n" +
		`data: {"request_id":"req_1","step":2,"key":"spare","model":"gpt-5-mini","previous":"fast","reason":"unavailable","agent_id":"x"}` + "\n\n"
	if string(frame) != want {
		t.Errorf("got  %q\nwant %q", frame, want)
	}
}
