package peers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everythingTools is what server-everything offers a client that declares no
// capability. Without sampling, elicitation and roots it keeps the tools that need
// them to itself; simulate-research-query runs only as a task, and is left out.
func everythingTools() []string {
	return []string{
		"echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference", "get-structured-content",
		"get-sum", "get-tiny-image", "gzip-file-as-resource", "toggle-simulated-logging", "toggle-subscriber-updates",
		"trigger-long-running-operation",
	}
}

// server-everything over its three transports: all kinds of content, progress,
// errors of its own and ours. The simulator judges the schemas of its tools.
func TestEverything(t *testing.T) {
	t.Parallel()
	tries := []try{
		{`echo {"message":"Grüße <b>&\n"}`, completed, "Echo: Grüße <b>&\n"},
		{`get-sum {"a":2,"b":0.5}`, completed, "The sum of 2 and 0.5 is 2.5."},
		{`get-structured-content {"location":"Chicago"}`, completed, `"humidity":82`},
		{`get-tiny-image {}`, completed, "[image/png, "},
		{`get-resource-links {"count":2}`, completed, "[link "},
		{`get-resource-reference {"resourceType":"Text","resourceId":1}`, completed, "Resource 1"},
		{`get-annotated-message {"messageType":"error","includeImage":true}`, completed, "Error: Operation failed"},
		{`trigger-long-running-operation {"duration":0.4,"steps":4}`, completed, "Steps: 4"},

		{`get-structured-content {"location":"Paris"}`, failed, "argument"},
		{`get-resource-reference {"resourceType":"Text","resourceId":0}`, failed, ""},
		{`get-resource-reference {"resourceType":"Blob","resourceId":1}`, completed, "[resource "},
		{`gzip-file-as-resource {"name":"x.gz","data":"data:text/plain,hello","outputType":"resource"}`, completed, "application/gzip"},
		{`toggle-simulated-logging {}`, completed, "simulated"},
		{`get-env {}`, completed, "PATH"},
		{`trigger-sampling-request {"prompt":"hi"}`, failed, "no tool"},
		{`trigger-elicitation-request {}`, failed, "no tool"},
	}
	for name, mode := range map[string]string{"stdio": "stdio", "streamable HTTP": "streamableHttp", "SSE": "sse"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry, _ := entryOf(t, everything(mode))
			c := callAll(t, entry, tries)
			g := c.gateway
			if diff := cmp.Diff(everythingTools(), g.names(t, "peer")); diff != "" {
				t.Errorf("tools (-want +got):\n%s", diff)
			}
			for _, tool := range g.tools(t) {
				if tool.Annotations["readOnlyHint"] == nil || tool.Annotations["openWorldHint"] == nil {
					t.Errorf("%s has annotations %v", tool.Name, tool.Annotations)
				}
			}
			if len(g.log("mcp_tool_dropped", "tool_name", "simulate-research-query")) != 1 {
				t.Error("the log does not tell of the tool that runs only as a task")
			}
			if strings.Contains(strings.Join(c.reported, ""), "test-key-0123456789") {
				t.Error("the server has our key in its environment")
			}
		})
	}
}
