package operate

import (
	"context"
	"net/http"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/task/recording"
)

// Gateway is a gateway that answers the request of a recording.
type Gateway interface {
	http.Handler
	Close()
}

// Rerunning is the result of a turn that was run again.
type Rerunning struct {
	Body []byte // the client's reply
	// Unanswered are the requests that the recording cannot answer, and Unused is the number of its
	// answers that were not requested.
	Unanswered []string
	Unused     int
}

// Rerun answers the request of a recording with the inputs of the recording alone: it does not ask
// models, tools or receivers. cfg is that of the gateway that made the recording, but the store is
// empty. speed is as in recording.Player. The error is that of start, which starts a gateway over a
// player and a store (nil: none), or of ctx.
//
// No port is opened and no file is written.
func Rerun(ctx context.Context, cfg settings.Config, r *recording.Recording, speed float64,
	start func(context.Context, settings.Config, *recording.Player, store.Store) (Gateway, error),
) (out Rerunning, err error) {
	config.Change(&cfg.Config, func(c *recording.Config) { c.Dir = "" })
	config.Change(&cfg.Config, func(c *store.Config) { c.At = store.Location{} })
	config.Change(&cfg.Config, func(c *settings.Process) { c.AdminAddr = "" })
	player := recording.NewPlayer(r)
	player.Speed = speed
	var kept store.Store
	if r.Stored {
		kept = memory.New(memory.Config{})
	}
	g, err := start(ctx, cfg, player, kept)
	if err != nil {
		return out, err
	}
	defer g.Close()
	req, err := r.HTTP(ctx)
	if err != nil {
		return out, err
	}
	client := player.Client()
	client.Serve(g, req)
	out.Unanswered, out.Unused = player.Extra()
	out.Body = client.Body()
	return out, context.Cause(ctx)
}
