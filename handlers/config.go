package handlers

import (
	"context"
	"io/fs"
	"net/http"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/base/telemetry/trace"
	"sluice/internal/edge/dialect"
	"sluice/internal/engine/approval"
	"sluice/internal/state/task"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// Defaults of Config.
const (
	defaultTimeout    = 30 * time.Second
	defaultMaxStreams = 10_000
)

// Config describes a Server. Runner is required; everything else may be zero.
type Config struct {
	Runner stream.Runner
	// Choose returns the runner for a request, and the time limit of the turn. Its error refuses
	// the request. nil: Runner does, within Timeout, and a request that names an agent is refused.
	Choose func(*chat.Request) (stream.Runner, time.Duration, error)
	// Team returns the agents that senders of a tenant can name, for GET /agents; nil: without
	// agents.
	Team func(tenant string) *Team
	// Workflows returns the workflows that they can name, for GET /workflows; nil: without
	// workflows.
	Workflows func(tenant string) []Workflow
	// Model is the name in the start event.
	Model string
	Limits
	// Tools returns the tools that the model can call, for GET /tools.
	Tools func(context.Context) *tool.Set
	// Health knows the parts behind the gateway, for GET /readyz; nil: without parts.
	Health *health.Registry
	// Metrics is the registry of GET /metrics. nil makes one.
	Metrics *metrics.Registry
	// Tracer begins a span for each turn. nil: without spans.
	Tracer trace.Tracer
	// Retracts says that a model is configured to begin answers again (fallback_after_text).
	Retracts bool
	// TokensByModel says that the models count the tokens, each its own.
	TokensByModel bool
	Keeping
	// Dialects are the protocols in which turns are asked for and answered.
	Dialects []dialect.Dialect
	// Channels words texts without a turn. nil: GET /channels and its like do not exist.
	Channels Channels
	// Page holds index.html, its files and openapi.yaml. nil serves no page.
	Page fs.FS

	// Door authenticates the senders of requests. nil: everybody may do everything.
	Door Door
	// Tickets seal requests for clients that cannot send headers. nil: without tickets.
	Tickets Tickets
	// Limiter counts requests and turns. nil: without limits.
	Limiter Limiter
	// Client returns the address that a request comes from, for the audit. nil: it is not said.
	Client func(*http.Request) string
	// Origins are the foreign origins that may use the API; "*" allows all.
	Origins []string
	// Hosts are the names and addresses, without a port, that a request's Host may name besides
	// those of loopback. Empty allows all.
	Hosts []string
	// Sealed adds the headers of a gateway with authentication or TLS to each reply.
	Sealed bool

	Log zerolog.Logger
	// LogPayloads puts the words of upstreams into the log. They may quote users.
	LogPayloads bool
}

// Keeping configures the data that outlives a connection.
type Keeping struct {
	// Tasks stores turns, so that they outlive their connections; nil: they end with them.
	Tasks *task.Service
	// Records has the other data of tasks; nil: without it.
	Records Records
	// Conversations keeps conversations; nil: there is no list of them.
	Conversations *conversation.Journal
	// Forget removes a conversation's data, after its tasks were removed.
	Forget []Forget
	// Approvals asks people about tool calls, and receives their answers; nil: without questions.
	Approvals *approval.Service
	// StoreRequired fails readiness while the store is unavailable.
	StoreRequired bool
}

// Limits bound the resources of a stream, a turn and a request.
type Limits struct {
	// Timeout bounds a turn; 0 means 30 s.
	Timeout time.Duration
	// Heartbeat is the silence after which a comment is sent. 0 turns it off.
	Heartbeat time.Duration
	// WriteTimeout bounds one write to a client. 0 turns the limit off.
	WriteTimeout time.Duration
	// BodyTimeout bounds the reading of a request's body; 0 means 10 s.
	BodyTimeout time.Duration
	// MaxStreams bounds the streams that run at once; 0 means 10,000.
	MaxStreams int
	// Delay returns how long work waited for the CPU since it was last called. If that
	// is too long, streams are refused below MaxStreams too. It is called from one
	// goroutine at a time. nil: MaxStreams alone decides.
	Delay func() time.Duration
}

// setDefaults sets the fields whose zero value means a default.
func (cfg *Config) setDefaults() {
	if cfg.MaxStreams == 0 {
		cfg.MaxStreams = defaultMaxStreams
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.BodyTimeout == 0 {
		cfg.BodyTimeout = 10 * time.Second
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metrics.New()
	}
}

// Forget removes the data of a conversation of an owner (chat.Request.Owner).
type Forget func(ctx context.Context, tenant, owner, conversation string) error
