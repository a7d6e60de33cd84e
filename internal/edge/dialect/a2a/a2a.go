// Package a2a speaks the Agent2Agent protocol, versions 1.0 and 0.3, as JSON-RPC and as
// HTTP+JSON: other agents reach the team, or one of its agents, with it.
//
// The transports are a2a-go's, in front of a request handler of our own (handler). Their immediate
// answers are the replies. A message that begins a turn they only read: the turn runs and is
// reported as any other (dialect.Exchange), so that log, limits, heartbeats and deadlines are the
// same. A frame of a stream, in 1.0 over JSON-RPC:
//
//	data: {"jsonrpc":"2.0","id":1,"result":{"artifactUpdate":{"append":true,"artifact":{...},...}}}
//
// See docs/a2a.md.
//
// The verbs: open (a request), find (a task), follow (a turn), append (to a frame), reword (an
// error), list (tasks).
package a2a

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"sluice/internal/edge/dialect"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// extensionURI is the URI of the extension that adds the gateway's own events.
const extensionURI = "urn:sluice:events:v1"

// Config describes a Server. Its zero value serves one agent, of which nothing is kept,
// in version 1.0.
type Config struct {
	Version string // of the program, for cards
	// PublicURL is where clients reach the gateway, without a slash at the end; empty: as
	// each says in Host.
	PublicURL string
	V03       bool // clients of version 0.3 are served too
	// Agents returns the team. With nil, or an empty team, one agent without a name answers.
	Agents func() []Agent
	// Tasks knows the turns that are kept. nil: none are.
	Tasks Tasks
	// Attached says that a client that leaves ends its turn, although it is kept.
	Attached bool
	// Credentials are the accepted kinds of credentials, of which a client must show one; nil
	// without authentication.
	Credentials *Credentials
	// PrivateCards shows cards only to clients that may run turns.
	PrivateCards bool
	// Native returns an encoder of our own protocol for a turn; the extension uses its names and
	// data. nil turns the extension off.
	Native func(requestID string) stream.Encoder
}

// Credentials are the kinds of credentials that a gateway accepts. Tokens of issuers without
// discovery are not among them.
type Credentials struct {
	Keys bool // API keys
	// Issuers are the addresses of those whose settings can be discovered.
	Issuers []string
}

// Agent is one of a team.
type Agent struct {
	ID, Name, Description  string
	Capabilities, Examples []string
	Exposed                bool // it has endpoints of its own
	Routable               bool // the team's router may choose it
}

// ErrGone means that the log of a turn is missing or cannot be read.
var ErrGone = errors.New("no log of this turn")

// Tasks are the turns that are kept. An error that a client may see is a *fault.Error.
type Tasks interface {
	// Task returns the document of a task, and the id of its last turn.
	Task(ctx context.Context, who chat.Principal, id string) (doc []byte, turn string, err error)
	// Listing begins a list, and returns what ends it. Its error is that of too many at once.
	Listing() (done func(), err error)
	// List returns a page: {"tasks":[documents],"next_cursor"}. Its documents have up to
	// most bytes, or it is one, and artifacts only if they are asked for.
	List(ctx context.Context, who chat.Principal, q store.Query, artifacts bool, most int) ([]byte, error)
	// Count returns how many tasks a query has, up to most.
	Count(ctx context.Context, who chat.Principal, q store.Query, most int) (int, error)
	// Cancel asks that a task be cancelled. It may take a moment.
	Cancel(ctx context.Context, who chat.Principal, id string) error
	// Questions returns those of some questions to people that the caller may answer.
	Questions(ctx context.Context, who chat.Principal, ids []string) ([]*stream.Approval, error)
	// Log returns the events of a turn. Its error, and those of the Log's methods, may be ErrGone.
	Log(ctx context.Context, turn string) (Log, error)
}

// Log is the log of one turn, in front of its reader.
type Log interface {
	// Past emits the events so far, and reports whether the turn has ended with them.
	Past(ctx context.Context, use func(stream.Event)) (ended bool, err error)
	// Follow emits the events as they come, up to Done. It calls flush behind events that came
	// together, and ends with its error.
	Follow(ctx context.Context, use func(stream.Stamp, stream.Event), flush func() error) error
}

// Server answers clients. It is safe for concurrent use. Use New.
type Server struct {
	cfg      Config
	wires    [4]http.Handler // a2a-go's transports, by wire
	running  registry
	discards *slog.Logger
}

// New returns a Server.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, discards: slog.New(slog.NewTextHandler(io.Discard, nil))}
	h := handler{s}
	s.wires[rpc10] = a2asrv.NewJSONRPCHandler(h)
	s.wires[rest10] = a2asrv.NewRESTHandler(h)
	s.wires[rpc03] = a2av0.NewJSONRPCHandler(h)
	s.wires[rest03] = a2av0.NewRESTHandler(h)
	return s
}

// Paths of the endpoints; those of an agent have /agents/{id} in them.
const (
	root      = "/a2a"
	restPath  = "/rest"
	wellKnown = "/.well-known/agent-card.json"
	agentRoot = root + "/agents/{id}"
)

// Routes implements dialect.Dialect.
func (s *Server) Routes() []dialect.Route {
	card := dialect.Route{Methods: []string{http.MethodGet}, NoBody: true, Mixed: true, Use: dialect.Read, Public: !s.cfg.PrivateCards, Open: s.openCard}
	cards := []dialect.Route{card, card, card}
	cards[0].Path, cards[1].Path, cards[2].Path = wellKnown, agentRoot+wellKnown, root+wellKnown
	all := append(cards, append(s.endpointRoutes(agentRoot), s.endpointRoutes(root)...)...)
	for i := range all {
		all[i].Dialect, all[i].Retracts = "a2a", true
	}
	return all
}

// endpointRoutes returns the routes of one endpoint.
func (s *Server) endpointRoutes(path string) []dialect.Route {
	rpc := dialect.Route{
		Methods: []string{http.MethodPost}, ContentType: "*/*", Mixed: true, Use: dialect.Either, Headers: []string{sdk.SvcParamVersion, sdk.SvcParamExtensions},
		Open: s.openRPC, Refuse: envelope{wire: rpc10}.refuse,
	}
	both := []dialect.Route{rpc, rpc}
	both[0].Path, both[1].Path = path, path+"/"
	read := dialect.Route{
		Methods: []string{http.MethodGet, http.MethodDelete}, Path: path + restPath + "/{rest...}", NoBody: true, Mixed: true, Use: dialect.Either,
		Open: s.openREST, Refuse: envelope{wire: rest10}.refuse,
	}
	write := read
	write.Methods, write.NoBody, write.ContentType = []string{http.MethodPost}, false, "*/*"
	return append(both, read, write)
}

// teamAgents returns the team.
func (s *Server) teamAgents() []Agent {
	if s.cfg.Agents == nil {
		return nil
	}
	return s.cfg.Agents()
}

// exposedAgent returns the agent of a path, or false if it lacks an endpoint.
func (s *Server) exposedAgent(id string) (Agent, bool) {
	for _, a := range s.teamAgents() {
		if a.ID == id {
			return a, a.Exposed
		}
	}
	return Agent{}, false
}

var _ a2asrv.RequestHandler = handler{}

// describeExtension describes the extension in a card.
func describeExtension() sdk.AgentExtension {
	return sdk.AgentExtension{URI: extensionURI, Description: "The gateway's own events (tool calls, thoughts, routing and others) as metadata of status updates"}
}
