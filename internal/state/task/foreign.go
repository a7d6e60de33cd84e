package task

//lint:file-ignore SA5008 the check does not know the option embed of go-json-experiment/json

import (
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Documents that this version cannot read as a whole: a newer version or another program wrote
// them, a person did by hand, or they are damaged. The readable members are shown, and the others
// are not lost when the task changes.

// lenientOptions reads names in any case, and text that is not proper JSON but can be understood.
func lenientOptions() json.Options {
	return json.JoinOptions(json.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// readForeign reads a document member by member. For a text that is not a complete JSON object it
// returns a document with an unknown state.
func readForeign(text []byte) *document {
	d := &document{foreign: true}
	if !readMembers(text, d, &d.Others) {
		return &document{Status: status{State: unknown}}
	}
	if unread, ok := d.Others["status"]; ok {
		readMembers(unread, &d.Status, &d.Status.Others)
	}
	if unread, ok := d.Others["metadata"]; ok && readMembers(unread, &d.Metadata, &d.Metadata.Others) {
		delete(d.Others, "metadata")
	}
	return d
}

// readMembers reads an object into a struct. It puts the members that do not fit into others. It
// returns false if text is not an object.
func readMembers[T any](text []byte, into *T, others *extras) bool {
	var members extras
	if json.Unmarshal(text, &members, lenientOptions()) != nil || members == nil {
		return false
	}
	unread := extras{}
	for name, value := range members {
		one, err := json.Marshal(extras{name: value}, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if err != nil || json.Unmarshal(one, new(T), lenientOptions()) != nil {
			unread[ourName(name)] = value
			continue
		}
		_ = json.Unmarshal(one, into, lenientOptions()) // it was read just now
	}
	if *others == nil {
		*others = unread
		return true
	}
	maps.Copy(*others, unread)
	return true
}

// ourName returns the name of a member as this version writes it. The name of the other program may
// differ in case.
func ourName(name string) string {
	for _, known := range []string{
		"id", "sessionId", "contextId", "status", "earlierMessages", "history", "artifacts", "metadata",
		"agentSelections", "routingConfidence", "routing", "agentResponses", "turns", "pendingQuestion", "lastAgent",
	} {
		if strings.EqualFold(name, known) {
			return known
		}
	}
	return name
}

// dropReplaced removes the members that could not be read in whose place others are written
// now, so that each name is there once.
func (d *document) dropReplaced() {
	if !d.foreign {
		return
	}
	m := &d.Metadata
	for name, written := range map[string]bool{
		"id": true, "status": true, "sessionId": d.SessionID != "", "contextId": d.ContextID != "",
		"earlierMessages": d.Earlier != nil, "history": d.History != nil, "artifacts": d.Artifacts != nil,
	} {
		if written {
			delete(d.Others, name)
		}
	}
	for name, written := range map[string]bool{
		"agentSelections": m.AgentSelections != nil, "routingConfidence": m.RoutingConfidence != 0, "routing": m.Routing != nil,
		"agentResponses": m.AgentResponses != nil, "turns": m.Turns != nil, "pendingQuestion": m.PendingQuestion != nil, "lastAgent": m.LastAgent != "",
	} {
		if written {
			delete(m.Others, name)
		}
	}
}
