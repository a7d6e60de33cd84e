package task

import (
	"context"
	"errors"
	"strconv"
	"time"

	"sluice/store"
)

// contentMemory is how long the content of a turn is noted, from its admission on.
const contentMemory = 10 * time.Minute

// NoteContent notes the content of a turn for all gateways of the store, and says whether there
// was a note of it. A repetition is not noted where there is one. A store that is unavailable
// knows nothing. requestID is whose note it is.
func (s *Service) NoteContent(ctx context.Context, content [32]byte, requestID string, repetition bool) (known bool) {
	key := store.ContentKey(content)
	there, err := s.cfg.Store.Value(ctx, key)
	switch {
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false
	case err == nil && repetition:
		return true
	}
	_, _ = s.cfg.Store.PutValue(ctx, key, store.Value{Data: strconv.AppendQuote(nil, requestID), Version: there.Version}, contentMemory)
	return err == nil
}

// DropContent removes the note of a request, unless a later one has replaced it.
func (s *Service) DropContent(ctx context.Context, content [32]byte, requestID string) {
	ctx, key := context.WithoutCancel(ctx), store.ContentKey(content)
	if there, err := s.cfg.Store.Value(ctx, key); err == nil && string(there.Data) == strconv.Quote(requestID) {
		_ = s.cfg.Store.DeleteValue(ctx, key)
	}
}
