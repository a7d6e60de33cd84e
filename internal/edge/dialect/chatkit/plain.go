package chatkit

import "time"

// NewUserItem returns an item for a message of a user that another front end took.
func NewUserItem(threadID, id, text string, at time.Time) Item {
	item := userItem{base: base{id, threadID, formatTime(at), "user_message"}, Content: []content{{Type: "input_text", Text: text}}}
	return Item{ID: id, Input: text, Body: appendJSON(nil, item)}
}

// NewAssistantItem returns an item for an answer that another front end showed.
func NewAssistantItem(threadID, id, text string, at time.Time) Item {
	item := assistantItem{base: base{id, threadID, formatTime(at), assistantMessage}, Content: []outputText{newOutputText(text)}}
	return Item{ID: id, Body: appendJSON(nil, item)}
}

// assistantMessage is the type of an answer.
const assistantMessage = "assistant_message"
