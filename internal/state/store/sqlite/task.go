package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"sluice/internal/state/store"
)

// columns are the columns of a task, in the order in which readTask takes them.
const columns = "doc, owner, epoch, tenant, user, conversation, turn, state, version, cancel, created"

// Statements that are kept ready.
const (
	selectTask   = "SELECT " + columns + " FROM tasks WHERE id = ? AND until > ?"
	selectHolder = "SELECT owner, epoch FROM tasks WHERE id = ? AND until > ?"
	expireTask   = "DELETE FROM tasks WHERE id = ? AND until <= ?"
	insertTask   = "INSERT INTO tasks (id, " + columns + ", until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, ?, ?) ON CONFLICT DO NOTHING"
	replaceTask  = "UPDATE tasks SET doc = ?, owner = ?, epoch = ?, turn = ?, state = ?, version = version + 1, until = ? WHERE id = ? AND version = ? AND until > ?"
)

// readTask reads the columns of a task, after those of before.
func readTask(scan func(...any) error, before ...any) (t store.Task, err error) {
	var created int64
	var tenant, user, conversation, turn, state []byte
	err = scan(append(before, &t.Doc, &t.Owner, &t.Epoch, &tenant, &user, &conversation, &turn, &state, &t.Version, &t.Cancel, &created)...)
	t.Tenant, t.User, t.Conversation, t.Turn, t.State = string(tenant), string(user), string(conversation), string(turn), string(state)
	t.Created = time.UnixMilli(created)
	return t, err
}

// errEnough ends a search: the remaining rows are not wanted now.
var errEnough = errors.New("enough")

// blob returns bytes that are never NULL. The bytes must not change: the driver copies them.
func blob[T string | []byte](b T) []byte {
	if b, ok := any(b).([]byte); ok && b != nil {
		return b
	}
	return append([]byte{}, b...)
}

// liveTask returns a task that has not expired, or sql.ErrNoRows.
func (t *tx) liveTask(id string) (store.Task, error) {
	return readTask(func(into ...any) error { return t.readRow(selectTask, []any{blob(id), t.now}, into...) })
}

// holderOf returns the holder of a task that has not expired, or sql.ErrNoRows.
func (t *tx) holderOf(id string) (h store.Holder, err error) {
	err = t.readRow(selectHolder, []any{blob(id), t.now}, &h.Owner, &h.Epoch)
	return h, err
}

// CreateTask adds a task.
func (s *Store) CreateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return s.runWriteCommand(ctx, "create_task", func(_ context.Context, tx *tx) error {
		if _, err := tx.exec(expireTask, blob(id), tx.now); err != nil {
			return err
		}
		n, err := tx.exec(insertTask, blob(id), blob(t.Doc), t.Owner, t.Epoch, blob(t.Tenant), blob(t.User), blob(t.Conversation), blob(t.Turn), blob(t.State), t.Created.UnixMilli(), tx.expiryAfter(ttl))
		if err := requireChange(n, err, store.ErrConflict); err != nil {
			return err
		}
		return tx.changeSide(t.Side, ttl)
	})
}

// requireChange returns otherwise if no row was changed.
func requireChange(n int64, err, otherwise error) error {
	if err == nil && n == 0 {
		return otherwise
	}
	return err
}

// Task returns a task.
func (s *Store) Task(ctx context.Context, id string) (t store.Task, err error) {
	err = s.runReadCommand(ctx, "task", func(_ context.Context, tx *tx) error {
		t, err = tx.liveTask(id)
		return err
	})
	if err != nil {
		return store.Task{}, err
	}
	return t, nil
}

// UpdateTask replaces a task.
func (s *Store) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return s.runWriteCommand(ctx, "update_task", func(_ context.Context, tx *tx) error { return tx.updateTask(id, t, ttl) })
}

// updateTask changes a task of the version that the caller saw.
func (t *tx) updateTask(id string, by store.Task, ttl time.Duration) error {
	n, err := t.exec(replaceTask, blob(by.Doc), by.Owner, by.Epoch, blob(by.Turn), blob(by.State), t.expiryAfter(ttl), blob(id), by.Version, t.now)
	if err == nil && n == 0 {
		if _, err = t.holderOf(id); err == nil {
			err = store.ErrConflict
		}
	}
	if err != nil {
		return err
	}
	return t.changeSide(by.Side, ttl)
}

