// This file writes the facts of an ended turn into its task's document.

package task

import (
	"slices"
	"time"

	"sluice/stream"
)

// endTurn adds the answer of a turn, and the task's state after it.
func (d *document) endTurn(state string, said *answer, turn string, now time.Time, most int) {
	d.Status = statusOf(state, now)
	d.Metadata.PendingQuestion = d.questionOf(said)
	if failure := said.Failure(); failure != "" {
		d.Status.Message = &message{Role: "assistant", Content: failure}
	}
	if text := string(said.text); text != "" {
		m := message{Role: "assistant", Content: text, Timestamp: formatTime(now), MessageID: turn + ":assistant"}
		if said.Route != nil {
			m.AgentID = said.Route.AgentID
		}
		d.addMessage(m, most)
		d.Artifacts = []artifact{{ArtifactID: "answer", Name: "answer", Parts: []part{{Text: text}}}}
		if state == InputRequired {
			d.Status.Message = &message{Role: m.Role, Content: m.Content}
		}
	}
	if ids, prompt := said.openQuestions(); state == InputRequired && len(ids) > 0 {
		d.Status.Message = &message{Role: "assistant", Content: prompt}
		d.Status.Approvals = ids
	}
	said.fillMetadata(&d.Metadata)
}

// dropAnswer removes the answer of the last turn, for a store that lacks room for it.
func (d *document) dropAnswer(turn string) {
	d.History = slices.DeleteFunc(d.History, func(m message) bool { return m.MessageID == turn+":assistant" })
	d.Artifacts = nil
	for i := range d.Metadata.AgentResponses {
		d.Metadata.AgentResponses[i].Content = ""
	}
	d.Status.Message = &message{Role: "assistant", Content: "The answer is not kept: the store is full"}
}

// questionOf returns the question of the ended turn, if it has asked one. It follows the earlier
// questions and the user's words.
func (d *document) questionOf(said *answer) *question {
	if said.Reason() != stream.InputRequired {
		return nil
	}
	q := &question{AgentID: said.Done.Asker}
	if before := d.Metadata.PendingQuestion; before != nil {
		q.Messages, q.InARow = before.Messages, before.InARow
	}
	if said.Route != nil && said.Route.Decision == stream.Clarified {
		q.InARow++
	} else {
		q.InARow = 0
	}
	input := d.lastInput()
	q.Messages = append(q.Messages, questionMessage{Role: "user", Content: input.Content, Elsewhere: input.Elsewhere}, questionMessage{Role: "assistant", Content: string(said.text)})
	if n := len(q.Messages); n > maxAsked {
		q.Messages = append(q.Messages[:1:1], q.Messages[n-maxAsked+1:]...)
	}
	return q
}

// lastInput returns the user's message of the last turn.
func (d *document) lastInput() message {
	for i := len(d.History) - 1; i >= 0; i-- {
		if d.History[i].Role == "user" {
			return d.History[i]
		}
	}
	return message{}
}

// maxAsked bounds the messages of a question. The request stays, and so do the newest messages.
const maxAsked = 16

// fillMetadata writes how the answer was checked, the chosen agents, and the text of each agent.
//
// It is called once, when the turn is over. Without a route the document names no agents, since the
// answer is not a team's.
func (a *answer) fillMetadata(m *metadata) {
	if a.Done != nil && a.Done.Checked != nil {
		if m.Others == nil {
			m.Others = extras{}
		}
		m.Others["quality"] = a.Done.Checked
	}
	r := a.Route
	if r == nil {
		return
	}
	m.AgentSelections = append([]string{r.AgentID}, r.Additional...)
	m.RoutingConfidence = number(r.Confidence)
	m.Routing = &routing{AgentID: r.AgentID, Confidence: number(r.Confidence), Reasoning: r.Reasoning, AdditionalAgents: r.Additional}
	m.AgentResponses = a.agentResponses()
	if r.Decision == stream.Routed && a.Reason().Success() {
		m.LastAgent = r.AgentID
	}
}

// agentResponses returns the response of each agent, except delegates: their callers answer.
func (a *answer) agentResponses() (list []agentResponse) {
	for _, run := range a.Runs {
		if stream.Inner(run.AgentRun) {
			continue
		}
		r := agentResponse{AgentID: run.AgentID, Content: a.textOfRun(run), ErrorMessage: run.ErrorMessage}
		if run.Success != nil {
			r.Success = *run.Success
		}
		if run.Millis != nil {
			r.ExecutionTimeMs = number(*run.Millis)
		}
		list = append(list, r)
	}
	return list
}
