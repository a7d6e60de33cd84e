// Package aisdk speaks the UI message stream, version 1, of the AI SDK. It is the protocol of
// useChat and DefaultChatTransport in the npm package ai, from 5.0.100 on.
//
// A frame, byte for byte:
//
//	data: {"type":"text-delta","id":"4zq2hxk5n7a3mmgd_1","delta":"Hello"}
//
// and at the end data: [DONE]. An event that the protocol lacks becomes a data-sluice part, with
// the members of our own protocol. No call of the gateway's servers is the client's to run: it is
// marked as executed.
//
// The verbs: read (a member), add (a fault), open and end (a stretch), begin and finish (a step),
// append (a part).
package aisdk

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// protocolName is the protocol's name in metrics, logs and stored turns.
const protocolName = "ai_sdk"

// Paths of the protocol, as its clients expect them.
const (
	path       = "/api/chat"
	streamPath = "/api/chat/{id}/stream"
)

// Config describes a Server. Its zero value works.
type Config struct {
	Rules dialect.Rules
	// Turns gives access to stored turns. With nil, nothing can be resumed.
	Turns Turns
}

// Server answers the requests of useChat. It is safe for concurrent use. Use New.
type Server struct{ cfg Config }

// New returns a Server.
func New(cfg Config) *Server { return &Server{cfg: cfg} }

// Routes implements dialect.Dialect.
func (s *Server) Routes() []dialect.Route {
	return []dialect.Route{
		{Dialect: protocolName, Methods: []string{http.MethodPost}, Path: path, MaxBody: s.cfg.Rules.MaxBody(), Open: s.openChat, Resume: resumeEncoder, Refuse: refuse},
		{Dialect: protocolName, Methods: []string{http.MethodGet}, Path: streamPath, NoBody: true, Mixed: true, Use: dialect.Read, Open: s.followTurn, Refuse: refuse},
		{Dialect: protocolName, Methods: []string{http.MethodDelete}, Path: streamPath, NoBody: true, Mixed: true, Use: dialect.Free, Open: s.stopTurn, Refuse: refuse},
	}
}

// protocolHeader is the header by which clients know the protocol.
func protocolHeader() http.Header { return http.Header{"X-Vercel-Ai-Ui-Message-Stream": {"v1"}} }

// openChat reads the request of a turn.
func (s *Server) openChat(r *http.Request, body []byte) (*dialect.Exchange, error) {
	e := new(chat.ValidationError)
	q := s.readRequest(body, e)
	var err error
	if len(e.Fields) > 0 {
		err = e
	}
	key, err := dialect.HeaderKey(r, err)
	if err != nil {
		return nil, err
	}
	header := protocolHeader()
	dialect.AddIgnored(header, q.passed)
	turn := chat.TurnOf(r.Context())
	return &dialect.Exchange{
		Request: q.request, Answering: dialect.Answering{Approval: q.answer, RunsOn: q.runsOn}, TaskID: q.taskID, Repetition: dialect.Repetition{Key: key}, Mode: q.mode, Facts: q.facts.encodeFacts(),
		Header:  header,
		Encoder: newEncoder("", turn.RequestID, turn.Began, q.facts),
	}, nil
}

// facts are the members of a request that the encoder of its log needs.
type facts struct {
	// Continues says that the last message is the assistant's.
	Continues bool `json:"continues,omitzero"`
	// Mute says that nobody can be asked by this client.
	Mute bool `json:"mute,omitzero"`
	dialect.Reported
}

// encodeFacts returns the stored form of the facts, or nil if they are empty.
func (f facts) encodeFacts() []byte {
	text, err := json.Marshal(f)
	if err != nil || string(text) == "{}" { // plain strings cannot fail
		return nil
	}
	return text
}

// factsOf returns the stored facts of a request of this protocol.
func factsOf(k dialect.StoredTurn) (f facts) {
	if k.Dialect == protocolName {
		_ = json.Unmarshal(k.Facts, &f)
	}
	return f
}

// resumeEncoder returns the encoder of a stream that is kept.
func resumeEncoder(k dialect.StoredTurn) stream.Encoder {
	return newEncoder(k.TurnID, k.RequestID, k.Began, factsOf(k))
}

// reloadEncoder is resumeEncoder for a page that may have lost its messages. Such a page fails on
// the result of a call that it does not have, so this encoder writes waiting calls in full.
func reloadEncoder(k dialect.StoredTurn) stream.Encoder {
	f := factsOf(k)
	f.Waited = nil
	return newEncoder(k.TurnID, k.RequestID, k.Began, f)
}
