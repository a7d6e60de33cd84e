package todo

import (
	"context"
	"database/sql"
	"fmt"
)

// migrationSteps lead from an empty file to the current schema. The file's
// user_version counts how many of them it has seen, so that entries are only ever
// added at the end.
//
// seq is the order of creation. title_folded is the title in lower case, because
// SQLite folds ASCII only. At most one of due_wall and due_instant is set; see
// due. tags is a JSON array of strings. owner is whose list it is on; see owner.
func migrationSteps() []string {
	return []string{
		`CREATE TABLE todos (
		seq          INTEGER PRIMARY KEY,
		id           TEXT NOT NULL UNIQUE,
		title        TEXT NOT NULL,
		title_folded TEXT NOT NULL,
		description  TEXT NOT NULL DEFAULT '',
		status       TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'completed')),
		priority     TEXT NOT NULL DEFAULT 'medium' CHECK (priority IN ('low', 'medium', 'high')),
		due_date     TEXT,
		due_wall     INTEGER,
		due_instant  INTEGER,
		tags         TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tags)),
		created_at   TEXT NOT NULL,
		completed_at TEXT
	) STRICT`,
		`ALTER TABLE todos ADD COLUMN owner TEXT NOT NULL DEFAULT ''`,
	}
}

// migrateSchema brings the schema up to date. Two processes that open a new file at the
// same time take turns, because the transaction begins with the write lock.
func migrateSchema(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(migrationSteps()) {
		return fmt.Errorf("its schema is version %d, this program knows %d", version, len(migrationSteps()))
	}
	for _, step := range migrationSteps()[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	// A pragma takes only literals; the number is ours.
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(migrationSteps()))); err != nil {
		return err
	}
	return tx.Commit()
}