// EndTurn implements store.Ender: one transaction is one write to the file.
func (s *Store) EndTurn(ctx context.Context, e store.End) error {
	err := s.runWriteCommand(ctx, "end_turn", func(_ context.Context, tx *tx) error {
		e.Log.Side = store.Side{}
		if err := tx.appendEntry(e.Turn, e.Log); err != nil {
			return err
		}
		if err := tx.updateTask(e.TaskID, e.Task, e.TTL); err != nil {
			return err
		}
		return tx.pushBounded(store.TraceKey(e.TaskID), e.Trace, e.Bounds, e.TTL)
	})
	if err == nil || errors.Is(err, store.ErrTooLarge) {
		s.hub.Signal(store.LogTopic(e.Turn))
	}
	return err
}

// CancelTask asks for a task's end.
func (s *Store) CancelTask(ctx context.Context, id string) (t store.Task, err error) {
	err = s.runWriteCommand(ctx, "cancel_task", func(_ context.Context, tx *tx) error {
		if _, err := tx.exec("UPDATE tasks SET cancel = 1 WHERE id = ?", blob(id)); err != nil {
			return err
		}
		t, err = tx.liveTask(id)
		return err
	})
	if err != nil {
		return store.Task{}, err
	}
	s.hub.Signal(store.CancelTopic(t.Owner))
	return t, nil
}

// DeleteTask removes a task.
func (s *Store) DeleteTask(ctx context.Context, id string) error {
	return s.runWriteCommand(ctx, "delete_task", func(_ context.Context, tx *tx) error {
		_, err := tx.exec("DELETE FROM tasks WHERE id = ?", blob(id))
		return err
	})
}

// mostLooked is how many tasks a search for a state looks at. Meanwhile the one connection serves
// no other command.
const mostLooked = 1000

// Tasks lists tasks.
func (s *Store) Tasks(ctx context.Context, q store.Query) (page store.Page, err error) {
	last, err := store.ReadCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	shown, bytes, more := columns, 0, false
	if q.Bare {
		shown = "x'' AS " + columns
	}
	wanted, args := listCondition(q, last)
	err = s.runReadCommand(ctx, "tasks", func(_ context.Context, tx *tx) error {
		// For a search in pieces, end is the last task of this piece. The next piece continues from
		// it.
		end, err := tx.endOfSearch(q, wanted, args)
		if err != nil {
			return err
		}
		if end != nil {
			wanted, args = wanted+" AND (created, id) >= (?, ?)", append(args, end.Score, blob(end.ID))
		}
		if q.State != "" {
			wanted, args = wanted+" AND state = ?", append(args, blob(q.State))
		}
		args = append(args, tx.now, q.Limit+1)
		err = tx.readRows("SELECT id, "+shown+wanted+" AND until > ? ORDER BY created DESC, id DESC LIMIT ?", args, func(scan func(...any) error) error {
			if more = len(page.IDs) == q.Limit || bytes >= store.MaxPageBytes; more {
				return errEnough
			}
			var id []byte
			t, err := readTask(scan, &id)
			page.IDs, page.Tasks = append(page.IDs, string(id)), append(page.Tasks, t)
			bytes += len(t.Doc)
			return err
		})
		if end != nil && !more {
			page.Next = store.NewCursor(end.ID, time.UnixMilli(end.Score))
		}
		return err
	})
	if n := len(page.IDs); err == nil && more {
		page.Next = store.NewCursor(page.IDs[n-1], page.Tasks[n-1].Created)
	}
	return page, err
}

// listCondition says in SQL which tasks a list is of, in any state, behind the last one of the page before.
func listCondition(q store.Query, last store.Member) (from string, args []any) {
	from = " FROM tasks WHERE tenant = ? AND user = ? AND (created, id) < (?, ?)"
	args = []any{blob(q.Tenant), blob(q.User), last.Score, blob(last.ID)}
	if q.User == store.AllUsers {
		return " FROM tasks WHERE tenant = ? AND user > x'0000' AND user < x'01' AND (created, id) < (?, ?)", []any{blob(q.Tenant), last.Score, blob(last.ID)}
	}
	if q.Conversation != "" {
		from, args = from+" AND conversation = ?", append(args, blob(q.Conversation))
	}
	return from, args
}

