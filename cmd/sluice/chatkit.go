package main

import (
	"context"

	"github.com/rs/zerolog"

	"sluice/config"
	"sluice/handlers"
	"sluice/stream/chatkit"
)

// chatKit is a dialect of the gateway: the protocol of OpenAI's ChatKit component.
type chatKit struct {
	server *chatkit.Server
	ctx    context.Context // the process's, for what keeps the threads
}

func (g *gateway) chatKit(ctx context.Context) chatKit {
	cfg := chatkit.Config{
		OnFeedback: func(f chatkit.Feedback) {
			line := g.log.Info().Str("conversation_id", f.ThreadID)
			if f.UserID != "" {
				line.Str("user_id", f.UserID)
			}
			line.Dict("details", zerolog.Dict().Strs("item_ids", f.ItemIDs).Str("kind", f.Kind)).Msg("feedback_received")
		},
		OnError: func(err error) {
			g.log.Error().Dict("details", zerolog.Dict().AnErr("cause", err)).Msg("chatkit_history_failed")
		},
	}
	if g.cfg.ChatKitHistory == config.HistoryInMemory {
		cfg.Store = new(chatkit.Memory)
	}
	return chatKit{chatkit.New(cfg), ctx}
}

// Open makes chatKit a handlers.Dialect.
func (c chatKit) Open(body []byte) (handlers.Exchange, error) {
	x, err := c.server.Open(c.ctx, body)
	return handlers.Exchange(x), err
}
