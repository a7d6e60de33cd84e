package redis

import (
	"context"
	"errors"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/state/store"
)

// Value returns a record.
func (s *Store) Value(ctx context.Context, key string) (v store.Value, err error) {
	err = s.runCommand(ctx, "value", func(ctx context.Context) error {
		fields, err := s.client.HMGet(ctx, s.prefix+key, "v", "d").Result()
		if err != nil {
			return err
		}
		if fields[0] == nil {
			return store.ErrNotFound
		}
		v = store.Value{Data: []byte(replyText(fields[1])), Version: replyNumber(fields[0])}
		return nil
	})
	return v, err
}

// PutValue replaces or makes a record.
func (s *Store) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	return s.PushAndPut(ctx, nil, key, v, ttl)
}

// PushAndPut implements store.Together.
func (s *Store) PushAndPut(ctx context.Context, items []store.Pushed, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	there := store.Value{Data: v.Data, Version: v.Version + 1}
	keys, args := []string{key}, []any{v.Version, v.Data, milliseconds(ttl)}
	for _, p := range items {
		keys, args = append(keys, p.Key), append(args, p.Item)
	}
	err := s.runWriteScript(ctx, "put_value", putValue, func(reply any) error {
		fields, ok := replyList(reply, 2)
		if !ok {
			return nil
		}
		there = store.Value{Version: replyNumber(fields[0])}
		if there.Version > 0 {
			there.Data = []byte(replyText(fields[1]))
		}
		return store.ErrConflict
	}, keys, args...)
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return store.Value{}, err
	}
	return there, err
}

// KeepValue changes how long a record is kept.
func (s *Store) KeepValue(ctx context.Context, key string, ttl time.Duration) error {
	return s.runScript(ctx, "keep_value", keepValue, nil, []string{key}, milliseconds(ttl))
}

// DeleteValue removes a record.
func (s *Store) DeleteValue(ctx context.Context, key string) error {
	return s.runCommand(ctx, "delete_value", func(ctx context.Context) error { return s.client.Del(ctx, s.prefix+key).Err() })
}

// PushList adds an item to a list.
func (s *Store) PushList(ctx context.Context, key string, item []byte, b store.Bounds, ttl time.Duration) error {
	keys := []string{key}
	if b.Task != "" {
		keys = append(keys, store.TaskKey(b.Task))
	}
	return s.runWriteScript(ctx, "push_list", pushList, nil, keys, item, milliseconds(ttl), b.Items, b.Bytes)
}

// KeepList changes how long a list is kept.
func (s *Store) KeepList(ctx context.Context, key string, ttl time.Duration) error {
	err := s.runScript(ctx, "keep_list", keepValue, nil, []string{key}, milliseconds(ttl))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// List returns items.
func (s *Store) List(ctx context.Context, key string, from, limit int) (items [][]byte, err error) {
	err = s.runCommand(ctx, "list", func(ctx context.Context) error {
		last := int64(-1)
		if limit > 0 {
			last = int64(from + limit - 1)
		}
		texts, err := s.client.LRange(ctx, s.prefix+key, int64(from), last).Result()
		for _, item := range texts {
			items = append(items, []byte(item))
		}
		return err
	})
	return items, err
}

// CutList shortens a list.
func (s *Store) CutList(ctx context.Context, key string, length int) error {
	return s.runCommand(ctx, "cut_list", func(ctx context.Context) error {
		if length == 0 {
			return s.client.Del(ctx, s.prefix+key).Err()
		}
		return s.client.LTrim(ctx, s.prefix+key, 0, int64(length-1)).Err()
	})
}

// DeleteList removes a list.
func (s *Store) DeleteList(ctx context.Context, key string) error {
	return s.runCommand(ctx, "delete_list", func(ctx context.Context) error { return s.client.Del(ctx, s.prefix+key).Err() })
}

// PutIndex adds a member to an index.
func (s *Store) PutIndex(ctx context.Context, name string, m store.Member, ttl time.Duration) error {
	return s.runWriteScript(ctx, "put_index", putIndex, nil, []string{name}, m.Score, m.ID, milliseconds(ttl))
}

// RemoveIndex removes a member of an index.
func (s *Store) RemoveIndex(ctx context.Context, name, id string) error {
	return s.runCommand(ctx, "remove_index", func(ctx context.Context) error { return s.client.ZRem(ctx, s.prefix+name, id).Err() })
}

// Index returns members of an index.
func (s *Store) Index(ctx context.Context, name string, r store.Range) (members []store.Member, err error) {
	lowest, highest, score, id := r.Min, r.Max, "", ""
	if r.After != nil {
		score, id = strconv.FormatInt(r.After.Score, 10), r.After.ID
		if r.Descending {
			highest = min(highest, r.After.Score)
		} else {
			lowest = max(lowest, r.After.Score)
		}
	}
	command, from, to := "ZRANGEBYSCORE", lowest, highest
	if r.Descending {
		command, from, to = "ZREVRANGEBYSCORE", highest, lowest
	}
	err = s.runScript(ctx, "index", readIndex, func(reply any) error {
		found, _ := reply.([]any)
		for i := 0; i+1 < len(found); i += 2 {
			members = append(members, store.Member{ID: replyText(found[i]), Score: replyNumber(found[i+1])})
		}
		return nil
	}, []string{name}, command, from, to, r.Limit, score, id)
	return members, err
}

// CountIndex returns how many members an index has.
func (s *Store) CountIndex(ctx context.Context, name string) (n int64, err error) {
	err = s.runCommand(ctx, "count_index", func(ctx context.Context) error {
		n, err = s.client.ZCard(ctx, s.prefix+name).Result()
		return err
	})
	return n, err
}

// AddCounter counts.
func (s *Store) AddCounter(ctx context.Context, key string, delta int64, ttl time.Duration) (n int64, err error) {
	err = s.runWriteScript(ctx, "add_counter", addCounter, func(reply any) error {
		sum, _ := replyList(reply, 1)
		n = replyNumber(replyPart(sum, 0))
		return nil
	}, []string{key}, delta, milliseconds(ttl))
	return n, err
}

// Counter returns the sum.
func (s *Store) Counter(ctx context.Context, key string) (n int64, err error) {
	err = s.runCommand(ctx, "counter", func(ctx context.Context) error {
		n, err = s.client.Get(ctx, s.prefix+key).Int64()
		if errors.Is(err, goredis.Nil) {
			return nil
		}
		return err
	})
	return n, err
}