// endOfSearch returns the last task that a search for a state looks at; nil: it comes to the end,
// or does not ask for one. The index has all that this reads.
func (t *tx) endOfSearch(q store.Query, from string, args []any) (*store.Member, error) {
	if q.State == "" {
		return nil, nil
	}
	var end store.Member
	var id []byte
	err := t.readRow("SELECT created, id"+from+" ORDER BY created DESC, id DESC LIMIT 1 OFFSET ?", append(args[:len(args):len(args)], mostLooked-1), &end.Score, &id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	end.ID = string(id)
	return &end, err
}

// Orphans returns tasks whose holder lacks a lease.
func (s *Store) Orphans(ctx context.Context, limit int) (ids []string, err error) {
	err = s.runReadCommand(ctx, "orphans", func(_ context.Context, tx *tx) error {
		return tx.readRows(`SELECT id FROM tasks t WHERE owner <> '' AND until > ?1 AND NOT EXISTS
			(SELECT 1 FROM leases l WHERE l.owner = t.owner AND l.epoch = t.epoch AND l.until > ?1) LIMIT ?2`, []any{tx.now, limit},
			func(scan func(...any) error) error {
				var id []byte
				err := scan(&id)
				ids = append(ids, string(id))
				return err
			})
	})
	return ids, err
}

// CloseTask ends an orphan.
func (s *Store) CloseTask(ctx context.Context, id string, c store.Closing) error {
	err := s.runWriteCommand(ctx, "close_task", func(_ context.Context, tx *tx) error {
		t, err := tx.liveTask(id)
		if err != nil {
			return err
		}
		alive, err := tx.hasLease(t.Holder)
		if err == nil && (alive || t.Version != c.Version) {
			err = store.ErrConflict
		}
		if err == nil && c.LogOf != "" {
			c.Log.Task = ""
			err = tx.appendEntry(c.LogOf, c.Log)
		}
		if err != nil {
			return err
		}
		return tx.updateTask(id, c.Task, c.TTL)
	})
	if c.LogOf != "" && (err == nil || errors.Is(err, store.ErrTooLarge)) {
		s.hub.Signal(store.LogTopic(c.LogOf))
	}
	return err
}

// hasLease reports whether a holder's lease is current, by this machine's clock.
func (t *tx) hasLease(h store.Holder) (alive bool, err error) {
	err = t.readRow("SELECT EXISTS (SELECT 1 FROM leases WHERE owner = ? AND epoch = ? AND until > ?)", []any{h.Owner, h.Epoch, t.now}, &alive)
	return alive, err
}

// RenewLease takes or prolongs a lease.
func (s *Store) RenewLease(ctx context.Context, h store.Holder, ttl time.Duration) error {
	return s.runWriteCommand(ctx, "renew_lease", func(_ context.Context, tx *tx) error {
		n, err := tx.exec(`INSERT INTO leases (owner, epoch, until) VALUES (?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET epoch = ?2, until = ?3 WHERE epoch <= ?2 OR until <= ?4`, h.Owner, h.Epoch, tx.expiryAfter(ttl), tx.now)
		return requireChange(n, err, store.ErrConflict)
	})
}

// ReleaseLease gives a lease back.
func (s *Store) ReleaseLease(ctx context.Context, h store.Holder) error {
	return s.runWriteCommand(ctx, "release_lease", func(_ context.Context, tx *tx) error {
		_, err := tx.exec("DELETE FROM leases WHERE owner = ? AND epoch = ?", h.Owner, h.Epoch)
		return err
	})
}

// LeasesAlive reports for each holder whether it has its lease.
func (s *Store) LeasesAlive(ctx context.Context, holders ...store.Holder) (alive []bool, err error) {
	alive = make([]bool, len(holders))
	err = s.runReadCommand(ctx, "leases", func(_ context.Context, tx *tx) error {
		for i, h := range holders {
			if alive[i], err = tx.hasLease(h); err != nil {
				return err
			}
		}
		return nil
	})
	return alive, err
}
