package a2a

import (
	"encoding/json"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Questions to people. A task that waits for an approval is input-required. The message of its
// status has a data part {"approval": …} for each question, next to the text. It is answered by a
// message to the task: a data part {"approval": {"action": …}}, or the text approve or reject.

// approvalMember is the member of a data part that holds a question, or an answer.
const approvalMember = "approval"

// questionPart returns the data part of a question.
func (w wire) questionPart(q *stream.Approval) *sdk.Part {
	text, err := json.Marshal(q)
	var data any = json.RawMessage(text)
	if w.isV03() && err == nil { // its libraries take plain values alone
		err = json.Unmarshal(text, &data)
	}
	if err != nil { // plain values: cannot happen
		return sdk.NewTextPart(q.Prompt)
	}
	return sdk.NewDataPart(map[string]any{approvalMember: data})
}

// addQuestions adds the questions that a task waits for to its message, if it has one.
func (w wire) addQuestions(m *sdk.Message, questions []*stream.Approval) {
	if m == nil {
		return
	}
	for _, q := range questions {
		m.Parts = append(m.Parts, w.questionPart(q))
	}
}

// promptOf returns the prompts of questions, a line each.
func promptOf(questions []*stream.Approval) string {
	var prompts []string
	for _, q := range questions {
		prompts = append(prompts, q.Prompt)
	}
	return strings.Join(prompts, "\n")
}

// dataOf returns the data of a message that is one data part.
func dataOf(m *sdk.Message) (data any, ok bool) {
	if len(m.Parts) != 1 || m.Parts[0] == nil {
		return nil, false
	}
	part, ok := m.Parts[0].Content.(sdk.Data)
	return part.Value, ok
}

// wordOf returns the action of a message that is its name.
func wordOf(m *sdk.Message) (action chat.Action, ok bool) {
	if text, err := textOf(m); err == nil {
		action = chat.Action(strings.TrimSpace(text))
	}
	return action, action == chat.Approve || action == chat.Reject
}

// answerOf reads a data part as an answer: in its member approval, or as the whole.
func answerOf(data any) (*chat.Answer, error) {
	if object, ok := data.(map[string]any); ok {
		if inner, ok := object[approvalMember].(map[string]any); ok {
			data = inner
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return nil, invalidParam("the data part holds no JSON")
	}
	a, err := chat.ReadAnswer(text)
	return &a, err
}

// readDecision makes a message the answer to its task's question. It returns false if the message
// is not an answer. An answer with the question's token works without a task.
func (s *Server) readDecision(c *call, m *sdk.Message, x *dialect.Exchange) (bool, error) {
	data, isData := dataOf(m)
	action, answers := wordOf(m)
	a := &chat.Answer{Action: action}
	if isData {
		var err error
		if a, err = answerOf(data); err != nil {
			if m.TaskID == "" {
				err = nil // no more than a part that is not supported
			}
			return false, err
		}
		answers = true
	}
	switch {
	case a.Token != "":
		x.Approval, x.Request.UserID = a, a.UserID
		return true, nil
	case m.TaskID == "" || s.cfg.Tasks == nil:
		return false, nil
	}
	task, err := s.findTurn(c, m.TaskID)
	switch {
	case err != nil:
		return false, err
	case len(task.questions) == 0 && (task.Status.State == sdk.TaskStateInputRequired || !answers):
		return false, nil // a question to the user, or to nobody any more
	case m.ContextID != "" && m.ContextID != task.ContextID:
		return false, invalidParam("message.contextId is not that of the task")
	case !answers:
		return false, invalidParam("The task waits for an approval: answer with a data part, or with the text approve or reject")
	}
	// If the task does not wait any more, the service of approvals recognizes a repeated answer.
	x.Approval, x.Decides, x.Request.UserID = a, string(m.TaskID), a.UserID
	x.Request.ConversationID, _ = chat.CheckConversationID(task.ContextID)
	return true, nil
}
