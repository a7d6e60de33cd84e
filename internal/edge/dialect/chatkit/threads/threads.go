// Package threads keeps ChatKit's threads in a store, so that any gateway can continue one that
// another began.
//
// A thread is a value, its items are a list next to it, and the threads of an owner are an
// index. All of it expires a day after the thread was changed last.
package threads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/state/store"
)

const (
	lives    = 24 * time.Hour
	maxItems = 500     // of a thread; the oldest go first
	maxBytes = 4 << 20 // of a thread's items
	// tries bounds the attempts to change a thread that somebody else changes meanwhile.
	tries = 5
)

// Engine has the parts of a store that the threads need; package store describes the methods.
type Engine interface {
	store.Values
	store.Lists
	store.Indexes
}

// Store is a chatkit.Store. It is safe for concurrent use, in any number of processes.
type Store struct{ engine Engine }

// New returns a Store over e.
func New(e Engine) *Store { return &Store{e} }

// thread is a thread as it is kept.
type thread struct {
	Owner   string    `json:"owner,omitzero"`
	Title   string    `json:"title,omitzero"`
	Created time.Time `json:"created"`
}

// item is an item as it is kept.
type item struct {
	ID    string         `json:"id"`
	Input string         `json:"input,omitzero"`
	Body  jsontext.Value `json:"body"`
}

// Create adds a thread.
func (s *Store) Create(ctx context.Context, owner string, t chatkit.Thread) error {
	kept := thread{owner, t.Title, t.CreatedAt}
	if _, err := s.engine.PutValue(ctx, store.ThreadKey(t.ID), store.Value{Data: encodeJSON(kept)}, lives); err != nil {
		return wrapError(t.ID, err)
	}
	return wrapError(t.ID, s.listThread(ctx, t.ID, kept))
}

// listThread puts a thread among those of its owner, or keeps it there for longer.
func (s *Store) listThread(ctx context.Context, id string, t thread) error {
	return s.engine.PutIndex(ctx, store.ThreadsKey("", t.Owner), store.Member{ID: id, Score: t.Created.UnixMilli()}, lives)
}

// Thread returns a thread.
func (s *Store) Thread(ctx context.Context, owner, threadID string) (chatkit.Thread, error) {
	t, _, err := s.findThread(ctx, owner, threadID)
	if err != nil {
		return chatkit.Thread{}, err
	}
	return t.toThread(threadID), nil
}

// toThread returns the thread as ChatKit knows it. Its id is the key, and so not stored twice.
func (t thread) toThread(id string) chatkit.Thread {
	return chatkit.Thread{ID: id, Title: t.Title, CreatedAt: t.Created}
}

// findThread returns a thread of an owner, and the version of its value. An unreadable thread
// counts as missing: somebody else wrote it.
func (s *Store) findThread(ctx context.Context, owner, threadID string) (t thread, version int64, err error) {
	v, err := s.engine.Value(ctx, store.ThreadKey(threadID))
	if err != nil {
		return thread{}, 0, wrapError(threadID, err)
	}
	if json.Unmarshal(v.Data, &t) != nil || t.Owner != owner {
		return thread{}, 0, wrapError(threadID, store.ErrNotFound)
	}
	return t, v.Version, nil
}

// Threads lists an owner's threads. It skips threads that the store has lost, and removes them from
// the index.
func (s *Store) Threads(ctx context.Context, owner string, q chatkit.Query) (list []chatkit.Thread, more bool, err error) {
	r := store.Range{Min: -1 << 53, Max: 1 << 53, Descending: q.Descending}
	if q.After != "" {
		last, _, err := s.findThread(ctx, owner, q.After)
		if errors.Is(err, chatkit.ErrNotFound) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		r.After = &store.Member{ID: q.After, Score: last.Created.UnixMilli()}
	}
	for {
		r.Limit = q.Limit + 1 - len(list)
		members, err := s.engine.Index(ctx, store.ThreadsKey("", owner), r)
		if err != nil {
			return nil, false, wrapError("list", err)
		}
		for _, m := range members {
			t, _, err := s.findThread(ctx, owner, m.ID)
			switch {
			case err == nil && len(list) == q.Limit:
				return list, true, nil
			case err == nil:
				list = append(list, t.toThread(m.ID))
			case !errors.Is(err, chatkit.ErrNotFound):
				return nil, false, err
			default:
				_ = s.engine.RemoveIndex(ctx, store.ThreadsKey("", owner), m.ID) // else the next list does it
			}
		}
		if len(members) < r.Limit {
			return list, false, nil
		}
		r.After = &members[len(members)-1]
	}
}

// Rename gives a thread another title.
func (s *Store) Rename(ctx context.Context, owner, threadID, title string) (chatkit.Thread, error) {
	for range tries {
		t, version, err := s.findThread(ctx, owner, threadID)
		if err != nil {
			return chatkit.Thread{}, err
		}
		t.Title = title
		_, err = s.engine.PutValue(ctx, store.ThreadKey(threadID), store.Value{Data: encodeJSON(t), Version: version}, lives)
		if err == nil {
			err = s.extendLife(ctx, threadID, t)
		}
		if !errors.Is(err, store.ErrConflict) {
			return t.toThread(threadID), wrapError(threadID, err)
		}
	}
	return chatkit.Thread{}, wrapError(threadID, store.ErrConflict)
}

