// Package todo is the built-in todo list: an MCP server with the tools
// create_todo, list_todos, update_todo and delete_todo over one SQLite file. Each user
// whom a call names in _meta (sluice/tenant, sluice/user) has a list of their own.
//
// It stands in for the todo server of one's own that Sluice is usually pointed
// at, so it is reached like any other MCP server, over HTTP or stdio.
//
// Every change is one transaction. Texts are compared in a folded form that is stored with
// them, so that a search does not depend on upper and lower case. Ids are random: a model that
// makes one up hits nothing.
package todo

import "github.com/mark3labs/mcp-go/server"

// Values of a todo's status. A filter also knows statusAll.
const (
	statusPending   = "pending"
	statusCompleted = "completed"
	statusAll       = "all"
)

// Values of a todo's priority.
const (
	priorityLow    = "low"
	priorityMedium = "medium"
	priorityHigh   = "high"
)

// item is one todo as the tools show it. The order of the fields is their order
// in the JSON.
type item struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Status      string `json:"status"`
	Priority    string `json:"priority"`
	// DueDate is a day, a wall-clock time or an instant; see due.
	DueDate string   `json:"due_date,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	// CreatedAt and CompletedAt are RFC 3339 in UTC. CompletedAt is empty while
	// the todo is pending.
	CreatedAt   string `json:"created_at"`
	CompletedAt string `json:"completed_at,omitempty"`
}

// listing is the answer of list_todos.
type listing struct {
	Todos []item `json:"todos"`
	// Count says how many todos matched; with More there are fewer in Todos.
	Count int  `json:"count"`
	More  bool `json:"more"`
}

// NewServer returns an MCP server named "sluice-todo" whose tools work on s. It
// can serve any number of transports at once and must not outlive s.
func NewServer(s *Store, version string) *server.MCPServer {
	m := server.NewMCPServer("sluice-todo", version,
		server.WithToolCapabilities(false),
		server.WithRecovery(),
		server.WithInstructions("A todo list. Find a todo's id with list_todos before changing or deleting it."),
	)
	m.AddTools(createTool(s), listTool(s), updateTool(s), deleteTool(s))
	return m
}
