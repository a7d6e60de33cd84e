package handlers

import (
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/tool"
)

// listedTool is a tool in the reply of GET /tools, which web/openapi.yaml documents.
type listedTool struct {
	Name        string         `json:"name"`
	ServerName  string         `json:"server"`
	Description string         `json:"description"`
	InputSchema jsontext.Value `json:"input_schema"`
	Output      jsontext.Value `json:"output_schema,omitempty"`
	Annotations annotations    `json:"annotations"`
	Timeout     float64        `json:"timeout_seconds,omitzero"`
	Fallback    string         `json:"fallback,omitempty"`
	Fallbacks   []string       `json:"fallback_tools,omitempty"` // Fallback first
}

// annotations are spelt as in MCP.
type annotations struct {
	Title       string `json:"title,omitempty"`
	ReadOnly    bool   `json:"readOnlyHint"`
	Destructive bool   `json:"destructiveHint"`
	Idempotent  bool   `json:"idempotentHint"`
	OpenWorld   bool   `json:"openWorldHint"`
}

// serveTools routes the list of the tools that the model can call now. As in a turn, the list
// leaves out tools of unavailable servers. With a nil offer it is empty.
func serveTools(ro *router, offer func(context.Context) *tool.Set) {
	ro.routeRead("/tools", reading, func(w http.ResponseWriter, r *http.Request) error {
		list := struct {
			Tools []listedTool `json:"tools"`
		}{Tools: []listedTool{}}
		if offer != nil {
			for _, t := range offer(r.Context()).Specs {
				list.Tools = append(list.Tools, toolOf(t))
			}
		}
		return writeJSON(w, http.StatusOK, list)
	})
}

// toolOf makes the entry of a tool.
func toolOf(t tool.Spec) listedTool {
	listed := listedTool{
		Name: t.Name, ServerName: t.Server, Description: t.Description, InputSchema: t.InputSchema, Output: t.OutputSchema,
		Annotations: annotations(t.Annotations), Timeout: t.Timeout.Seconds(), Fallback: t.Fallback,
	}
	if t.Fallback != "" {
		listed.Fallbacks = append([]string{t.Fallback}, t.More...)
	}
	return listed
}
