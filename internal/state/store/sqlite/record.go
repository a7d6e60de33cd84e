package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"sluice/internal/state/store"
)

// Statements that are kept ready.
const (
	selectValue  = "SELECT data, version FROM vals WHERE key = ? AND until > ?"
	replaceValue = "INSERT OR REPLACE INTO vals (key, data, version, until) VALUES (?, ?, ?, ?)"
	prolongList  = "INSERT INTO lists (key, until) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = ?2 WHERE until > ?3" // no row: it has expired
	insertItem   = "INSERT INTO items (key, data) VALUES (?, ?)"
	deleteItems  = "DELETE FROM items WHERE key = ?"
	deleteList   = "DELETE FROM lists WHERE key = ?"
	sizeOfList   = "SELECT count(*), coalesce(sum(length(data)), 0) FROM items WHERE key = ?"
	expireIndex  = "DELETE FROM members WHERE name = ?1 AND EXISTS (SELECT 1 FROM indexes WHERE name = ?1 AND until <= ?2)"
	prolongIndex = "INSERT INTO indexes (name, until) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET until = max(until, ?2)"
	insertMember = "INSERT OR REPLACE INTO members (name, id, score) VALUES (?, ?, ?)"
)

// liveValue returns a value that has not expired, or sql.ErrNoRows.
func (t *tx) liveValue(key string) (v store.Value, err error) {
	err = t.readRow(selectValue, []any{key, t.now}, &v.Data, &v.Version)
	return v, err
}

// Value returns a record.
func (s *Store) Value(ctx context.Context, key string) (v store.Value, err error) {
	err = s.runReadCommand(ctx, "value", func(_ context.Context, tx *tx) error {
		v, err = tx.liveValue(key)
		return err
	})
	return v, err
}

// PutValue replaces or makes a record.
func (s *Store) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (there store.Value, err error) {
	return s.PushAndPut(ctx, nil, key, v, ttl)
}

