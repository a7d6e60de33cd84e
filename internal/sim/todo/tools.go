package todo

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// How many todos one call of list_todos returns.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// createTool adds; two calls make two todos, so it is not idempotent.
func createTool(s *Store) server.ServerTool {
	tool := mcp.NewTool("create_todo",
		mcp.WithDescription("Add one todo to the list and return it. Call it once for each thing that is to be done."),
		toolHints("Create todo", effects{}),
		mcp.WithString("title", mcp.Required(), mcp.Description(`What is to be done, 1 to 500 characters, for example "Buy eggs".`)),
		mcp.WithString("description", mcp.Description("Details, at most 5000 characters.")),
		mcp.WithString("due_date", mcp.Description("When it is due. "+dueFormat)),
		mcp.WithString("priority", mcp.Enum(priorityLow, priorityMedium, priorityHigh),
			mcp.Description("How important it is: medium unless told otherwise; urgent means high.")),
		mcp.WithArray("tags", mcp.WithStringItems(), mcp.Description(tagFormat)),
		closedSchema("title", "description", "due_date", "priority", "tags"),
		mcp.WithOutputSchema[item](),
	)
	return serveTool(tool, func(ctx context.Context, a *arguments) (any, error) {
		f := a.readFields()
		if err := a.err(); err != nil {
			return nil, err
		}
		return s.createTodo(ctx, a.owner, f)
	})
}

// listTool declares list_todos. Descriptions have the facts that the schema does not show to a
// model.
func listTool(s *Store) server.ServerTool {
	tool := mcp.NewTool("list_todos",
		mcp.WithDescription("Find todos. Without arguments: the pending ones. They come pending first, then by due date, priority and age. "+
			"count says how many match; when more is true, not all of them are in the answer: narrow the search or raise the limit. "+
			"Days are those of the time zone "+s.location.String()+"."),
		toolHints("List todos", effects{readOnly: true, idempotent: true}),
		mcp.WithString("status", mcp.Enum(statusPending, statusCompleted, statusAll),
			mcp.Description("pending unless told otherwise.")),
		mcp.WithString("priority", mcp.Enum(priorityLow, priorityMedium, priorityHigh)),
		mcp.WithString("due_date_filter", mcp.Description("today, tomorrow, this_week (Monday to Sunday), overdue (pending and past due), "+
			"or one day such as 2026-11-22.")),
		mcp.WithArray("tags", mcp.WithStringItems(), mcp.Description("Only todos with all of these tags.")),
		mcp.WithString("query", mcp.Description(`A part of the title, upper or lower case, for example "eggs".`)),
		mcp.WithInteger("limit", mcp.Min(1), mcp.Max(maxLimit),
			mcp.Description("How many todos to return, 1 to 200; 50 unless told otherwise.")),
		closedSchema("status", "priority", "due_date_filter", "tags", "query", "limit"),
		mcp.WithOutputSchema[listing](),
	)
	return serveTool(tool, func(ctx context.Context, a *arguments) (any, error) {
		f := a.readFilter(s)
		if err := a.err(); err != nil {
			return nil, err
		}
		return s.listTodos(ctx, a.owner, f)
	})
}

// updateTool is idempotent: the same call again leaves the same todo. It is not marked destructive
// although it overwrites: it changes only named fields, and another update can set them back.
// Clients ask a person before a destructive call, and ticking off a todo is not worth a question.
func updateTool(s *Store) server.ServerTool {
	tool := mcp.NewTool("update_todo",
		mcp.WithDescription("Change one todo, for example complete it, and return it. What is not given stays as it is."),
		toolHints("Update todo", effects{idempotent: true}),
		mcp.WithString("todo_id", mcp.Required(), mcp.Description(idFormat)),
		mcp.WithString("title", mcp.Description("The new title, 1 to 500 characters.")),
		mcp.WithString("description", mcp.Description(`The new details, at most 5000 characters; "" removes them.`)),
		mcp.WithString("due_date", mcp.Description(`When it is due; "" removes the due date. `+dueFormat)),
		mcp.WithString("priority", mcp.Enum(priorityLow, priorityMedium, priorityHigh)),
		mcp.WithString("status", mcp.Enum(statusPending, statusCompleted), mcp.Description("completed when it is done; pending opens it again.")),
		mcp.WithArray("tags", mcp.WithStringItems(), mcp.Description("The new tags, in place of all old ones. "+tagFormat)),
		closedSchema("todo_id", "title", "description", "due_date", "priority", "status", "tags"),
		mcp.WithOutputSchema[item](),
	)
	return serveTool(tool, func(ctx context.Context, a *arguments) (any, error) {
		id := a.todoID()
		f := a.readFields()
		if err := a.err(); err != nil {
			return nil, err
		}
		if f == (fields{}) {
			return nil, refusal("nothing to change: give at least one of title, description, due_date, priority, status, tags")
		}
		it, err := s.updateTodo(ctx, a.owner, id, f)
		return it, explainError(err, id)
	})
}

// deleteTool is idempotent: a second call has no effect, although it returns an error, because the
// todo is missing.
func deleteTool(s *Store) server.ServerTool {
	tool := mcp.NewTool("delete_todo",
		mcp.WithDescription("Delete one todo for good and return it as it was. To mark it as done use update_todo instead."),
		toolHints("Delete todo", effects{destructive: true, idempotent: true}),
		mcp.WithString("todo_id", mcp.Required(), mcp.Description(idFormat)),
		mcp.WithBoolean("confirmation", mcp.Required(), mcp.Description("Must be true; set it only when the user wants this todo deleted.")),
		closedSchema("todo_id", "confirmation"),
		mcp.WithOutputSchema[item](),
	)
	return serveTool(tool, func(ctx context.Context, a *arguments) (any, error) {
		id := a.todoID()
		if confirmed, _ := argumentAs[bool](a, "confirmation", "true or false"); !confirmed {
			a.addFault("nothing was deleted: make sure that the user wants it, then call delete_todo again with confirmation set to true")
		}
		if err := a.err(); err != nil {
			return nil, err
		}
		it, err := s.removeTodo(ctx, a.owner, id)
		return it, explainError(err, id)
	})
}

// Descriptions that several tools share.
const (
	dueFormat = "ISO 8601: a day (2026-11-22) or a time (2026-11-22T15:00:00), which may end in Z or an offset (+02:00). " +
		`Turn words such as "tomorrow" into a date first.`
	tagFormat = `At most 20 short words, for example ["work", "home"].`
	idFormat  = `The id of the todo as list_todos shows it, for example "todo_4k7h2m9q".`
)

// effects describes the effects of a tool on the list. No tool has effects beyond it.
type effects struct {
	readOnly, destructive, idempotent bool
}

// toolHints sets all of a tool's annotations, since their defaults are not ours.
func toolHints(title string, e effects) mcp.ToolOption {
	openWorld := false
	return mcp.WithToolAnnotation(mcp.ToolAnnotation{
		Title:           title,
		ReadOnlyHint:    &e.readOnly,
		DestructiveHint: &e.destructive,
		IdempotentHint:  &e.idempotent,
		OpenWorldHint:   &openWorld,
	})
}

// closedSchema allows no arguments but those declared, shown in the given order.
func closedSchema(order ...string) mcp.ToolOption {
	return func(t *mcp.Tool) {
		t.InputSchema.AdditionalProperties = false
		t.InputSchema.PropertyOrder = order
	}
}
