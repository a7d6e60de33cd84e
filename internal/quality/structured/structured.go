package structured

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Asker asks a model for an object of one form, twice at most.
type Asker interface {
	// Ask returns an object that the form's schema describes. If the model gave none, the error
	// wraps ErrInvalid or ErrCut. The request is the Asker's to keep; it must not be changed.
	Ask(ctx context.Context, req *chat.ModelRequest) (Reply, error)
}

// Errors of an Asker.
var (
	// ErrInvalid is that of answers of which none fits the schema.
	ErrInvalid = errors.New("the model gave no object that the schema describes")
	// ErrCut is the error of an object that exceeds the limit of tokens.
	ErrCut = errors.New("the object was cut at the limit of tokens")
)

// Reply is the answer to an Asker.
type Reply struct {
	JSON  jsontext.Value
	Usage chat.Usage // also with an error
	Key   string     // of the model that answered
	Text  string     // with ErrCut: the answer as far as it came
}

// Config describes a runner of one form.
type Config struct {
	Asker Asker
	// Opening returns the first request of the only agent that can answer, if no tool is on offer.
	// It returns false if the agent must run. If it is nil, the agent always runs.
	Opening func(ctx context.Context, req *chat.Request) (*chat.ModelRequest, bool)
	// Keyed says that models are configured by key: stream.Result.Keyed.
	Keyed bool
}

// Around returns a runner for requests with an Answer. inner runs unless Opening makes that
// needless.
func Around(inner stream.Runner, cfg Config) stream.Runner { return &runner{cfg, inner} }

type runner struct {
	Config
	inner stream.Runner
}

// Run implements stream.Runner.
func (r *runner) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	t := newTurn(r, ctx, req, sink)
	err := t.runTurn()
	t.settleInner("") // unless something was emitted
	if err == nil {
		err = t.sink.Err
	}
	return t.out, err
}
