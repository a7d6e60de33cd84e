package task

import (
	"context"
	"errors"
	"strconv"
	"time"

	"sluice/internal/state/store"
)

// contentNotes stores the content of requests, for all gateways of a store.
type contentNotes struct{ values store.Values }

// contentMemory is how long the content of a turn is noted, from its admission on.
const contentMemory = 10 * time.Minute

// contentTries is how often a note is replaced that others replace at the same time. Each of
// theirs is as good as this one.
const contentTries = 3

// NoteContent notes the content of a turn for all gateways of the store, and reports whether there was
// a note of it. A repetition is not noted where there is one. If the store is unavailable, the
// content counts as unknown. requestID is the request that owns the note.
//
// If several equal requests come at the same time, known is false for only one of them: the store
// makes a missing note in one step.
func (s *contentNotes) NoteContent(ctx context.Context, content [32]byte, requestID string, repetition bool) (known bool) {
	key, note := store.ContentKey(content), store.Value{Data: strconv.AppendQuote(nil, requestID)}
	for range contentTries {
		there, err := s.values.PutValue(ctx, key, note, contentMemory)
		if !errors.Is(err, store.ErrConflict) {
			break
		}
		known = known || there.Version > 0
		if note.Version = there.Version; known && repetition {
			break
		}
	}
	return known
}

// DropContent removes the note of a request, unless a later one has replaced it.
func (s *contentNotes) DropContent(ctx context.Context, content [32]byte, requestID string) {
	ctx, key := context.WithoutCancel(ctx), store.ContentKey(content)
	if there, err := s.values.Value(ctx, key); err == nil && string(there.Data) == strconv.Quote(requestID) {
		_ = s.values.DeleteValue(ctx, key)
	}
}
