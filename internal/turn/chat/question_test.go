package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func said(role Role, text string) Message { return Message{Role: role, Parts: []Part{{Text: text}}} }

// An input that answers a question comes with what the question is about, once.
func TestMessagesOfAReply(t *testing.T) {
	t.Parallel()
	q := &Clarification{Said: []HistoryMessage{{Role: RoleUser, Text: "r"}, {Role: RoleModel, Text: "q"}}}
	exchange := []Message{said(RoleUser, "r"), said(RoleModel, "q"), said(RoleUser, "i")}
	before := []Message{said(RoleUser, "a"), said(RoleModel, "b")}
	for name, tt := range map[string]struct {
		req          Request
		want, before []Message
	}{
		"without a question":        {Request{Past: Past{History: before}}, append(before[:2:2], said(RoleUser, "i")), before},
		"without a history":         {Request{Past: Past{Question: q}}, exchange, nil},
		"with one before it":        {Request{Past: Past{Question: q, History: before}}, append(before[:2:2], exchange...), before},
		"the history tells of it":   {Request{Past: Past{Question: q, History: append(before[:2:2], exchange[:2]...)}}, append(before[:2:2], exchange...), before},
		"and of nothing else":       {Request{Past: Past{Question: q, History: exchange[:2]}}, exchange, []Message{}},
		"the history ends unasked":  {Request{Past: Past{Question: q, History: []Message{said(RoleUser, "a")}}}, []Message{said(RoleUser, "a\n\nr"), exchange[1], exchange[2]}, []Message{said(RoleUser, "a")}},
		"a question without a text": {Request{Past: Past{Question: new(Clarification)}}, exchange[2:], nil},
	} {
		tt.req.Input = "i"
		if diff := cmp.Diff(tt.want, tt.req.Messages()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.before, tt.req.Before()); diff != "" {
			t.Errorf("%s, before (-want +got):\n%s", name, diff)
		}
	}
}
