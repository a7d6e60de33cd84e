package task_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/base/testnet"
	"sluice/internal/engine/agent"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/stream"
)

// A stream that is cut behind any of its events and taken up again, at another gateway
// that shares the store, is byte for byte the uncut one; and but for its ids it is the
// stream of a gateway without a store.
func TestCutStreamIsTheUncutOne(t *testing.T) {
	t.Parallel()
	for name, tr := range wholetest.TurnTranscripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { cutEverywhereIn(tr, t, memory.New(memory.Config{})) })
		})
	}
}

// cutEverywhereIn is cutEverywhere with a store.
func cutEverywhereIn(tr wholetest.Transcript, t *testing.T, shared store.Store) {
	sim := tr.Gemini(t)
	replies := tr.PlayWith(t, sim, new(bytes.Buffer), gateway.Seams{Store: shared})
	whole := replies[len(replies)-1]
	if diff := cmp.Diff(tr.Get("want.sse"), wholetest.Plain(whole.Text())); diff != "" {
		t.Errorf("but for its ids the stream (-without a store +with one):\n%s", diff)
	}
	whole.Body = wholetest.Drafted.ReplaceAllString(whole.Body, "") // a stream that is resumed has none
	second := tr.Second(t, gateway.Seams{Store: shared})
	ids := wholetest.KeptID.FindAllStringSubmatchIndex(whole.Body, -1)
	if len(ids) == 0 {
		t.Fatalf("no ids of a turn in\n%s", whole.Body)
	}
	for i, at := range ids {
		id := whole.Body[at[2]:at[5]]
		end := at[1] + strings.Index(whole.Body[at[1]:], "\n\n") + 2
		status, rest := second.Resume(t, "/chat/stream?input=hi", id)
		if i == len(ids)-1 {
			if status != http.StatusNoContent || rest != "" {
				t.Errorf("behind the last event: %d %q", status, rest)
			}
			continue
		}
		if got := whole.Body[:end] + rest; wholetest.WithoutBeats(got) != wholetest.WithoutBeats(whole.Body) {
			t.Fatalf("cut behind event %d (-uncut +joined):\n%s", i+1, cmp.Diff(wholetest.WithoutBeats(whole.Body), wholetest.WithoutBeats(got)))
		}
	}
}

// What a store takes of the process's memory is reported to the collector's pace: nothing
// without one.
func TestKeptIsTheStoreInMemory(t *testing.T) {
	t.Parallel()
	for kind, some := range map[string]bool{"none": false, "memory": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var cfg settings.Config
				cfg.Config, _ = wholetest.Transcript{Archive: txtar.Parse([]byte("-- config --\nSLUICE_TODO_DB=:memory:\nSLUICE_STORE=" + kind + "\n"))}.Config(t)
				g, err := gateway.New(t.Context(), cfg, zerolog.Nop(), gateway.Seams{
					Gemini: testnet.Serve(t, wholetest.Silent()), Runner: func(*agent.Agent) stream.Runner { return wholetest.Slow{Words: 5, Runs: new(int)} },
				})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				if n := g.StoreBytes(); n > 1000 {
					t.Errorf("%d bytes before the first turn", n)
				}
				client := wholetest.Peer{Client: http.Client{Transport: testnet.Serve(t, g)}}
				if status, reply := client.Ask(t, http.MethodPost, "/chat/stream", `{"input":"`+strings.Repeat("word ", 400)+`"}`); status != http.StatusOK || !strings.Contains(reply, "event: done") {
					t.Fatalf("%d %s", status, reply)
				}
				if n := g.StoreBytes(); (n > 2000) != some {
					t.Errorf("%d bytes behind a turn", n)
				}
			})
		})
	}
}
