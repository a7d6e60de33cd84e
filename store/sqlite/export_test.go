package sqlite

import "testing"

// Limit bounds the file, as a disk without room does.
func (s *Store) Limit(t *testing.T) {
	t.Helper()
	if _, err := s.db.Exec("PRAGMA max_page_count = 60"); err != nil {
		t.Fatal(err)
	}
}
