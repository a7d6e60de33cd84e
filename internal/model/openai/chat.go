// This file is the codec of Chat Completions. chat_request.go and chat_messages.go write requests,
// chat_answer.go reads answers with the decoder in chat_decode*.go, and refusal.go reads errors.

package openai

import (
	"net/http"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/model"
	"sluice/internal/turn/tool"
)

// chatCodec is the codec of Chat Completions.
//
// It does not change after newChat and is safe for concurrent use. The state of an answer is in a
// chatAnswer.
type chatCodec struct {
	spec      model.Spec
	host      host
	maker     string // what Message.Maker is of this codec's answers
	thinkTags string
	exact     bool // see hasExactMarks
	learnable []string
	tools     model.Tools
}

// The codec keeps to the frame's interfaces.
var (
	_ model.Codec  = (*chatCodec)(nil)
	_ model.Answer = (*chatAnswer)(nil)
	_ model.Asker  = (*chatAnswer)(nil)
)

// newChat returns a codec. leftOut is called with each tool that cannot be sent.
func newChat(spec model.Spec, leftOut func(name, reason string)) *chatCodec {
	return &chatCodec{
		spec:      spec,
		host:      hostOf(&spec),
		maker:     spec.Maker(),
		thinkTags: spec.ThinkTags,
		exact:     hasExactMarks(&spec),
		learnable: unsetMembers(spec.Extra, chatLearnable()),
		tools:     model.Tools{Append: appendChatTool, LeftOut: leftOut, Most: mostTools},
	}
}

// Maker returns what Message.Maker is of this codec's answers.
func (c *chatCodec) Maker() string { return c.maker }

// NewAnswer implements model.Codec.
func (c *chatCodec) NewAnswer() model.Answer {
	a := &chatAnswer{codec: c}
	a.Reset()
	return a
}

// chatLearnable are the members that are sent of our own accord, by the names that Omit
// has for them.
//
// If a name begins with another name, the longer must stand first (beginsWith). A member that the
// configuration sets itself is never left out because it was refused: see unset.
func chatLearnable() []string {
	return []string{
		"stream_options", "temperature", "reasoning_effort", maxCompletionTokens, maxTokens,
		"tool_choice", "response_format", "strict", cacheKey, cacheRetention, cacheMark, cacheOptions,
	}
}

// Refuse implements model.Codec.
func (c *chatCodec) Refuse(status int, _ http.Header, body []byte) *model.Refusal {
	return c.readError(status, body)
}

// readError reads an error of any server that speaks this protocol. Their forms differ.
func (c *chatCodec) readError(status int, body jsontext.Value) *model.Refusal {
	r := readRefusal(status, body, c.learnable)
	if r.Member == "" && (status == http.StatusBadRequest || status == http.StatusUnprocessableEntity) && refusesRoles.MatchString(r.Message) {
		r.Member, r.Guessed = memberRoles, true
	}
	return r
}

// refusesRoles matches what servers say of two messages of the user in a row: "Conversation
// roles must alternate user/assistant/…", "Unexpected role 'user' after role 'tool'".
var refusesRoles = regexp.MustCompile(`(?i)roles must alternate|unexpected role '?user'? after role`)

// SentTools returns the tools of a set in the order of the request.
func (c *chatCodec) SentTools(set *tool.Set) []model.SentTool { return c.tools.SentTools(set) }
