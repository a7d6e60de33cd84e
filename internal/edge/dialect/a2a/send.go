package a2a

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// maxMessageID is how many characters the id of a message may have: it comes back with
// the task.
const maxMessageID = 256

// Ids of our own, as package task makes them.
const conversationPrefix = "conv_"

// newID returns prefix and 26 characters that nobody can guess.
func newID(prefix string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))
}

// invalidParam is the error of a parameter.
func invalidParam(message string) error { return sdk.NewError(sdk.ErrInvalidParams, message) }

// openMessage makes a turn of a message. streamed says that it is reported as it comes.
func (s *Server) openMessage(c *call, req *sdk.SendMessageRequest, streamed bool) (*dialect.Exchange, error) {
	cfg := req.Config
	if cfg == nil {
		cfg = &sdk.SendMessageConfig{}
	}
	turn, err := s.turnOf(c, req.Message, cfg)
	if err != nil {
		return nil, err
	}
	x := &dialect.Exchange{Refuse: c.refuse, Repetition: dialect.Repetition{Attach: true}}
	if !s.cfg.Attached {
		x.Mode = dialect.Detached
	}
	if err := s.fillRequest(c, req.Message, x); err != nil {
		return nil, err
	}
	x.MessageID = req.Message.ID
	if c.principal.ID != "" || req.Message.ContextID != "" || req.Message.TaskID != "" || chat.IsUUID(req.Message.ID) {
		x.Key, x.Keyed = keyOf(c, req.Message)
	}
	turn.context = x.Request.ConversationID
	if c.events {
		x.Header = http.Header{sdk.SvcParamExtensions: {extensionURI}}
	}
	if streamed {
		x.Encoder = s.newFollower(c, turn)
	} else {
		early := cfg.ReturnImmediately
		if early && s.cfg.Tasks == nil {
			return nil, sdk.NewError(sdk.ErrUnsupportedOperation, "Tasks are not kept by this gateway, so that it cannot return immediately")
		}
		if early {
			x.Mode = dialect.Early
		}
		x.Form, x.Encoder = dialect.AnyDocument, &collector{turn: turn, early: early}
	}
	s.observeTurn(x, turn)
	return x, nil
}

// turnOf checks the members that are not part of a turn's request.
func (s *Server) turnOf(c *call, m *sdk.Message, cfg *sdk.SendMessageConfig) (*turn, error) {
	switch {
	case m == nil:
		return nil, invalidParam("message is required")
	case m.ID == "":
		return nil, invalidParam("message.messageId is required")
	case utf8.RuneCountInString(m.ID) > maxMessageID:
		return nil, invalidParam("message.messageId must have at most 256 characters")
	case m.Role != sdk.MessageRoleUser:
		return nil, invalidParam("message.role must be that of the user")
	case cfg.HistoryLength != nil && *cfg.HistoryLength < 0:
		return nil, invalidParam("configuration.historyLength must not be negative")
	case cfg.PushConfig != nil:
		return nil, sdk.NewError(sdk.ErrPushNotificationNotSupported, "Push notifications are not supported; subscribe to the task")
	}
	return &turn{envelope: c.envelope, task: newID(chat.TaskPrefix), message: m, history: cfg.HistoryLength, began: time.Now()}, nil
}

// fillRequest fills in the turn's request.
func (s *Server) fillRequest(c *call, m *sdk.Message, x *dialect.Exchange) error {
	if answers, err := s.readDecision(c, m, x); answers || err != nil {
		return err
	}
	input, err := textOf(m)
	if err != nil {
		return err
	}
	var wrong *chat.FieldError
	if x.Request.Input, wrong = chat.CheckInput(input); wrong != nil {
		return invalidParam("the text of message.parts " + wrong.Message)
	}
	if m.ContextID != "" {
		if x.Request.ConversationID, wrong = chat.CheckConversationID(m.ContextID); wrong != nil {
			return invalidParam("message.contextId " + wrong.Message)
		}
	}
	if m.TaskID != "" {
		if err := s.continueTask(c, m, x); err != nil {
			return err
		}
	}
	if x.Request.ConversationID == "" {
		x.Request.ConversationID = newID(conversationPrefix)
	}
	if len(m.ReferenceTasks) > 0 && chat.Token(string(m.ReferenceTasks[0]), 1, 128) {
		x.Request.ParentTask = string(m.ReferenceTasks[0])
	}
	x.Request.Agent = c.agent
	x.Request.Hops = chat.ParseHops(c.request.Header.Get(chat.HopsHeader))
	return nil
}

// errNoMessage is the error of a message to a task that waits for none.
func errNoMessage() error {
	return sdk.NewError(sdk.ErrUnsupportedOperation, "The task waits for no message")
}

// continueTask finds the task that a message is the reply to. A kept task that waits for no message
// passes: it may have continued with this very message, sent before. The code that begins the turn
// checks its key first, and refuses other messages (noTask).
func (s *Server) continueTask(c *call, m *sdk.Message, x *dialect.Exchange) error {
	task, err := s.findTask(c, m.TaskID)
	switch {
	case err != nil:
		return err
	case s.running.get(m.TaskID) != nil: // it is not kept
		return errNoMessage()
	case m.ContextID != "" && m.ContextID != task.ContextID:
		return invalidParam("message.contextId is not that of the task")
	}
	if x.Request.ConversationID, _ = chat.CheckConversationID(task.ContextID); x.Request.ConversationID == "" {
		return errNoMessage()
	}
	x.TaskID = string(m.TaskID)
	return nil
}

// textOf returns the input of a message: its parts, a line each.
func textOf(m *sdk.Message) (string, error) {
	if len(m.Parts) == 0 {
		return "", invalidParam("message.parts must not be empty")
	}
	texts := make([]string, len(m.Parts))
	for i, part := range m.Parts {
		if part == nil || part.Content == nil {
			return "", invalidParam("message.parts holds an empty part")
		}
		text, ok := part.Content.(sdk.Text)
		if !ok {
			return "", sdk.NewError(sdk.ErrUnsupportedContentType, "Only parts of text are supported")
		}
		texts[i] = string(text)
	}
	return strings.Join(texts, "\n"), nil
}

// keyOf returns the idempotency key of a message, and the bytes that a repetition must equal.
// Clients choose the ids of messages, and some count. For an unknown client an id alone is a key
// only if it is a UUID: otherwise two clients could share a task.
func keyOf(c *call, m *sdk.Message) (key string, keyed []byte) {
	sum := sha256.Sum256([]byte(strings.Join([]string{c.agent, m.ContextID, string(m.TaskID), m.ID}, "\x00")))
	keyed, _ = json.Marshal(m) // it was read from JSON
	return "a2a-" + hex.EncodeToString(sum[:16]), keyed
}

// newFollower returns the encoder of a stream.
func (s *Server) newFollower(c *call, t *turn) *eventEncoder {
	e := &eventEncoder{turn: t}
	if c.events {
		e.native = s.cfg.Native(chat.RequestID(c.request.Context()))
	}
	return e
}

// observeTurn makes a turn that is not kept known while it runs.
func (s *Server) observeTurn(x *dialect.Exchange, t *turn) {
	run := &run{turn: *t}
	run.Only = stream.Answer
	x.Begun = run.setCancel
	x.Output = func(next stream.Output) stream.Output { return &observer{Output: next, run: run, all: &s.running} }
	x.Close = func() { s.running.remove(run) }
}
