package mcpclient

import (
	"bytes"
	"context"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/internal/turn/tool"
)

// Problems returns the faults in the arguments of a call of the named tool; nil without faults, or
// for an unknown tool.
func (c *Client) Problems(ctx context.Context, name string, args jsontext.Value) []tool.Problem {
	t := c.currentView().tools[name]
	if t == nil {
		return nil
	}
	return problemsOf(ctx, t.offer.schema, args)
}

func problemsOf(ctx context.Context, s *tool.Schema, raw jsontext.Value) []tool.Problem {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return []tool.Problem{{Rule: "is no JSON object"}}
	}
	list, err := s.Problems(ctx, value)
	if err != nil {
		return []tool.Problem{{Rule: "cannot be checked"}}
	}
	return list
}

// joinProblems returns the problems as one line.
func joinProblems(list []tool.Problem) string {
	var lines []string
	for _, p := range list {
		lines = append(lines, strings.TrimPrefix(p.Pointer+": "+p.Rule, ": "))
	}
	return strings.Join(lines, "; ")
}

// checkResult compares a result with the schema that the server declares for it. A result that
// breaks the schema counts, because the call has taken effect. The fault is logged and returned for
// the trace. Without a schema, and for a result that is an error, it is empty.
func (u *upstream) checkResult(ctx context.Context, t *boundTool, o *outcome) string {
	if t.offer.output == nil || o.isError {
		return ""
	}
	list := []tool.Problem{{Rule: "structuredContent is missing"}}
	if len(o.structured) > 0 {
		list = problemsOf(ctx, t.offer.output, o.structured)
	}
	if len(list) == 0 {
		return ""
	}
	text := u.hide.Text(joinProblems(list))
	zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().Str("tool_name", t.name).Str("server", u.Name).
		Str("reason", text)).Msg("mcp_result_against_schema")
	return "The result breaks the tool's output schema: " + text
}
