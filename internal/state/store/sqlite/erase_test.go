package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/sqlite"
)

// inFiles counts a word in the bytes of a store's files.
func inFiles(t *testing.T, path, word string) (n int) {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	must(t, err)
	for _, name := range names {
		all, err := os.ReadFile(name)
		must(t, err)
		n += bytes.Count(all, []byte(word))
	}
	return n
}

// What was removed is in no byte of the store's files, among whatever else there is: after an
// Erase, and at the latest when the store is closed.
func TestRemovedTextsLeaveTheFiles(t *testing.T) {
	t.Parallel()
	const word = "secretword"
	for _, closes := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "state.db")
		s := open(t, path)
		text := func(i int, word string) []byte {
			return []byte(strings.Repeat(fmt.Sprintf("%s %d ", word, i), []int{1, 30, 300, 3000}[i%4]))
		}
		put := func(i int, word string) {
			name := fmt.Sprint("k", i, word)
			doc := store.Task{Doc: text(i, word), Meta: store.Meta{User: word, Conversation: word, Created: time.Now()}}
			must(t, s.CreateTask(t.Context(), name, doc, time.Hour))
			doc.Version, doc.Doc = 1, text(i+1, word)
			must(t, s.UpdateTask(t.Context(), name, doc, time.Hour))
			must(t, s.AppendLog(t.Context(), name, store.Append{Entry: store.Entry{N: 1, Data: text(i, word)}}))
			must(t, s.AppendLog(t.Context(), name, store.Append{Entry: store.Entry{N: 2, Data: text(i+2, word)}, At: 1}))
			v, err := s.PutValue(t.Context(), name, store.Value{Data: text(i, word)}, time.Hour)
			must(t, err)
			v.Data = text(i+3, word)
			_, err = s.PutValue(t.Context(), name, v, time.Hour)
			must(t, err)
			must(t, s.PushList(t.Context(), name+"l", text(i, word), store.Bounds{}, time.Hour))
			must(t, s.PushList(t.Context(), name+"l", text(i+1, word), store.Bounds{Items: 1}, time.Hour))
			must(t, s.PutIndex(t.Context(), "i", store.Member{ID: name}, time.Hour))
		}
		for i := range 40 {
			put(i, "other")
			put(i, word)
		}
		must(t, s.Erase(t.Context()))
		if inFiles(t, path, word) == 0 {
			t.Fatal("it was never there: this test shows nothing")
		}
		for i := range 40 {
			name := fmt.Sprint("k", i, word)
			must(t, s.DeleteTask(t.Context(), name))
			must(t, s.DropLog(t.Context(), name))
			must(t, s.DeleteValue(t.Context(), name))
			must(t, s.DeleteList(t.Context(), name+"l"))
			must(t, s.RemoveIndex(t.Context(), "i", name))
		}
		if !closes {
			must(t, s.Erase(t.Context()))
		} else {
			reader, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true})
			must(t, err)
			must(t, s.Close())
			defer reader.Close()
		}
		if n := inFiles(t, path, word); n > 0 {
			t.Errorf("closed %t: it is there %d times", closes, n)
		}
		if inFiles(t, path, "other") == 0 {
			t.Error("the rest is gone too")
		}
		db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
		must(t, err)
		var verdict string
		must(t, db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict))
		must(t, db.Close())
		if verdict != "ok" {
			t.Errorf("the file is damaged: %s", verdict)
		}
		if !closes {
			must(t, s.Close())
		}
	}
}
