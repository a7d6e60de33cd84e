// Package sqlite keeps state in a file, for one process that runs turns. Others may read
// it (Config.ReadOnly).
//
// One connection runs all commands: several would only wait for each other's locks. A lock next to
// the file keeps a second process from running turns on it; that one fails at its start. Committed
// data survives a crash of the process. After a loss of power the last moments may be missing, but
// never a part of a transaction.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite" // also registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
)

// purgeEvery is the time between two searches for expired records.
const purgeEvery = time.Minute

// Config describes a Store.
type Config struct {
	Path string
	// ReadOnly opens a file that another process may own. Every change fails.
	ReadOnly bool
	Calls    *store.Calls // nil: with defaults
	// Now is the clock by which records and leases expire. nil: that of this machine.
	Now func() time.Time
}

// Store is an engine. Use Open.
type Store struct {
	db    *sql.DB
	owner *sql.DB // holds the owner's lock; nil if read-only
	calls *store.Calls
	now   func() time.Time
	hub   store.Hub
	// ready are statements that SQLite has read already, by their text. It does not change.
	ready map[string]*sql.Stmt

	mu     sync.Mutex // guards the field below
	purged time.Time
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Together = (*Store)(nil)
	_ store.Ender    = (*Store)(nil)
	_ store.Eraser   = (*Store)(nil)
)

// Open opens the store, making its folder (mode 0700), its file (0600) and its tables as needed.
// Its error wraps store.ErrOwned if another process has it open. It wraps store.ErrDamaged if a
// newer version has written it, or if it is not a store. The caller closes the Store.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Calls == nil {
		cfg.Calls = store.NewCalls(store.CallsConfig{})
	}
	cfg.Calls.Share(1, 1)
	s := &Store{calls: cfg.Calls, now: cfg.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.openFile(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("open store %s: %w", cfg.Path, storeError(err)), s.Close())
	}
	return s, nil
}

// openFile opens the file, brings its schema up to date, and locks it for this
// process. A read-only store does neither.
func (s *Store) openFile(ctx context.Context, cfg Config) (err error) {
	if cfg.ReadOnly {
		if _, err := os.Stat(cfg.Path); err != nil {
			return err
		}
		s.db, err = openConnection(cfg.Path, "&mode=ro&_pragma=query_only(1)")
		if err != nil {
			return err
		}
		return s.checkSchema(ctx)
	}
	if err := createFile(cfg.Path); err != nil {
		return err
	}
	if err := s.lockOwner(ctx, cfg.Path+".owner"); err != nil {
		return err
	}
	// Each append waits for the file, not for the disk. A crash of the machine, but not of the
	// process, can lose the last moments.
	if s.db, err = openConnection(cfg.Path, "&_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(2000)&_pragma=synchronous(NORMAL)&_pragma=secure_delete(1)&_txlock=immediate"); err != nil {
		return err
	}
	if err := s.migrateSchema(ctx); err != nil {
		return err
	}
	// The process with the owner's lock is alone: each lease in the file belongs to a dead process,
	// so the wait for its end is not needed.
	if _, err := s.db.ExecContext(ctx, "DELETE FROM leases"); err != nil {
		return err
	}
	if err := s.prepareHot(ctx); err != nil {
		return err
	}
	return s.purgeExpired(ctx)
}

// hotStatements returns the statements that a turn runs, or a run of a workflow at each of its nodes.
func hotStatements() []string {
	return []string{
		selectTask, selectHolder, expireTask, insertTask, replaceTask,
		selectEnd, insertEntry, prolongLog, deleteEntries, deleteLog,
		selectValue, replaceValue,
		prolongList, insertItem, deleteItems, deleteList, sizeOfList,
		expireIndex, prolongIndex, insertMember,
	}
}

