package sqlite

import (
	"testing"
	"time"
)

// Limit bounds the file, as a disk without room does.
func (s *Store) Limit(t *testing.T) { s.run(t, "PRAGMA max_page_count = 60") }

// Break makes a kind of change fail in the middle of a transaction: one to this table.
func (s *Store) Break(t *testing.T, table string) {
	s.run(t, "CREATE TEMP TRIGGER broken BEFORE INSERT ON main."+table+" BEGIN SELECT RAISE(ABORT, 'broken'); END")
}

func (s *Store) run(t *testing.T, statement string) {
	t.Helper()
	if _, err := s.db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

// Age makes the last search for what has expired older.
func (s *Store) Age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.purged = s.purged.Add(-by)
}
