package mcpclient

import (
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/turn/tool"
)

// A result that breaks the schema which its server declares has taken effect: it counts, and
// log and trace say what is wrong, without the values.
func TestResultAgainstItsSchema(t *testing.T) {
	t.Parallel()
	const declared = `{"name":"read","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}`
	for name, tt := range map[string]struct{ tool, result, want string }{
		"fits":             {declared, `{"content":[{"type":"text","text":"t"}],"structuredContent":{"id":1}}`, ""},
		"another type":     {declared, `{"content":[{"type":"text","text":"t"}],"structuredContent":{"id":"canary"}}`, "/id"},
		"a member missing": {declared, `{"content":[{"type":"text","text":"t"}],"structuredContent":{}}`, "id"},
		"a list":           {declared, `{"content":[{"type":"text","text":"t"}],"structuredContent":["canary"]}`, "object"},
		"none":             {declared, `{"content":[{"type":"text","text":"t"}]}`, "structuredContent is missing"},
		"an error":         {declared, `{"content":[{"type":"text","text":"t"}],"isError":true}`, ""},
		"no schema":        {`{"name":"read","inputSchema":{}}`, `{"content":[{"type":"text","text":"t"}],"structuredContent":{"id":"canary"}}`, ""},
		"unusable schema":  {`{"name":"read","inputSchema":{},"outputSchema":["no schema"]}`, `{"content":[{"type":"text","text":"t"}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(tt.tool)
			f.setOnCall(func(w http.ResponseWriter, _ *http.Request, req fakeRequest) { sendResult(w, req, tt.result) })
			cfg := over(serve(t, f))
			var log logBuffer
			cfg.Log = log.logger()
			c := newClient(t, cfg)
			r, err := call(log.logger().WithContext(t.Context()), c, "read")
			if err != nil || !strings.HasPrefix(r.Text, "t") {
				t.Fatalf("got %+v, %v", r, err)
			}
			if reported := r.Warning != ""; reported != (tt.want != "") || !strings.Contains(r.Warning, tt.want) || strings.Contains(r.Warning+log.String(), "canary") {
				t.Errorf("the trace is told %q, want %q", r.Warning, tt.want)
			}
			if reported := strings.Contains(log.String(), "mcp_result_against_schema"); reported != (tt.want != "") {
				t.Errorf("the log is %s", log.String())
			}
			if ignored := strings.Contains(log.String(), "mcp_output_schema_ignored"); ignored != (name == "unusable schema") {
				t.Errorf("the log is %s", log.String())
			}
		})
	}
}

// What the schemas of results take to compile counts like those of arguments; a tool whose
// results' schema has no room left is offered.
func TestRoomOfOutputSchemas(t *testing.T) {
	t.Parallel()
	raw := `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`
	whole, _, work, err := readTool(Server{Name: "s"}, []byte(raw), tool.Room, zerolog.Nop())
	if err != nil || whole.output == nil || work != whole.work {
		t.Fatalf("%+v, %d, %v", whole, work, err)
	}
	o, _, work, err := readTool(Server{Name: "s"}, []byte(raw), whole.work-1, zerolog.Nop())
	if err != nil || o == nil || o.output != nil || work >= whole.work {
		t.Errorf("%+v, %d, %v", o, work, err)
	}
}
