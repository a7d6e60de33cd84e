package sqlite

import (
	"context"
	"fmt"
	"time"

	"sluice/internal/state/store"
)

// migrations lead from an empty file to the current schema. The file's user_version
// counts how many of them it has seen, so that entries are only ever added at the end.
//
// Times are Unix milliseconds, as a file outlives the clock of a process. Names that users choose
// are stored as bytes: they may hold anything.
func migrations() []string {
	return []string{
		`CREATE TABLE tasks (
		id BLOB PRIMARY KEY, doc BLOB NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
		tenant BLOB NOT NULL, user BLOB NOT NULL, conversation BLOB NOT NULL, turn BLOB NOT NULL, state BLOB NOT NULL,
		version INTEGER NOT NULL, cancel INTEGER NOT NULL, created INTEGER NOT NULL, until INTEGER NOT NULL
	) STRICT, WITHOUT ROWID;
	CREATE INDEX tasks_user ON tasks (tenant, user, created, id);
	CREATE INDEX tasks_conversation ON tasks (tenant, user, conversation, created, id);
	CREATE INDEX tasks_owner ON tasks (owner) WHERE owner <> '';
	CREATE INDEX tasks_until ON tasks (until);
	CREATE TABLE logs (turn BLOB PRIMARY KEY, last INTEGER NOT NULL, size INTEGER NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
	CREATE TABLE entries (turn BLOB NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (turn, n)) STRICT, WITHOUT ROWID;
	CREATE TABLE leases (owner TEXT PRIMARY KEY, epoch INTEGER NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
	CREATE TABLE vals (key TEXT PRIMARY KEY, data BLOB NOT NULL, version INTEGER NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
	CREATE TABLE lists (key TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
	CREATE TABLE items (seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, data BLOB NOT NULL) STRICT;
	CREATE INDEX items_key ON items (key, seq);
	CREATE TABLE indexes (name TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
	CREATE TABLE members (name TEXT NOT NULL, id BLOB NOT NULL, score INTEGER NOT NULL, PRIMARY KEY (name, id)) STRICT, WITHOUT ROWID;
	CREATE INDEX members_score ON members (name, score, id);
	CREATE TABLE counters (key TEXT PRIMARY KEY, n INTEGER NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;`,
	}
}

// tenantIndex serves store.AllUsers. Without authentication it stays empty. The index is not a
// migration, so that a program of the previous version can still open the file.
const tenantIndex = "CREATE INDEX IF NOT EXISTS tasks_tenant ON tasks (tenant, created, id) WHERE user > x'0000' AND user < x'01'"

// schemaVersion returns how many migrations the file has seen.
func (s *Store) schemaVersion(ctx context.Context) (version int, err error) {
	err = s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	if err == nil && version > len(migrations()) {
		err = fmt.Errorf("%w: its schema is version %d, this program knows %d", store.ErrDamaged, version, len(migrations()))
	}
	return version, err
}

// checkSchema refuses a file whose schema is another one.
func (s *Store) checkSchema(ctx context.Context) error {
	version, err := s.schemaVersion(ctx)
	if err == nil && version != len(migrations()) {
		err = fmt.Errorf("%w: its schema is version %d, not %d: the process that owns it has to bring it up to date", store.ErrDamaged, version, len(migrations()))
	}
	return err
}

// migrateSchema brings the schema up to date.
func (s *Store) migrateSchema(ctx context.Context) error {
	version, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	t, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	for _, step := range append(migrations()[version:], tenantIndex) {
		if _, err := t.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	// A pragma cannot have parameters; the number is ours.
	if _, err := t.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrations()))); err != nil {
		return err
	}
	return t.Commit()
}

// purgeExpired removes expired records.
func (s *Store) purgeExpired(ctx context.Context) error {
	s.mu.Lock()
	s.purged = time.Now()
	s.mu.Unlock()
	t, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	for _, statement := range []string{
		"DELETE FROM tasks WHERE until <= ?1",
		"DELETE FROM entries WHERE turn IN (SELECT turn FROM logs WHERE until <= ?1)",
		"DELETE FROM logs WHERE until <= ?1",
		"DELETE FROM leases WHERE until <= ?1",
		"DELETE FROM vals WHERE until <= ?1",
		"DELETE FROM items WHERE key IN (SELECT key FROM lists WHERE until <= ?1)",
		"DELETE FROM lists WHERE until <= ?1",
		"DELETE FROM members WHERE name IN (SELECT name FROM indexes WHERE until <= ?1)",
		"DELETE FROM indexes WHERE until <= ?1",
		"DELETE FROM counters WHERE until <= ?1",
	} {
		if _, err := t.ExecContext(ctx, statement, s.now().UnixMilli()); err != nil {
			return err
		}
	}
	return t.Commit()
}
