package home

import (
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Timesheet is the name of a server next to the house: somebody's hours of this week.
const Timesheet = "timesheet"

// hours is the content of a timesheet.
type hours struct {
	Logged int `json:"hours_logged"`
	Target int `json:"hours_target"`
}

// timesheetTools declares a tool whose answer never changes, for the example of
// checks.
func timesheetTools() []server.ServerTool {
	get := mcp.NewTool("get_timesheet", readOnlyHints("Show timesheet"), mcp.WithDescription("Show the hours logged this week, and how many it should be."))
	return []server.ServerTool{serveTool(get, func(struct{}) (any, error) { return hours{Logged: 32, Target: 40}, nil })}
}
