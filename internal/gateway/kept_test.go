package gateway

import (
	"bytes"

	"io"
	"net/http"
	"regexp"

	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"golang.org/x/tools/txtar"

	"sluice/agent"
	"sluice/internal/settings"
	"sluice/internal/testnet"
	"sluice/store"
	"sluice/store/memory"
	"sluice/stream"
)

var keptID = regexp.MustCompile(`(?m)^id: (turn_[0-9a-z]{26}):(\d+)$`)

// A stream that is cut behind any of its events and taken up again, at another gateway
// that shares the store, is byte for byte the uncut one; and but for its ids it is the
// stream of a gateway without a store.
func TestCutStreamIsTheUncutOne(t *testing.T) {
	t.Parallel()
	for name, tr := range turnTranscripts(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tr.cutEverywhereIn(t, memory.New(memory.Config{})) })
		})
	}
}

// drafted matches the frame of a draft.
var drafted = regexp.MustCompile(`event: inner_delta\ndata: [^\n]*"attempt":\d}\n\n`)

// cutEverywhereIn is cutEverywhere with a store.
func (tr transcript) cutEverywhereIn(t *testing.T, shared store.Store) {
	sim := tr.gemini(t)
	replies := tr.playWith(t, sim, new(bytes.Buffer), Seams{Store: shared})
	whole := replies[len(replies)-1]
	if diff := cmp.Diff(tr.get("want.sse"), plain(whole.text())); diff != "" {
		t.Errorf("but for its ids the stream (-without a store +with one):\n%s", diff)
	}
	whole.body = drafted.ReplaceAllString(whole.body, "") // a stream that is resumed has none
	second := tr.second(t, Seams{Store: shared})
	ids := keptID.FindAllStringSubmatchIndex(whole.body, -1)
	if len(ids) == 0 {
		t.Fatalf("no ids of a turn in\n%s", whole.body)
	}
	for i, at := range ids {
		id := whole.body[at[2]:at[5]]
		end := at[1] + strings.Index(whole.body[at[1]:], "\n\n") + 2
		status, rest := second.resume(t, "/chat/stream?input=hi", id)
		if i == len(ids)-1 {
			if status != http.StatusNoContent || rest != "" {
				t.Errorf("behind the last event: %d %q", status, rest)
			}
			continue
		}
		if got := whole.body[:end] + rest; withoutBeats(got) != withoutBeats(whole.body) {
			t.Fatalf("cut behind event %d (-uncut +joined):\n%s", i+1, cmp.Diff(withoutBeats(whole.body), withoutBeats(got)))
		}
	}
}

// withoutBeats returns a stream without its heartbeats.
func withoutBeats(body string) string { return strings.ReplaceAll(body, ": ping\n\n", "") }

var keptStart = regexp.MustCompile(`,"task_id":"task_[0-9a-z]{26}","turn_id":"turn_[0-9a-z]{26}"`)

var keptTask = regexp.MustCompile(`,"task_id":"task_[0-9a-z]{26}"`) // of a question

// plain returns a kept stream as it is without a store.
func plain(body string) string {
	body = strings.Replace(body, "retry: 1000\n", "retry: 86400000\n", 1)
	return withoutChance(keptTask.ReplaceAllString(keptStart.ReplaceAllString(keptID.ReplaceAllString(body, "id: "+goldenID+":$2"), ""), ""))
}

// peer is a further gateway.
type peer struct{ client http.Client }

// second starts a gateway of the same settings, whose model nobody asks.
func (tr transcript) second(t *testing.T, with Seams) peer {
	t.Helper()
	cfg, file := tr.config(t)
	setServers(&cfg, nil) // they are the transcript's own
	with.Gemini = testnet.Serve(t, silent())
	with.Servers = nil
	g, err := New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.Nop(), with)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return peer{client: http.Client{Transport: testnet.Serve(t, g)}}
}

// silent is a model that nobody is to ask.
func silent() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
}

// resume asks for what follows an event.
func (p peer) resume(t *testing.T, path, lastEventID string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-ID", lastEventID)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s behind %s broke off: %v", path, lastEventID, err)
	}
	return resp.StatusCode, string(all)
}

// What a store takes of the process's memory is told to the collector's pace: nothing without
// one.
func TestKeptIsTheStoreInMemory(t *testing.T) {
	t.Parallel()
	for kind, some := range map[string]bool{"none": false, "memory": true} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var cfg settings.Config
				cfg.Config, _ = transcript{Archive: txtar.Parse([]byte("-- config --\nSLUICE_TODO_DB=:memory:\nSLUICE_STORE=" + kind + "\n"))}.config(t)
				g, err := New(t.Context(), cfg, zerolog.Nop(), Seams{
					Gemini: testnet.Serve(t, silent()), Runner: func(*agent.Agent) stream.Runner { return slow{words: 5, runs: new(int)} },
				})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				if n := g.Kept(); n > 1000 {
					t.Errorf("%d bytes before the first turn", n)
				}
				client := peer{client: http.Client{Transport: testnet.Serve(t, g)}}
				if status, reply := client.ask(t, http.MethodPost, "/chat/stream", `{"input":"`+strings.Repeat("word ", 400)+`"}`); status != http.StatusOK || !strings.Contains(reply, "event: done") {
					t.Fatalf("%d %s", status, reply)
				}
				if n := g.Kept(); (n > 2000) != some {
					t.Errorf("%d bytes behind a turn", n)
				}
			})
		})
	}
}
