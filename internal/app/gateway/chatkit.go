package gateway

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"sluice/internal/app/settings"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/edge/dialect/chatkit/threads"
)

// forgetThread removes a thread of ChatKit that was kept before the conversations.
func (s *storedState) forgetThread(ctx context.Context, tenant, owner, id string) error {
	err := threads.New(s.store).Delete(ctx, chatkit.OwnerOf(tenant, owner), id)
	if errors.Is(err, chatkit.ErrNotFound) {
		return nil
	}
	return err
}

// newChatKit returns the dialect of OpenAI's ChatKit component. s is nil without a store.
func newChatKit(history settings.History, s *storedState) *chatkit.Server {
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
	if s != nil {
		cfg.Listing = s.tasks.Listing
	}
	switch {
	case s.conversations() != nil:
		view := threads.NewView(s.journal, s.forgetConversation)
		cfg.Store, cfg.Follows = view, view.Follows
	case history == settings.HistoryInMemory:
		cfg.Store = new(chatkit.Memory)
	case history == settings.HistoryInStore && s != nil:
		cfg.Store = threads.New(s.store)
	}
	return chatkit.New(cfg)
}
