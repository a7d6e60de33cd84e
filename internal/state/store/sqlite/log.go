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
	selectEnd     = "SELECT last, size FROM logs WHERE turn = ? AND until > ?"
	insertEntry   = "INSERT INTO entries (turn, n, data) VALUES (?, ?, ?)"
	prolongLog    = "INSERT INTO logs (turn, last, size, until) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET last = ?2, size = ?3, until = ?4"
	deleteEntries = "DELETE FROM entries WHERE turn = ?"
	deleteLog     = "DELETE FROM logs WHERE turn = ?"
)

// endOfLog returns the last entry of a log and the log's size, or 0, 0.
func (t *tx) endOfLog(turn string) (last, size int, err error) {
	err = t.readRow(selectEnd, []any{blob(turn), t.now}, &last, &size)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return last, size, err
}

// AppendLog adds to a log.
func (s *Store) AppendLog(ctx context.Context, turn string, a store.Append) error {
	err := s.runWriteCommand(ctx, "append_log", func(_ context.Context, tx *tx) error { return tx.appendEntry(turn, a) })
	if err == nil || errors.Is(err, store.ErrTooLarge) {
		s.hub.Signal(store.LogTopic(turn))
	}
	return err
}

// appendEntry adds an entry under the same conditions as the other engines;
// storetest has them.
func (t *tx) appendEntry(turn string, a store.Append) error {
	if a.Task != "" {
		if err := t.checkHolder(a.Task, a.Holder); err != nil {
			return err
		}
	}
	last, size, err := t.endOfLog(turn)
	switch {
	case err != nil:
		return err
	case last == 0 && a.At != 0:
		return store.ErrNotFound
	case last != a.At:
		return &store.EndError{End: last}
	case a.N == a.At:
		return t.changeSide(a.Side, a.TTL)
	case last == 0 || size+len(a.Data) > store.MaxLog:
		if err := t.dropLog(turn); err != nil { // a log that has expired, or is too large
			return err
		}
	}
	if size += len(a.Data); size > store.MaxLog {
		return store.ErrTooLarge
	}
	if err := t.changeSide(a.Side, a.TTL); err != nil {
		return err
	}
	if _, err := t.exec(insertEntry, blob(turn), a.N, blob(a.Data)); err != nil {
		return err
	}
	_, err = t.exec(prolongLog, blob(turn), a.N, size, t.expiryAfter(a.TTL))
	return err
}

// checkHolder returns ErrConflict unless the task is the holder's.
func (t *tx) checkHolder(id string, by store.Holder) error {
	held, err := t.holderOf(id)
	if errors.Is(err, sql.ErrNoRows) || err == nil && held != by {
		return store.ErrConflict
	}
	return err
}

// dropLog removes a log with its entries.
func (t *tx) dropLog(turn string) error {
	if _, err := t.exec(deleteEntries, blob(turn)); err != nil {
		return err
	}
	_, err := t.exec(deleteLog, blob(turn))
	return err
}

// ReadLog returns entries.
func (s *Store) ReadLog(ctx context.Context, turn string, after, limit int) (entries []store.Entry, err error) {
	err = s.runReadCommand(ctx, "read_log", func(_ context.Context, tx *tx) error {
		last, _, err := tx.endOfLog(turn)
		if err != nil {
			return err
		}
		if last == 0 {
			return store.ErrNotFound
		}
		return tx.readRows("SELECT n, data FROM entries WHERE turn = ? AND n > ? ORDER BY n LIMIT ?", []any{blob(turn), after, limit},
			func(scan func(...any) error) error {
				var e store.Entry
				err := scan(&e.N, &e.Data)
				entries = append(entries, e)
				return err
			})
	})
	return entries, err
}

// LogLeft returns how long a log is kept.
func (s *Store) LogLeft(ctx context.Context, turn string) (left time.Duration, err error) {
	err = s.runReadCommand(ctx, "log_left", func(_ context.Context, tx *tx) error {
		var until int64
		if err := tx.readRow("SELECT until FROM logs WHERE turn = ? AND until > ?", []any{blob(turn), tx.now}, &until); err != nil {
			return err
		}
		left = tx.remainingTime(until)
		return nil
	})
	return left, err
}

// DropLog removes a log.
func (s *Store) DropLog(ctx context.Context, turn string) error {
	err := s.runWriteCommand(ctx, "drop_log", func(_ context.Context, tx *tx) error { return tx.dropLog(turn) })
	if err == nil {
		s.hub.Signal(store.LogTopic(turn))
	}
	return err
}
