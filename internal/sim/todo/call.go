package todo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// serveTool makes do the handler of tool. A refusal by do is a result that the model
// sees; any other error fails the call, and is for the operator.
func serveTool(tool mcp.Tool, do func(context.Context, *arguments) (any, error)) server.ServerTool {
	handler := func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := do(ctx, readArguments(tool, request.Params))
		if refused, ok := errors.AsType[refusal](err); ok {
			return mcp.NewToolResultError(refused.Error()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tool.Name, err)
		}
		text, err := compactJSON(answer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", tool.Name, err)
		}
		return mcp.NewToolResultStructured(answer, text), nil
	}
	return server.ServerTool{Tool: tool, Handler: handler}
}

// compactJSON leaves <, > and & as they are: the reader is a model, not a browser.
func compactJSON(value any) (string, error) {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(text.String(), "\n"), err
}

// explainError returns a hint for the model when the id is not known.
func explainError(err error, id string) error {
	if errors.Is(err, errNotFound) {
		return refusal("no todo has the id " + quoteShort(id) + "; find the right one with list_todos")
	}
	return err
}

// readFields returns the fields that the call sets.
func (a *arguments) readFields() fields {
	return fields{
		title:       a.titleText(),
		description: a.text("description", maxDescription),
		due:         a.dueDate(),
		priority:    a.choiceOf("priority", priorityLow, priorityMedium, priorityHigh),
		status:      a.choiceOf("status", statusPending, statusCompleted),
		tags:        a.tagList(),
	}
}

// todoID returns todo_id without white space around it.
func (a *arguments) todoID() string {
	id, _ := argumentAs[string](a, "todo_id", "a string")
	return strings.TrimSpace(id)
}

// readFilter returns the filter of the call.
func (a *arguments) readFilter(s *Store) filter {
	f := filter{
		status: statusPending,
		limit:  a.wholeNumber("limit", 1, maxLimit, defaultLimit),
	}
	if status := a.choiceOf("status", statusPending, statusCompleted, statusAll); status != nil {
		f.status = *status
	}
	if priority := a.choiceOf("priority", priorityLow, priorityMedium, priorityHigh); priority != nil {
		f.priority = *priority
	}
	if tags := a.tagList(); tags != nil {
		f.tags = *tags
	}
	if query := a.text("query", maxTitle); query != nil {
		f.query = strings.TrimSpace(*query)
	}
	if text, ok := argumentAs[string](a, "due_date_filter", "a string"); ok {
		due, err := parseDueFilter(strings.TrimSpace(text), s.now())
		if err != nil {
			a.addFault("due_date_filter %v", err)
		}
		f.due = &due
	}
	return f
}
