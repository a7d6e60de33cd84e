// Package home is the example's house: three small MCP servers for its lights, its music and its
// heating. They keep their changes in memory and can report them, so that an agent finds the work
// of another turn.
//
// They stand in for the servers of a real house: nothing is switched anywhere.
package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Names of the built-in servers.
const (
	Lights  = "home-lights"
	Music   = "home-music"
	Climate = "home-climate"
)

// NewServer returns the built-in server of that name, with a state of its own, or nil. It can serve
// any number of transports at once.
func NewServer(name, version string) *server.MCPServer {
	m := server.NewMCPServer("sluice-"+name, version, server.WithToolCapabilities(false), server.WithRecovery(),
		server.WithInstructions("A house that is made up: nothing is switched anywhere."))
	switch name {
	case Lights:
		m.AddTools(newLights().declaredTools()...)
	case Music:
		m.AddTools(newPlayer().declaredTools()...)
	case Climate:
		m.AddTools(newHeating().declaredTools()...)
	case Timesheet:
		m.AddTools(timesheetTools()...)
	case Payments:
		m.AddTools(new(payments).declaredTools()...)
	default:
		return nil
	}
	return m
}

// refusal is an error for the model: its request cannot be done.
type refusal string

// It is reported to the model as the tool's result.
func (r refusal) Error() string { return string(r) }

// serveTool makes do the handler of a tool whose arguments are an A. A refusal is a result
// that the model sees.
func serveTool[A any](tool mcp.Tool, do func(A) (any, error)) server.ServerTool {
	handler := func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var args A
		if err := request.BindArguments(&args); err != nil {
			return mcp.NewToolResultError("the arguments are not as the schema says"), nil
		}
		answer, err := do(args)
		if refused, ok := errors.AsType[refusal](err); ok {
			return mcp.NewToolResultError(refused.Error()), nil
		}
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(answer)
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(string(text)), nil
	}
	return server.ServerTool{Tool: tool, Handler: handler}
}

// readOnlyHints marks a tool that changes nothing.
func readOnlyHints(title string) mcp.ToolOption { return withHints(title, true) }

// changeHints marks a tool that changes something, destroys nothing, and can be called again with
// the same effect.
func changeHints(title string) mcp.ToolOption { return withHints(title, false) }

// withHints gives a tool its title and hints. They matter, because only idempotent calls may be
// sent again.
func withHints(title string, readOnly bool) mcp.ToolOption {
	no, yes := false, true
	return mcp.WithToolAnnotation(mcp.ToolAnnotation{
		Title: title, ReadOnlyHint: &readOnly, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no,
	})
}

// oneOf returns the entry of names that is meant by text, however it is written, or a
// refusal that lists them.
func oneOf(what, text string, names []string) (string, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if slices.Contains(names, text) {
		return text, nil
	}
	return "", refusal(fmt.Sprintf("there is no %s %q; there are: %s", what, text, strings.Join(names, ", ")))
}

// checkBounds refuses a number out of bounds: a model may send any.
func checkBounds(what string, n, low, high float64) error {
	if n < low || n > high {
		return refusal(fmt.Sprintf("%s must be from %g to %g", what, low, high))
	}
	return nil
}
