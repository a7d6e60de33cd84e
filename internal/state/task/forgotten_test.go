package task_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline"
	"sluice/internal/state/store"
	"sluice/internal/state/store/sqlite"
)

// After a conversation is forgotten no byte of SQLite's files has a word of it, with the log
// of changes and whatever else is in the file.
func TestForgottenTextsAreInNoFile(t *testing.T) {
	t.Parallel()
	const word = "secretword"
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Calls: store.NewCalls(store.CallsConfig{Timeout: time.Minute})})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		f := &wholetest.Fleet{T: t, Store: s, File: "agents: {one: {description: d}}\nmemory: {enabled: true}\n"}
		f.Gemini = geminisim.New(geminisim.Config{Model: offline.Model{}})
		g := f.Gateway(nil)
		said := func(who, what string, n int) {
			g.Ask(t, http.MethodPost, "/chat/stream", fmt.Sprintf(`{"input":"%s %d","conversation_id":"conv_1","user_id":"%s"}`, strings.Repeat(what+" ", n*n%400+1), n, who), "Idempotency-Key", fmt.Sprintf("key-of-%s-%04d", who, n))
		}
		for n := range 30 {
			said("ann", word, n)
			said("bob", "otherword", n)
		}
		count := func(word string) (n int) {
			names, _ := filepath.Glob(path + "*")
			for _, name := range names {
				all, _ := os.ReadFile(name)
				n += bytes.Count(all, []byte(word))
			}
			return n
		}
		if count(word) == 0 {
			t.Fatal("it was never there: this test shows nothing")
		}
		if status, _ := g.Ask(t, http.MethodDelete, "/conversations/conv_1?user_id=ann", ""); status != http.StatusNoContent {
			t.Fatalf("forgetting: %d", status)
		}
		if n := count(word); n > 0 || count("otherword") == 0 {
			t.Errorf("the files have the word %d times, and the other one %d times", n, count("otherword"))
		}
		time.Sleep(time.Minute)
	})
}