// prepareHot has SQLite read the statements of hot. To read one takes as long as to run it.
func (s *Store) prepareHot(ctx context.Context) (err error) {
	s.ready = map[string]*sql.Stmt{}
	for _, query := range hotStatements() {
		if s.ready[query], err = s.db.PrepareContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

// openConnection opens one connection: its owner alone writes, and commands on several would only
// wait for each other's locks.
func openConnection(path, options string) (*sql.DB, error) {
	escaped := (&url.URL{Path: filepath.ToSlash(filepath.Clean(path))}).EscapedPath()
	db, err := sql.Open("sqlite", "file:"+escaped+"?_pragma=busy_timeout(2000)"+options)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// lockOwner locks the store for this process: it opens a transaction on a file next to the store,
// and the kernel ends it with the process.
func (s *Store) lockOwner(ctx context.Context, path string) (err error) {
	if err := createFile(path); err != nil {
		return err
	}
	if s.owner, err = openConnection(path, "&_pragma=busy_timeout(0)"); err != nil {
		return err
	}
	_, err = s.owner.ExecContext(ctx, "BEGIN EXCLUSIVE")
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xFF == sqlite3.SQLITE_BUSY {
		return store.ErrOwned
	}
	return err
}

// createFile makes path and its folder, private to the user. A file that exists is not
// opened: closing it would drop the locks that SQLite holds on it elsewhere in this
// process (sqlite.org/howtocorrupt.html, section 2.2).
func createFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// Close releases the file and the owner's lock.
func (s *Store) Close() error {
	var errs []error
	if s.owner != nil && s.db != nil {
		ctx, cancel := context.WithTimeout(context.Background(), truncateTime)
		defer cancel()
		_ = s.runCheckpoint(ctx) // another process that reads may keep SQLite from doing so as it closes
	}
	for _, db := range []*sql.DB{s.db, s.owner} { // the lock last
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Check reports how the store is.
func (s *Store) Check() health.Status {
	return health.Store{Kind: string(store.SQLite), State: s.calls.State(), Warnings: []string{}}
}

// Signal wakes all who watch topic in this process.
func (s *Store) Signal(_ context.Context, topic string) error {
	s.hub.Signal(topic)
	return nil
}

// Watch begins to watch a topic.
func (s *Store) Watch(topic string) *store.Watch { return s.hub.Watch(topic) }

// runReadCommand runs a command that only reads.
func (s *Store) runReadCommand(ctx context.Context, op string, command func(context.Context, *tx) error) error {
	_, err := s.runTransaction(ctx, op, command)
	return err
}

// runWriteCommand runs a command in a transaction. An error undoes it.
func (s *Store) runWriteCommand(ctx context.Context, op string, command func(context.Context, *tx) error) error {
	if s.isPurgeDue() {
		if err := s.calls.Do(ctx, "purge", func(ctx context.Context) error { return storeError(s.purgeExpired(ctx)) }); err != nil {
			return err
		}
		_ = s.truncateLog(ctx) // its failure is counted, and nobody waits for it
	}
	moved, err := s.runTransaction(ctx, op, command)
	s.calls.Wrote(op, moved, err)
	return err
}

// runTransaction runs a command in a transaction and commits it, unless the command fails. It
// returns how many bytes were written and read. Only one runs at a time: there is one connection.
func (s *Store) runTransaction(ctx context.Context, op string, command func(context.Context, *tx) error) (moved int, err error) {
	err = s.calls.Do(ctx, op, func(ctx context.Context) error {
		t, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return storeError(err)
		}
		in := &tx{Tx: t, ctx: ctx, now: s.now().UnixMilli(), ready: s.ready}
		err = command(ctx, in)
		if err == nil || errors.Is(err, store.ErrTooLarge) { // which removes the log
			err = errors.Join(storeError(err), storeError(t.Commit()))
		} else {
			err = errors.Join(storeError(err), ignoreDone(t.Rollback()))
		}
		moved = in.moved
		return store.Carried(moved, err)
	})
	return moved, err
}

// ignoreDone drops the error of a transaction that the end of its context has ended.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// isPurgeDue reports whether it is time to remove expired records.
func (s *Store) isPurgeDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.purged) < purgeEvery {
		return false
	}
	s.purged = now
	return true
}

// tx is a transaction.
type tx struct {
	*sql.Tx
	ctx context.Context
	now int64 // Unix milliseconds
	// moved counts the bytes that were written and read.
	moved int

	ready map[string]*sql.Stmt // see Store
}

// never is when a record expires that does not.
const never = 1<<63 - 1

// expiryAfter returns when a record expires.
func (t *tx) expiryAfter(ttl time.Duration) int64 {
	if ttl == 0 {
		return never
	}
	return t.now + max(ttl.Milliseconds(), 1)
}

// remainingTime returns how long it is until a record expires; 0: it does not.
func (t *tx) remainingTime(until int64) time.Duration {
	if until == never {
		return 0
	}
	return time.Duration(until-t.now) * time.Millisecond
}

// exec changes rows, and returns how many.
func (t *tx) exec(query string, args ...any) (int64, error) {
	t.countMoved(args)
	var result sql.Result
	var err error
	if ready := t.ready[query]; ready != nil {
		result, err = t.StmtContext(t.ctx, ready).ExecContext(t.ctx, args...)
	} else {
		result, err = t.ExecContext(t.ctx, query, args...)
	}
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// readRow reads one row.
func (t *tx) readRow(query string, args []any, into ...any) error {
	if ready := t.ready[query]; ready != nil {
		return t.scanRow(t.StmtContext(t.ctx, ready).QueryRowContext(t.ctx, args...).Scan, into)
	}
	return t.scanRow(t.QueryRowContext(t.ctx, query, args...).Scan, into)
}

// readRows reads rows; each is called for all of them, until it returns errEnough.
func (t *tx) readRows(query string, args []any, each func(scan func(...any) error) error) error {
	rows, err := t.QueryContext(t.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		err := each(func(into ...any) error { return t.scanRow(rows.Scan, into) })
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanRow reads the columns of a row.
func (t *tx) scanRow(scan func(...any) error, into []any) error {
	err := scan(into...)
	t.countMoved(into)
	return err
}

// countMoved adds to the moved bytes of the transaction.
func (t *tx) countMoved(values []any) {
	for _, v := range values {
		switch v := v.(type) {
		case []byte:
			t.moved += len(v)
		case *[]byte:
			t.moved += len(*v)
		}
	}
}

// storeError returns err as one of package store's.
func storeError(err error) error {
	e, isSQLite := errors.AsType[*sqlite.Error](err)
	_, ours := errors.AsType[*store.EndError](err)
	switch {
	case err == nil, ours, errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrOwned), errors.Is(err, store.ErrDamaged):
		return err
	case errors.Is(err, sql.ErrNoRows):
		return store.ErrNotFound
	case !isSQLite:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // a disk that is full, for the index of the WAL
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	switch e.Code() & 0xFF { // without the extended part
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, store.ErrReadOnly, err)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_MISMATCH:
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
