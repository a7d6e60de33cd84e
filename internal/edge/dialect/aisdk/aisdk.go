// Package aisdk speaks the UI message stream, version 1, of the AI SDK: what useChat and
// DefaultChatTransport of the npm package ai send and read, from 5.0.100 on.
//
// A frame, byte for byte:
//
//	data: {"type":"text-delta","id":"4zq2hxk5n7a3mmgd_1","delta":"Hello"}
//
// and at the end data: [DONE]. What the protocol has no part for comes as data-sluice, with the
// members of our own protocol. No call of the gateway's servers is the client's to run: it is
// marked as executed.
package aisdk

import (
	"net/http"

	"github.com/go-json-experiment/json"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// protocolName is the protocol's name in metrics and logs, and in what is kept of a turn.
const protocolName = "ai_sdk"

// Paths of the protocol, which are those that its clients expect.
const (
	path       = "/api/chat"
	streamPath = "/api/chat/{id}/stream"
)

// Config describes a Server. Its zero value works.
type Config struct {
	Rules dialect.Rules
	// Turns are those that are kept; nil: none is, and there is nothing to resume.
	Turns Turns
}

// Server answers the requests of useChat. It is safe for concurrent use. Use New.
type Server struct{ cfg Config }

// New returns a Server.
func New(cfg Config) *Server { return &Server{cfg: cfg} }

// Routes implements dialect.Dialect.
func (s *Server) Routes() []dialect.Route {
	return []dialect.Route{
		{Dialect: protocolName, Methods: []string{http.MethodPost}, Path: path, MaxBody: s.cfg.Rules.MaxBody(), Open: s.open, Resume: resume, Refuse: refuse},
		{Dialect: protocolName, Methods: []string{http.MethodGet}, Path: streamPath, NoBody: true, Mixed: true, Use: dialect.Read, Open: s.follow, Refuse: refuse},
		{Dialect: protocolName, Methods: []string{http.MethodDelete}, Path: streamPath, NoBody: true, Mixed: true, Use: dialect.Free, Open: s.stop, Refuse: refuse},
	}
}

// head is the header by which clients know the protocol.
func head() http.Header { return http.Header{"X-Vercel-Ai-Ui-Message-Stream": {"v1"}} }

// open reads the request of a turn.
func (s *Server) open(r *http.Request, body []byte) (*dialect.Exchange, error) {
	e := new(chat.ValidationError)
	q := s.read(body, e)
	var err error
	if len(e.Fields) > 0 {
		err = e
	}
	key, err := dialect.HeaderKey(r, err)
	if err != nil {
		return nil, err
	}
	header := head()
	dialect.AddIgnored(header, q.passed)
	turn := chat.TurnOf(r.Context())
	return &dialect.Exchange{
		Request: q.request, Answering: dialect.Answering{Approval: q.answer, RunsOn: q.runsOn}, TaskID: q.taskID, Repetition: dialect.Repetition{Key: key}, Mode: q.mode, Facts: q.facts.text(),
		Header:  header,
		Encoder: newEncoder("", turn.RequestID, turn.Began, q.facts),
	}, nil
}

// facts are what the encoder of a log must know.
type facts struct {
	// Continues says that the last message is the assistant's.
	Continues bool `json:"continues,omitzero"`
	// Mute says that nobody can be asked by this client.
	Mute bool `json:"mute,omitzero"`
	dialect.Reported
}

// text returns the facts as they are kept; nil: there are none.
func (f facts) text() []byte {
	text, err := json.Marshal(f)
	if err != nil || string(text) == "{}" { // plain strings: there is no error
		return nil
	}
	return text
}

// factsOf returns what is kept of a request of this protocol.
func factsOf(k dialect.StoredTurn) (f facts) {
	if k.Dialect == protocolName {
		_ = json.Unmarshal(k.Facts, &f)
	}
	return f
}

// resume returns the encoder of a stream that is kept.
func resume(k dialect.StoredTurn) stream.Encoder {
	return newEncoder(k.TurnID, k.RequestID, k.Began, factsOf(k))
}

// reload is resume for a page that may have lost its messages: it fails on the result of a call
// that it does not have, so calls that were asked about are whole.
func reload(k dialect.StoredTurn) stream.Encoder {
	f := factsOf(k)
	f.Waited = nil
	return newEncoder(k.TurnID, k.RequestID, k.Began, f)
}