// PushAndPut implements store.Together: one transaction is one write to the file.
func (s *Store) PushAndPut(ctx context.Context, items []store.Pushed, key string, v store.Value, ttl time.Duration) (there store.Value, err error) {
	err = s.runWriteCommand(ctx, "put_value", func(_ context.Context, tx *tx) error {
		if there, err = tx.putValue(key, v, ttl); err != nil {
			return err
		}
		for _, p := range items {
			if err := tx.pushItem(p.Key, p.Item, ttl); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return store.Value{}, err
	}
	return there, err
}

// putValue replaces or makes a record. With store.ErrConflict it returns the one that is there.
func (t *tx) putValue(key string, v store.Value, ttl time.Duration) (store.Value, error) {
	there, err := t.liveValue(key)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return store.Value{}, err
	}
	if there.Version != v.Version {
		return there, store.ErrConflict
	}
	there = store.Value{Data: v.Data, Version: v.Version + 1}
	_, err = t.exec(replaceValue, key, blob(v.Data), there.Version, t.expiryAfter(ttl))
	return there, err
}

// KeepValue changes how long a record is kept.
func (s *Store) KeepValue(ctx context.Context, key string, ttl time.Duration) error {
	return s.runWriteCommand(ctx, "keep_value", func(_ context.Context, tx *tx) error {
		n, err := tx.exec("UPDATE vals SET until = ? WHERE key = ? AND until > ?", tx.expiryAfter(ttl), key, tx.now)
		return requireChange(n, err, store.ErrNotFound)
	})
}

// DeleteValue removes a record.
func (s *Store) DeleteValue(ctx context.Context, key string) error {
	return s.runWriteCommand(ctx, "delete_value", func(_ context.Context, tx *tx) error {
		_, err := tx.exec("DELETE FROM vals WHERE key = ?", key)
		return err
	})
}

// dropList removes a list.
func (t *tx) dropList(key string) error {
	if _, err := t.exec(deleteItems, key); err != nil {
		return err
	}
	_, err := t.exec(deleteList, key)
	return err
}

// PushList adds an item to a list.
func (s *Store) PushList(ctx context.Context, key string, item []byte, b store.Bounds, ttl time.Duration) error {
	return s.runWriteCommand(ctx, "push_list", func(_ context.Context, tx *tx) error {
		if b.Task != "" {
			if _, err := tx.holderOf(b.Task); err != nil {
				return err
			}
		}
		return tx.pushBounded(key, item, b, ttl)
	})
}

// pushBounded adds an item to a list, and then removes the items beyond the bounds.
func (t *tx) pushBounded(key string, item []byte, b store.Bounds, ttl time.Duration) error {
	if err := t.pushItem(key, item, ttl); err != nil {
		return err
	}
	return t.boundList(key, b)
}

// KeepList changes how long a list is kept.
func (s *Store) KeepList(ctx context.Context, key string, ttl time.Duration) error {
	return s.runWriteCommand(ctx, "keep_list", func(_ context.Context, tx *tx) error {
		_, err := tx.exec("UPDATE lists SET until = ? WHERE key = ? AND until > ?", tx.expiryAfter(ttl), key, tx.now)
		return err
	})
}

// pushItem adds an item to a list. An expired list begins again.
func (t *tx) pushItem(key string, item []byte, ttl time.Duration) error {
	n, err := t.exec(prolongList, key, t.expiryAfter(ttl), t.now)
	if err == nil && n == 0 {
		if err = t.dropList(key); err == nil {
			_, err = t.exec(prolongList, key, t.expiryAfter(ttl), t.now)
		}
	}
	if err == nil {
		_, err = t.exec(insertItem, key, blob(item))
	}
	return err
}

// changeSide changes the list of a task or a log.
func (t *tx) changeSide(b store.Side, ttl time.Duration) error {
	if b.Key == "" {
		return nil
	}
	if b.Drop {
		if err := t.dropList(b.Key); err != nil {
			return err
		}
	}
	if b.Item == nil {
		return nil
	}
	return t.pushItem(b.Key, b.Item, ttl)
}

// boundList removes the items of a list beyond the bounds.
func (t *tx) boundList(key string, b store.Bounds) error {
	var items, bytes int
	if err := t.readRow(sizeOfList, []any{key}, &items, &bytes); err != nil {
		return err
	}
	if b.Items > 0 && items > b.Items {
		if _, err := t.exec("DELETE FROM items WHERE key = ?1 AND seq <= (SELECT seq FROM items WHERE key = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2)", key, b.Items); err != nil {
			return err
		}
	}
	if b.Bytes == 0 || bytes <= b.Bytes {
		return nil
	}
	_, err := t.exec(`DELETE FROM items WHERE key = ?1 AND seq < (SELECT max(seq) FROM items WHERE key = ?1) AND seq IN
		(SELECT seq FROM (SELECT seq, sum(length(data)) OVER (ORDER BY seq DESC) AS kept FROM items WHERE key = ?1) WHERE kept > ?2)`, key, b.Bytes)
	return err
}

// List returns items.
func (s *Store) List(ctx context.Context, key string, from, limit int) (items [][]byte, err error) {
	if limit == 0 {
		limit = -1 // none, for SQLite
	}
	err = s.runReadCommand(ctx, "list", func(_ context.Context, tx *tx) error {
		return tx.readRows("SELECT data FROM items JOIN lists USING (key) WHERE key = ? AND until > ? ORDER BY seq LIMIT ? OFFSET ?", []any{key, tx.now, limit, from},
			func(scan func(...any) error) error {
				var item []byte
				err := scan(&item)
				items = append(items, item)
				return err
			})
	})
	return items, err
}

// CutList shortens a list.
func (s *Store) CutList(ctx context.Context, key string, length int) error {
	return s.runWriteCommand(ctx, "cut_list", func(_ context.Context, tx *tx) error {
		_, err := tx.exec("DELETE FROM items WHERE key = ?1 AND seq >= (SELECT seq FROM items WHERE key = ?1 ORDER BY seq LIMIT 1 OFFSET ?2)", key, length)
		return err
	})
}

// DeleteList removes a list.
func (s *Store) DeleteList(ctx context.Context, key string) error {
	return s.runWriteCommand(ctx, "delete_list", func(_ context.Context, tx *tx) error { return tx.dropList(key) })
}

// PutIndex adds a member to an index.
func (s *Store) PutIndex(ctx context.Context, name string, m store.Member, ttl time.Duration) error {
	return s.runWriteCommand(ctx, "put_index", func(_ context.Context, tx *tx) error {
		if _, err := tx.exec(expireIndex, name, tx.now); err != nil {
			return err
		}
		if _, err := tx.exec(prolongIndex, name, tx.expiryAfter(ttl)); err != nil {
			return err
		}
		_, err := tx.exec(insertMember, name, blob(m.ID), m.Score)
		return err
	})
}

// RemoveIndex removes a member of an index.
func (s *Store) RemoveIndex(ctx context.Context, name, id string) error {
	return s.runWriteCommand(ctx, "remove_index", func(_ context.Context, tx *tx) error {
		_, err := tx.exec("DELETE FROM members WHERE name = ? AND id = ?", name, blob(id))
		return err
	})
}

// Index returns members of an index.
func (s *Store) Index(ctx context.Context, name string, r store.Range) (members []store.Member, err error) {
	query := "SELECT id, score FROM members JOIN indexes USING (name) WHERE name = ? AND score BETWEEN ? AND ? AND until > ?"
	sign, order := ">", "score, id"
	if r.Descending {
		sign, order = "<", "score DESC, id DESC"
	}
	err = s.runReadCommand(ctx, "index", func(_ context.Context, tx *tx) error {
		args := []any{name, r.Min, r.Max, tx.now}
		if r.After != nil {
			query, args = query+" AND (score, id) "+sign+" (?, ?)", append(args, r.After.Score, blob(r.After.ID))
		}
		return tx.readRows(query+" ORDER BY "+order+" LIMIT ?", append(args, r.Limit), func(scan func(...any) error) error {
			var id []byte
			var m store.Member
			err := scan(&id, &m.Score)
			m.ID = string(id)
			members = append(members, m)
			return err
		})
	})
	return members, err
}

// CountIndex returns how many members an index has.
func (s *Store) CountIndex(ctx context.Context, name string) (n int64, err error) {
	err = s.runReadCommand(ctx, "count_index", func(_ context.Context, tx *tx) error {
		return tx.readRow("SELECT COUNT(*) FROM members JOIN indexes USING (name) WHERE name = ? AND until > ?", []any{name, tx.now}, &n)
	})
	return n, err
}

// AddCounter counts.
func (s *Store) AddCounter(ctx context.Context, key string, delta int64, ttl time.Duration) (n int64, err error) {
	err = s.runWriteCommand(ctx, "add_counter", func(_ context.Context, tx *tx) error {
		return tx.readRow(`INSERT INTO counters (key, n, until) VALUES (?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET n = ?2 + CASE WHEN until > ?4 THEN n ELSE 0 END, until = ?3 RETURNING n`, []any{key, delta, tx.expiryAfter(ttl), tx.now}, &n)
	})
	return n, err
}

// Counter returns the sum.
func (s *Store) Counter(ctx context.Context, key string) (n int64, err error) {
	err = s.runReadCommand(ctx, "counter", func(_ context.Context, tx *tx) error {
		err := tx.readRow("SELECT n FROM counters WHERE key = ? AND until > ?", []any{key, tx.now}, &n)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return n, err
}
