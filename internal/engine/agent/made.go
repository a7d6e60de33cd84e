package agent

import (
	"slices"
	"strings"

	"sluice/internal/turn/chat"
)

// addedMessages returns the messages that the turn has added to the conversation, for the
// conversation's memory. If the turn continues after a pause, only its line of time is known.
func (t *turn) addedMessages() []chat.TurnMessages {
	if t.inputCount == 0 {
		if line := chat.LineIn(t.state.Messages); line != "" {
			return []chat.TurnMessages{{Line: line}}
		}
		return nil
	}
	if t.inputCount >= len(t.state.Messages) {
		return nil
	}
	messages := slices.Clone(t.state.Messages[t.inputCount:])
	for i := range messages {
		if messages[i].Role == chat.RoleModel {
			messages[i].Origin = t.agent.originOf(messages[i].Maker)
		}
	}
	return []chat.TurnMessages{{Messages: messages}}
}

// originOf returns the origin of a message. If another model stood in for the agent's own, the
// origin names that model.
func (a *Agent) originOf(maker string) string {
	if maker == "" || strings.HasSuffix(a.cfg.Origin, " "+maker) {
		return a.cfg.Origin
	}
	return a.cfg.Origin + " " + maker
}

// Origin returns the origin of messages that an agent makes with a model. Its id is empty if no
// agents are configured.
func Origin(id, key, model string) string { return id + " " + key + "/" + model }