// Delete removes a thread. If that fails half-way, the remaining parts cannot be found, and they
// expire.
func (s *Store) Delete(ctx context.Context, owner, threadID string) error {
	if _, _, err := s.findThread(ctx, owner, threadID); err != nil {
		return err
	}
	return wrapError(threadID, errors.Join(
		s.engine.DeleteValue(ctx, store.ThreadKey(threadID)),
		s.engine.DeleteList(ctx, store.ThreadItemsKey(threadID)),
		s.engine.RemoveIndex(ctx, store.ThreadsKey("", owner), threadID)))
}

// Append adds an item to a thread. A thread that is deleted meanwhile stays deleted.
func (s *Store) Append(ctx context.Context, owner, threadID string, i chatkit.Item) error {
	t, _, err := s.findThread(ctx, owner, threadID)
	if err != nil {
		return err
	}
	bounds := store.Bounds{Items: maxItems, Bytes: maxBytes}
	if err := s.engine.PushList(ctx, store.ThreadItemsKey(threadID), encodeJSON(item{i.ID, i.Input, i.Body}), bounds, lives); err != nil {
		return wrapError(threadID, err)
	}
	err = s.extendLife(ctx, threadID, t)
	if errors.Is(err, store.ErrNotFound) {
		err = errors.Join(err, s.engine.DeleteList(ctx, store.ThreadItemsKey(threadID)))
	}
	return wrapError(threadID, err)
}

// extendLife restarts a thread's time to live.
func (s *Store) extendLife(ctx context.Context, threadID string, t thread) error {
	if err := s.engine.KeepValue(ctx, store.ThreadKey(threadID), lives); err != nil {
		return err
	}
	return s.listThread(ctx, threadID, t)
}

// Item returns one item.
func (s *Store) Item(ctx context.Context, owner, threadID, itemID string) (chatkit.Item, error) {
	all, err := s.readItems(ctx, owner, threadID)
	if err != nil {
		return chatkit.Item{}, err
	}
	at, err := indexOf(all, threadID, itemID)
	if err != nil {
		return chatkit.Item{}, err
	}
	return all[at], nil
}

// Items lists the items of a thread.
func (s *Store) Items(ctx context.Context, owner, threadID string, q chatkit.Query) ([]chatkit.Item, bool, error) {
	all, err := s.readItems(ctx, owner, threadID)
	if err != nil {
		return nil, false, err
	}
	all = slices.DeleteFunc(all, func(i chatkit.Item) bool { return i.ID == "" })
	if q.Descending {
		slices.Reverse(all)
	}
	if q.After != "" {
		at, err := indexOf(all, threadID, q.After)
		if err != nil {
			return nil, false, nil
		}
		all = all[at+1:]
	}
	if len(all) > q.Limit {
		return all[:q.Limit], true, nil
	}
	return all, false, nil
}

// RemoveAfter removes the items behind one.
func (s *Store) RemoveAfter(ctx context.Context, owner, threadID, itemID string) error {
	all, err := s.readItems(ctx, owner, threadID)
	if err != nil {
		return err
	}
	at, err := indexOf(all, threadID, itemID)
	if err != nil {
		return err
	}
	return wrapError(threadID, s.engine.CutList(ctx, store.ThreadItemsKey(threadID), at+1))
}

// readItems returns all items of a thread. An unreadable item has an empty id, so that the others
// keep their places.
func (s *Store) readItems(ctx context.Context, owner, threadID string) ([]chatkit.Item, error) {
	if _, _, err := s.findThread(ctx, owner, threadID); err != nil {
		return nil, err
	}
	raw, err := s.engine.List(ctx, store.ThreadItemsKey(threadID), 0, 0)
	if err != nil {
		return nil, wrapError(threadID, err)
	}
	all := make([]chatkit.Item, len(raw))
	for i, data := range raw {
		var kept item
		if json.Unmarshal(data, &kept) == nil {
			all[i] = chatkit.Item{ID: kept.ID, Input: kept.Input, Body: kept.Body}
		}
	}
	return all, nil
}

// indexOf returns the place of an item, or an error that wraps ErrNotFound.
func indexOf(all []chatkit.Item, threadID, itemID string) (int, error) {
	at := slices.IndexFunc(all, func(i chatkit.Item) bool { return i.ID == itemID })
	if at < 0 || itemID == "" {
		return 0, fmt.Errorf("item of thread %s: %w", threadID, chatkit.ErrNotFound)
	}
	return at, nil
}

// encodeJSON returns the stored form of a value. Invalid UTF-8 becomes U+FFFD, as in the frames.
func encodeJSON(v any) []byte {
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil { // a body that is not JSON; encoders never make one
		return []byte("{}")
	}
	return text
}

// wrapError makes a store's error one of chatkit.Store.
func wrapError(threadID string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("thread %s: %w", threadID, chatkit.ErrNotFound)
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrFull):
		return fault.NewStoreUnavailable(err)
	}
	return fmt.Errorf("thread %s: %w", threadID, err)
}
