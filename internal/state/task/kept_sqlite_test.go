package task_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/state/store/sqlite"
)

// The same with SQLite: a stream is cut behind any of its events, and taken up out of the file.
// One transcript of each kind, as each event is several transactions.
func TestCutStreamIsTheUncutOneInSQLite(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for name, tr := range wholetest.TurnTranscripts(t) {
		kind, _, _ := strings.Cut(name, "_")
		if kinds[kind] {
			continue
		}
		kinds[kind] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "state.db"), Calls: store.NewCalls(store.CallsConfig{Timeout: time.Minute})})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { // behind the gateways
					if err := s.Close(); err != nil {
						t.Error(err)
					}
				})
				cutEverywhereIn(tr, t, s)
			})
		})
	}
	if len(kinds) < 10 {
		t.Errorf("only %d kinds of transcripts", len(kinds))
	}
}

// A cursor of a list is good for that list alone; any other text is refused, and shows nobody
// another's tasks.
func TestCursorsThatAreNone(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one := f.Gateway(nil)
		for range 3 {
			one.Ask(t, http.MethodPost, "/chat/stream", wholetest.Created)
			one.Ask(t, http.MethodPost, "/chat/stream", strings.Replace(wholetest.Created, "ann", "bob", 1))
		}
		page := func(user, cursor string) (status int, ids []string, next string) {
			status, text := one.Ask(t, http.MethodGet, "/tasks?limit=2&conversation_id=conv_1&user_id="+user+"&cursor="+url.QueryEscape(cursor), "")
			var list struct {
				Tasks []wholetest.Document
				Next  string `json:"next_cursor"`
			}
			_ = json.Unmarshal([]byte(text), &list)
			for _, d := range list.Tasks {
				ids = append(ids, d.ID)
			}
			return status, ids, list.Next
		}
		_, ofAnn, anns := page("ann", "")
		_, ofBob, bobs := page("bob", "")
		if len(ofAnn) != 2 || len(ofBob) != 2 || anns == "" {
			t.Fatalf("%v %v %q", ofAnn, ofBob, anns)
		}
		seen := map[string]bool{}
		for _, cursor := range []string{"", anns} {
			_, ids, _ := page("ann", cursor)
			for _, id := range ids {
				seen[id] = true
			}
		}
		if len(seen) != 3 {
			t.Errorf("ann has %d tasks", len(seen))
		}
		if _, ids, _ := page("ann", bobs); len(ids) > 3 || len(ids) > 0 && !seen[ids[0]] {
			t.Errorf("with bob's cursor ann is shown %v", ids)
		}
		for _, cursor := range []string{"x", "-1", "0", "99999999999999999999", "9223372036854775807", anns + "x", anns[:len(anns)-1], "\x00", strings.Repeat("A", 5000), "eyJhIjoxfQ", "../..", "null"} {
			if status, ids, _ := page("ann", cursor); status != http.StatusUnprocessableEntity {
				for _, id := range ids {
					if !seen[id] {
						t.Errorf("cursor %.30q shows another's task %s", cursor, id)
					}
				}
				if status != http.StatusOK {
					t.Errorf("cursor %.30q: %d", cursor, status)
				}
			}
		}
	})
}
