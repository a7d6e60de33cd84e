package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"sluice/internal/turn/tool"
	"sluice/mcpclient/internal/wire"
)

// session is one initialised connection to a server, shared by all turns. It is
// never initialised a second time: that would race with its calls. A new session
// takes its place, and it is shut when its last call has ended.
//
// openSession makes it; acquire and release bracket each use. The first user that finds it broken
// calls retire, so that no further use begins. The one goroutine awaitClose calls closeSession once
// drained is closed or a call's time is over.
type session struct {
	client   *client.Client
	born     time.Time
	protocol string
	offers   *catalogue // as listed first

	listeners *listeners // the server's, of all its sessions

	// stop ends the context that the transport lives in.
	stop context.CancelFunc
	// closed ends the calls that are still under way when the session is closed.
	closed chan struct{}

	// dead is closed when the transport finds itself dead; deadErr is the reason.
	dead     chan struct{}
	deadErr  error
	deadOnce sync.Once

	// silent counts timeouts since the last answer.
	silent atomic.Int32

	mu       sync.Mutex // guards the fields below
	calls    int
	retired  bool
	retiring chan struct{} // closed when the session is retired
	drained  chan struct{} // closed when it is retired and unused
}

// newSession returns a session whose client is still to be set. stop ends the context of
// its transport.
func newSession(stop context.CancelFunc, l *listeners) *session {
	return &session{
		born: time.Now(), stop: stop, listeners: l,
		closed: make(chan struct{}), dead: make(chan struct{}),
		retiring: make(chan struct{}), drained: make(chan struct{}),
	}
}

// acquire begins a use of the session, which release ends. It returns false once the session is
// retired.
func (s *session) acquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return false
	}
	s.calls++
	return true
}

// release ends what acquire began. The last one after retire lets the session be shut.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
	if s.retired && s.calls == 0 {
		close(s.drained)
	}
}

// retire lets no more calls in.
func (s *session) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retired {
		return
	}
	s.retired = true
	close(s.retiring)
	if s.calls == 0 {
		close(s.drained)
	}
}

// markLost records that the transport is dead.
func (s *session) markLost(err error) {
	s.deadOnce.Do(func() {
		s.deadErr = err
		close(s.dead)
	})
}

// closeSession ends the session: over HTTP with a DELETE, a child with its process group.
func (s *session) closeSession() {
	close(s.closed)
	_ = s.client.Close() // the session is over: an error changes nothing
	s.stop()
}

// initialize performs the handshake.
func (s *session) initialize(ctx context.Context, version string) error {
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "sluice", Version: version}
	result, err := s.client.Initialize(ctx, req)
	if err != nil {
		return err
	}
	s.protocol = result.ProtocolVersion
	return nil
}

// listTools reads the list of tools, as far as the bounds let it. A server that does not know the
// method has an empty list.
func (s *session) listTools(ctx context.Context) (*wire.List, error) {
	x := wire.NewList()
	_, err := s.client.ListTools(wire.WithExchange(ctx, x), mcp.ListToolsRequest{})
	if errors.Is(err, mcp.ErrMethodNotFound) {
		return &wire.List{}, nil
	}
	if err != nil {
		return nil, err
	}
	return x.List, nil
}

// sendCall runs a tool and returns the exchange, also with an error, because the exchange shows
// whether the call was sent. progress gets the reports of the tool; with nil the server sends none.
// With identity the server receives for whom the tool runs; it receives the call's key
// (tool.WithKey) in any case.
func (s *session) sendCall(ctx context.Context, name string, args json.RawMessage, progress *listener, identity bool) (*wire.Exchange, error) {
	x := wire.NewCall()
	req := mcp.CallToolRequest{}
	req.Params.Name = name
	req.Params.RawArguments = args
	if progress != nil {
		token := s.listeners.add(progress)
		defer s.listeners.remove(token)
		req.Params.Meta = &mcp.Meta{ProgressToken: token}
		x.OnMessage = s.listeners.onMessage
	}
	if identity {
		addIdentity(ctx, &req, x)
	}
	if key := tool.KeyOf(ctx); key != "" {
		setMeta(&req, metaCallKey, key)
	}
	_, err := s.client.CallTool(wire.WithExchange(ctx, x), req)
	return x, err
}
