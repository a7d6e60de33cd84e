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
	// tries is how often a thread is changed that somebody else changes meanwhile.
	tries = 5
)

// Engine is what the threads need of a store; see package store for what the methods mean.
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
	if _, err := s.engine.PutValue(ctx, store.ThreadKey(t.ID), store.Value{Data: encoded(kept)}, lives); err != nil {
		return wrap(t.ID, err)
	}
	return wrap(t.ID, s.list(ctx, t.ID, kept))
}

// list puts a thread among those of its owner, or keeps it there for longer.
func (s *Store) list(ctx context.Context, id string, t thread) error {
	return s.engine.PutIndex(ctx, store.ThreadsKey("", t.Owner), store.Member{ID: id, Score: t.Created.UnixMilli()}, lives)
}

// Thread returns a thread.
func (s *Store) Thread(ctx context.Context, owner, threadID string) (chatkit.Thread, error) {
	t, _, err := s.find(ctx, owner, threadID)
	if err != nil {
		return chatkit.Thread{}, err
	}
	return t.named(threadID), nil
}

// named is the thread as ChatKit knows it. Its id is the key, and so not stored
// twice.
func (t thread) named(id string) chatkit.Thread {
	return chatkit.Thread{ID: id, Title: t.Title, CreatedAt: t.Created}
}

// find returns a thread of an owner, and the version of its value. What cannot be read is
// not there: somebody else wrote it.
func (s *Store) find(ctx context.Context, owner, threadID string) (t thread, version int64, err error) {
	v, err := s.engine.Value(ctx, store.ThreadKey(threadID))
	if err != nil {
		return thread{}, 0, wrap(threadID, err)
	}
	if json.Unmarshal(v.Data, &t) != nil || t.Owner != owner {
		return thread{}, 0, wrap(threadID, store.ErrNotFound)
	}
	return t, v.Version, nil
}

// Threads lists an owner's threads. What the index has and the store not any more is passed
// over, and goes out of the index.
func (s *Store) Threads(ctx context.Context, owner string, q chatkit.Query) (list []chatkit.Thread, more bool, err error) {
	r := store.Range{Min: -1 << 53, Max: 1 << 53, Descending: q.Descending}
	if q.After != "" {
		last, _, err := s.find(ctx, owner, q.After)
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
			return nil, false, wrap("list", err)
		}
		for _, m := range members {
			t, _, err := s.find(ctx, owner, m.ID)
			switch {
			case err == nil && len(list) == q.Limit:
				return list, true, nil
			case err == nil:
				list = append(list, t.named(m.ID))
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
		t, version, err := s.find(ctx, owner, threadID)
		if err != nil {
			return chatkit.Thread{}, err
		}
		t.Title = title
		_, err = s.engine.PutValue(ctx, store.ThreadKey(threadID), store.Value{Data: encoded(t), Version: version}, lives)
		if err == nil {
			err = s.keep(ctx, threadID, t)
		}
		if !errors.Is(err, store.ErrConflict) {
			return t.named(threadID), wrap(threadID, err)
		}
	}
	return chatkit.Thread{}, wrap(threadID, store.ErrConflict)
}

// Delete removes a thread. What of it is left if that fails half-way nobody finds, and it
// expires.
func (s *Store) Delete(ctx context.Context, owner, threadID string) error {
	if _, _, err := s.find(ctx, owner, threadID); err != nil {
		return err
	}
	return wrap(threadID, errors.Join(
		s.engine.DeleteValue(ctx, store.ThreadKey(threadID)),
		s.engine.DeleteList(ctx, store.ThreadItemsKey(threadID)),
		s.engine.RemoveIndex(ctx, store.ThreadsKey("", owner), threadID)))
}

// Append adds an item to a thread. One that is deleted meanwhile stays so.
func (s *Store) Append(ctx context.Context, owner, threadID string, i chatkit.Item) error {
	t, _, err := s.find(ctx, owner, threadID)
	if err != nil {
		return err
	}
	bounds := store.Bounds{Items: maxItems, Bytes: maxBytes}
	if err := s.engine.PushList(ctx, store.ThreadItemsKey(threadID), encoded(item(i)), bounds, lives); err != nil {
		return wrap(threadID, err)
	}
	err = s.keep(ctx, threadID, t)
	if errors.Is(err, store.ErrNotFound) {
		err = errors.Join(err, s.engine.DeleteList(ctx, store.ThreadItemsKey(threadID)))
	}
	return wrap(threadID, err)
}

// keep begins a thread's time again.
func (s *Store) keep(ctx context.Context, threadID string, t thread) error {
	if err := s.engine.KeepValue(ctx, store.ThreadKey(threadID), lives); err != nil {
		return err
	}
	return s.list(ctx, threadID, t)
}

// Item returns one item.
func (s *Store) Item(ctx context.Context, owner, threadID, itemID string) (chatkit.Item, error) {
	all, err := s.items(ctx, owner, threadID)
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
	all, err := s.items(ctx, owner, threadID)
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
	all, err := s.items(ctx, owner, threadID)
	if err != nil {
		return err
	}
	at, err := indexOf(all, threadID, itemID)
	if err != nil {
		return err
	}
	return wrap(threadID, s.engine.CutList(ctx, store.ThreadItemsKey(threadID), at+1))
}

// items returns all items of a thread. One that cannot be read has no id, so that the
// others keep their places.
func (s *Store) items(ctx context.Context, owner, threadID string) ([]chatkit.Item, error) {
	if _, _, err := s.find(ctx, owner, threadID); err != nil {
		return nil, err
	}
	raw, err := s.engine.List(ctx, store.ThreadItemsKey(threadID), 0, 0)
	if err != nil {
		return nil, wrap(threadID, err)
	}
	all := make([]chatkit.Item, len(raw))
	for i, data := range raw {
		var kept item
		if json.Unmarshal(data, &kept) == nil {
			all[i] = chatkit.Item(kept)
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

// encoded returns the JSON of what is kept. What is not UTF-8 in it becomes U+FFFD, as in
// the frames.
func encoded(v any) []byte {
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil { // a body that is not JSON, which no encoder makes
		return []byte("{}")
	}
	return text
}

// wrap makes a store's error one of chatkit.Store.
func wrap(threadID string, err error) error {
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
