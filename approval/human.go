package approval

import (
	"sluice/chat"
)

// decideHuman makes the decision of an answer to what a node of a workflow asks. It has
// the node as its CallID.
func (r *record) decideHuman(a *chat.Answer) ([]chat.Decision, error) {
	e := new(chat.ValidationError)
	if len(a.Calls) > 0 {
		e.Add(a.At+"/calls", &chat.FieldError{Code: chat.CodeNotAllowed, Message: "must not stand here: no calls are asked about"})
	}
	if a.Arguments != nil {
		e.Add(a.At+"/arguments", &chat.FieldError{Code: chat.CodeNotAllowed, Message: "must not stand here: no calls are asked about"})
	}
	if a.Action == "" && len(e.Fields) == 0 {
		e.Add(a.At+"/action", &chat.FieldError{Code: chat.CodeRequired, Message: "is required"})
	}
	if len(e.Fields) > 0 {
		return nil, e
	}
	return []chat.Decision{{CallID: r.Node, Action: a.Action, Message: a.Message}}, nil
}
