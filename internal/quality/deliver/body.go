package deliver

import (
	"bytes"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Content is the content of a message.
type Content struct {
	Response       jsontext.Value // a formatted response, an object that is not empty
	Tenant         string         // of the authenticated user; may be empty
	UserID         string
	ConversationID string
	Quality        *Quality // nil: it was not judged
}

// Quality is how good the content is, by the receipt.
type Quality struct {
	Passed  bool   `json:"passed"`
	Outcome string `json:"outcome"`
}

// Body returns the body of a message. Its data is the response with members of our own.
func Body(c Content, at time.Time) ([]byte, error) {
	type own struct {
		Tenant         string   `json:"tenant,omitempty"`
		UserID         string   `json:"user_id,omitempty"`
		ConversationID string   `json:"conversation_id,omitempty"`
		Quality        *Quality `json:"quality,omitempty"`
	}
	members, err := json.Marshal(own{c.Tenant, c.UserID, c.ConversationID, c.Quality})
	if err != nil {
		return nil, err
	}
	data := bytes.TrimSpace(c.Response)
	if len(data) < 3 || data[0] != '{' || !c.Response.IsValid() {
		return nil, errors.New("deliver: the response is no object")
	}
	if len(members) > 2 {
		data = append(append(data[:len(data)-1:len(data)-1], ','), members[1:]...)
	}
	return json.Marshal(struct {
		Type      string         `json:"type"`
		Timestamp time.Time      `json:"timestamp"`
		Data      jsontext.Value `json:"data"`
	}{"channel.message", at.UTC(), data})
}
