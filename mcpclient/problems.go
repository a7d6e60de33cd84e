package mcpclient

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/tool"
)

// Problems says what is wrong with the arguments of a call of the tool of that name; nil:
// nothing is, or there is no such tool.
func (c *Client) Problems(ctx context.Context, name string, args jsontext.Value) []tool.Problem {
	t := c.currentView().tools[name]
	if t == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return []tool.Problem{{Rule: "is no JSON object"}}
	}
	problems, err := t.offer.schema.Problems(ctx, value)
	if err != nil {
		return []tool.Problem{{Rule: "cannot be checked"}}
	}
	return problems
}
