package sluice_test

import (
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/stream"
)

func TestProgressFrame(t *testing.T) {
	t.Parallel()
	c := stream.Call{ID: "c", Tool: "index", Server: "files", Arguments: jsontext.Value(`{"n":1}`)}
	head := `data: {"request_id":"r","call_id":"c","tool_name":"index","server":"files","arguments":{"n":1},"status":"progress"`
	for name, tt := range map[string]struct {
		ev   stream.ToolProgress
		want string
	}{
		"all":                {stream.ToolProgress{Progress: 3, Total: 10, Message: "page 3"}, `,"progress":3,"total":10,"message":"page 3"}`},
		"nothing but":        {stream.ToolProgress{Progress: 0.25}, `,"progress":0.25}`},
		"nothing yet":        {stream.ToolProgress{}, `,"progress":0}`},
		"large":              {stream.ToolProgress{Progress: 123456789012, Total: 1e300}, `,"progress":123456789012,"total":1e+300}`},
		"small and negative": {stream.ToolProgress{Progress: -1e-9, Total: -4}, `,"progress":-1e-09}`},
		"no numbers":         {stream.ToolProgress{Progress: math.NaN(), Total: math.Inf(1)}, `,"progress":0}`},
		"controls":           {stream.ToolProgress{Message: "\x1b[31ma\r\nb\u0085c\x00 "}, `,"progress":0,"message":"[31ma  bc"}`},
		"only controls":      {stream.ToolProgress{Message: "\x00\n"}, `,"progress":0}`},
		"long":               {stream.ToolProgress{Message: strings.Repeat("é", 127) + "aé" + strings.Repeat("x", 9000)}, `,"progress":0,"message":"` + strings.Repeat("é", 127) + `a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.ev.Call = c
			got := body(t, encoding{RequestID: "r"}, &tt.ev)
			want := "retry: 86400000\nid: r:1\nevent: tool_call\n" + head + tt.want + "\n\n"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			lastData(t, &tt.ev)
		})
	}
}
