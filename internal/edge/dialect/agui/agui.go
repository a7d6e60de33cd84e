// Package agui speaks AG-UI, the protocol of CopilotKit and of @ag-ui/client from 0.0.45 to
// 1.x: POST /agui, and POST /agui/{agent} for one agent or workflow, answered by Server-Sent
// Events with JSON.
//
// A frame, byte for byte:
//
//	data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_..._1","delta":"Hel"}
//
// It sends only types of events that clients before 1.0 know: an unknown one ends a run. An event that
// the protocol lacks becomes a CUSTOM event. Its name begins with sluice.
//
// The verbs: read (a member), add (a fault), open and end (a stretch), append (an event).
package agui

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Name is the protocol's name in metrics, logs and stored turns.
const Name = "ag_ui"

// Config describes a Server. Its zero value serves the default agent alone.
type Config struct {
	Rules dialect.Rules
	// Agents returns the ids of agents and of workflows that a path of somebody of a tenant may
	// name. It is called for each request. nil stands for an empty catalogue.
	Agents func(tenant string) (agents, workflows []string)
}

// Server answers the protocol's clients. It is safe for concurrent use. Use New.
type Server struct{ cfg Config }

// New returns a Server.
func New(cfg Config) *Server {
	if cfg.Agents == nil {
		cfg.Agents = func(string) (agents, workflows []string) { return nil, nil }
	}
	return &Server{cfg: cfg}
}

// Routes implements dialect.Dialect.
func (s *Server) Routes() (routes []dialect.Route) {
	for _, path := range []string{"/agui", "/agui/{agent}"} {
		routes = append(routes, dialect.Route{
			Dialect: Name, Methods: []string{http.MethodPost}, Path: path, MaxBody: s.cfg.Rules.MaxBody(),
			Open: s.openRun, Resume: resumeEncoder, Refuse: refuse,
		})
	}
	return routes
}

// refuse words a refusal as a problem document, under the name of plain JSON: the protocol's
// clients parse no other.
func refuse(r dialect.Refusal) dialect.Reply {
	reply := dialect.Problem(r)
	reply.ContentType = "application/json"
	return reply
}

// openRun reads the request of a turn.
func (s *Server) openRun(r *http.Request, body []byte) (*dialect.Exchange, error) {
	path := r.PathValue("agent")
	agent, workflow, ok := s.resolvePath(chat.TurnOf(r.Context()).Principal.Tenant, path)
	if !ok {
		return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such agent or workflow; GET /agents and GET /workflows list them"}
	}
	e := new(chat.ValidationError)
	in := s.readInput(body, e)
	var err error
	if len(e.Fields) > 0 {
		err = e
	}
	key, err := dialect.HeaderKey(r, err)
	if err != nil {
		return nil, err
	}
	if path != "" {
		in.request.Agent, in.request.Workflow = agent, workflow
	}
	turn := chat.TurnOf(r.Context())
	x := &dialect.Exchange{
		Request: in.request, Repetition: dialect.Repetition{Key: key}, TaskID: in.taskID, Mode: in.mode(), Facts: in.facts.encodeFacts(),
		Encoder: newEncoder(turn.RequestID, turn.Began, in.facts),
	}
	if in.answer != nil {
		x.Approval, x.RunsOn, x.Refuse = in.answer, in.disconnect == "", refuseAnswer(in.facts)
	}
	if key == "" {
		x.Key, x.KeyMade, x.Keyed = ownKey(path, body), true, body
	}
	return x, nil
}

// resolvePath returns the agent or workflow that a path names. Without a name both are empty.
func (s *Server) resolvePath(tenant, id string) (agent, workflow string, ok bool) {
	if id == "" {
		return "", "", true
	}
	agents, workflows := s.cfg.Agents(tenant)
	switch {
	case slices.Contains(agents, id):
		return id, "", true
	case slices.Contains(workflows, id):
		return "", id, true
	}
	return "", "", false
}

// ownKey makes the idempotency key of a request without one. runId alone is not enough: CopilotKit
// keeps it when it sends the results of tools.
func ownKey(path string, body []byte) string {
	h := sha256.New()
	h.Write([]byte(path + "\x00"))
	h.Write(body)
	return "agui-" + hex.EncodeToString(h.Sum(nil))
}

// facts are the members of a request that the encoder of its log needs: the client's ids, and for
// an answer the thread's calls.
type facts struct {
	Thread string `json:"threadId"`
	Run    string `json:"runId"`
	dialect.Reported
}

// encodeFacts returns the facts as they are kept.
func (f facts) encodeFacts() []byte {
	text, err := json.Marshal(f)
	if err != nil { // plain strings: cannot happen
		return nil
	}
	return text
}

// resumeEncoder returns the encoder of a turn that is kept. For a turn of another protocol, the turn's id
// stands for the client's ids.
func resumeEncoder(k dialect.StoredTurn) stream.Encoder {
	var f facts
	if k.Dialect == Name {
		_ = json.Unmarshal(k.Facts, &f)
	}
	f.Thread, f.Run = cmp.Or(f.Thread, k.TurnID), cmp.Or(f.Run, k.TurnID)
	return newEncoder(k.RequestID, k.Began, f)
}
