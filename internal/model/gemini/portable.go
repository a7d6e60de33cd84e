package gemini

import (
	"slices"

	"sluice/internal/turn/chat"
)

// sentinel stands for the signature of a call that another model made. Google documents
// it for histories that come from elsewhere (ai.google.dev/gemini-api/docs/thought-signatures).
const sentinel = "skip_thought_signature_validator"

// portableMessages returns the messages as this model takes them: signatures go back to the
// model that made them, and to no other.
func (c *codec) portableMessages(messages []chat.Message) []chat.Message {
	copied := false
	for i := range messages {
		if maker := messages[i].Maker; messages[i].Role != chat.RoleModel || maker == c.maker || c.maker == "" && maker != chat.ClientOrigin && maker != chat.SeamMaker && maker != chat.ShownMaker {
			continue
		}
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		messages[i].Parts = c.foreignParts(messages[i].Parts)
	}
	return messages
}

// foreignParts returns a copy of the parts of another model's message.
func (c *codec) foreignParts(parts []chat.Part) []chat.Part {
	parts = slices.Clone(parts)
	first := c.sentinel
	for i := range parts {
		parts[i].Signature, parts[i].Kept = "", ""
		if parts[i].Call != nil && first {
			parts[i].Signature, first = sentinel, false
		}
	}
	return parts
}
