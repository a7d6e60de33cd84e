package gateway

import (
	"context"

	"github.com/rs/zerolog"

	"sluice/config"
	"sluice/dialect/chatkit"
)

// newChatKit returns the dialect of OpenAI's ChatKit component.
func newChatKit(history string) *chatkit.Server {
	cfg := chatkit.Config{
		OnFeedback: func(ctx context.Context, f chatkit.Feedback) {
			line := zerolog.Ctx(ctx).Info().Str("conversation_id", f.ThreadID)
			if f.UserID != "" {
				line.Str("user_id", f.UserID)
			}
			line.Dict("details", zerolog.Dict().Strs("item_ids", f.ItemIDs).Str("kind", f.Kind)).Msg("feedback_received")
		},
		OnError: func(ctx context.Context, err error) {
			zerolog.Ctx(ctx).Error().Dict("details", zerolog.Dict().AnErr("cause", err)).Msg("chatkit_history_failed")
		},
	}
	if history == config.HistoryInMemory {
		cfg.Store = new(chatkit.Memory)
	}
	return chatkit.New(cfg)
}
