package home

import (
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Timesheet is the name of a server next to the house: somebody's hours of this week.
const Timesheet = "timesheet"

// hours is what a timesheet says.
type hours struct {
	Logged int `json:"hours_logged"`
	Target int `json:"hours_target"`
}

// timesheet declares a tool whose answer never changes, for the example of
// checks.
func timesheet() []server.ServerTool {
	get := mcp.NewTool("get_timesheet", reads("Show timesheet"), mcp.WithDescription("Show the hours logged this week, and how many it should be."))
	return []server.ServerTool{serve(get, func(struct{}) (any, error) { return hours{Logged: 32, Target: 40}, nil })}
}
