package wholetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"sluice/internal/sim/todo"
)

// fakeTool is a tool of the MCP server "fake" of a transcript. {name} in Result
// and Delay stands for the argument of that name, so that parallel calls of one
// tool can end one after the other.
type fakeTool struct {
	Name       string
	Schema     json.RawMessage // nil: any object
	ReadOnly   bool
	Idempotent bool
	Delay      string // of the answer
	Progress   []fakeProgress
	Fallback   string // the fallback in the configuration
	Result     string
	IsError    bool
}

// fakeProgress is a report that a tool makes before its Delay begins.
type fakeProgress struct {
	After    string // since the last one; empty: at once
	Progress float64
	Total    float64
	Message  string
}

// fallbacksOf returns the fallbacks of the tools in text, if it lists any.
func fallbacksOf(t *testing.T, text string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	if !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return all
	}
	for _, tool := range fakeTools(t, text) {
		if tool.Fallback != "" {
			all[tool.Name] = []string{tool.Fallback}
		}
	}
	return all
}

// FakeServer serves the tools that a transcript lists.
func FakeServer(t *testing.T, text string) *server.MCPServer {
	t.Helper()
	tools := fakeTools(t, text)
	m := server.NewMCPServer("fake", "1", server.WithToolCapabilities(true))
	for _, tool := range tools {
		m.AddTool(tool.toTool(), tool.runTool)
	}
	return m
}

func fakeTools(t *testing.T, text string) (tools []fakeTool) {
	t.Helper()
	if text == "" {
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&tools); err != nil {
		t.Fatalf("mcp: %v", err)
	}
	return tools
}

func (f fakeTool) toTool() mcp.Tool {
	schema := f.Schema
	if schema == nil {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	tool := mcp.NewToolWithRawSchema(f.Name, "The tool "+f.Name+".", schema)
	tool.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &f.ReadOnly, IdempotentHint: &f.Idempotent}
	return tool
}

func (f fakeTool) runTool(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if err := f.sendProgress(ctx, req); err != nil {
		return nil, err
	}
	if f.Delay != "" {
		d, err := time.ParseDuration(fillIn(f.Delay, req))
		if err != nil {
			return nil, err
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if f.IsError {
		return mcp.NewToolResultError(fillIn(f.Result, req)), nil
	}
	return mcp.NewToolResultText(fillIn(f.Result, req)), nil
}

// sendProgress sends the progress of a call.
func (f fakeTool) sendProgress(ctx context.Context, req mcp.CallToolRequest) error {
	for _, p := range f.Progress {
		if p.After != "" {
			d, err := time.ParseDuration(p.After)
			if err != nil {
				return err
			}
			time.Sleep(d)
		}
		params := map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": p.Progress}
		if p.Total > 0 {
			params["total"] = p.Total
		}
		if p.Message != "" {
			params["message"] = p.Message
		}
		if err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", params); err != nil {
			return err
		}
	}
	return nil
}

// fillIn puts the arguments of a call into a text.
func fillIn(text string, req mcp.CallToolRequest) string {
	for name, value := range req.GetArguments() {
		text = strings.ReplaceAll(text, "{"+name+"}", fmt.Sprint(value))
	}
	return text
}

// todoServer is the built-in todo server, in memory, with ids that do not change.
func todoServer(t *testing.T) *server.MCPServer {
	t.Helper()
	n := 0
	store, err := todo.Open(t.Context(), todo.Config{NewID: func() string { n++; return fmt.Sprintf("todo_%d", n) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return todo.NewServer(store, "test")
}
