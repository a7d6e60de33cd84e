package model

import (
	"testing"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// A refusal that speaks of tools is about calls that the request does not declare, if it has some.
func TestUndeclaredCallsAreLearned(t *testing.T) {
	t.Parallel()
	const bedrock = "The toolConfig field must be defined when using toolUse and toolResult content blocks."
	call := chat.Message{Role: chat.RoleModel, Parts: []chat.Part{{Call: &tool.Call{ID: "a", Name: "shot"}}}}
	declared := &tool.Set{Specs: []tool.Spec{{Name: "shot"}}}
	for name, tt := range map[string]struct {
		refusal Refusal
		req     chat.ModelRequest
		want    string
	}{
		"a call that is not declared":  {Refusal{Status: 400, Message: bedrock}, chat.ModelRequest{Messages: []chat.Message{call}}, memberCalls},
		"one beside others":            {Refusal{Status: 422, Message: "unknown function"}, chat.ModelRequest{Messages: []chat.Message{call}, Tools: &tool.Set{Specs: []tool.Spec{{Name: "x"}}}}, memberCalls},
		"a call that is declared":      {Refusal{Status: 400, Message: bedrock}, chat.ModelRequest{Messages: []chat.Message{call}, Tools: declared}, ""},
		"no call":                      {Refusal{Status: 400, Message: bedrock}, chat.ModelRequest{}, ""},
		"a refusal of something else":  {Refusal{Status: 400, Message: "bad image"}, chat.ModelRequest{Messages: []chat.Message{call}}, ""},
		"a member that is named":       {Refusal{Status: 400, Message: bedrock, Member: "temperature"}, chat.ModelRequest{Messages: []chat.Message{call}}, "temperature"},
		"not a refusal of the request": {Refusal{Status: 503, Message: bedrock}, chat.ModelRequest{Messages: []chat.Message{call}}, ""},
	} {
		if tt.refusal.settleMember(&tt.req); tt.refusal.Member != tt.want {
			t.Errorf("%s: %q, want %q", name, tt.refusal.Member, tt.want)
		}
	}
}
