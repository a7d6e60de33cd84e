//go:build unix

package conversation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// onEngines runs a test on every engine. here and there are one store, as two gateways see it.
func onEngines(t *testing.T, test func(t *testing.T, here, there JournalStore)) {
	t.Parallel()
	calls := func() *store.Calls { return store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second}) }
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := memory.New(memory.Config{})
		test(t, s, s)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "state.db"), Calls: calls()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		test(t, s, s)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
		here := redis.New(redis.Config{Location: server.Location(), Calls: calls()})
		t.Cleanup(func() { _ = here.Close() })
		there := redis.New(redis.Config{Location: server.Location(), Calls: calls()})
		t.Cleanup(func() { _ = there.Close() })
		test(t, here, there)
	})
}

// ofAnn is the conversation of these tests.
var ofAnn = name{"", "ann", "conv_1"}

// addOne runs a turn to its end, without a task.
func addOne(t testing.TB, j *Journal, id, input, answer string) {
	t.Helper()
	c, err := j.beginTurn(t.Context(), ofAnn, input, func(*header) {})
	if err == nil {
		err = j.appendTurn(t.Context(), c, plainTurn(id, input, answer))
	}
	if err != nil {
		t.Error(err)
	}
}

func plainTurn(id, input, answer string) *turn {
	one := &turn{ID: id, Finish: "stop", Began: time.Now().UnixMilli(), Ended: time.Now().UnixMilli()}
	one.Version, one.Input, one.Answer = recordVersion, input, answer
	return one
}

// Senders at two gateways that append at the same time get a line that has each turn once, and a
// record that agrees with it.
func TestAppendsAtTheSameTime(t *testing.T) {
	onEngines(t, func(t *testing.T, here, there JournalStore) {
		const senders, turns = 6, 8
		var wg sync.WaitGroup
		for s := range senders {
			j := NewJournal(JournalConfig{Store: []JournalStore{here, there}[s%2]})
			wg.Go(func() {
				for n := range turns {
					addOne(t, j, fmt.Sprintf("turn_%d_%d", s, n), "in", "out")
				}
			})
		}
		wg.Wait()
		j := NewJournal(JournalConfig{Store: here})
		d, err := j.Get(t.Context(), "", "ann", "conv_1", "", "", 100)
		if err != nil {
			t.Fatal(err)
		}
		if d.Turns != senders*turns || len(d.Messages) != 2*senders*turns || d.Next != "" {
			t.Errorf("%d turns, %d messages", d.Turns, len(d.Messages))
		}
		had, parent := map[string]bool{}, chat.AfterStart
		for _, m := range d.Messages {
			if m.Role != "user" {
				continue
			}
			if had[m.TurnID] || m.After != parent || m.Siblings != nil {
				t.Errorf("%+v follows %s", m, parent)
			}
			had[m.TurnID], parent = true, m.TurnID
		}
		if d.Head != parent {
			t.Errorf("head %s, want %s", d.Head, parent)
		}
	})
}

// Beyond its bounds the oldest turns leave, and pages end there.
func TestOldestTurnsLeave(t *testing.T) {
	onEngines(t, func(t *testing.T, here, _ JournalStore) {
		j := NewJournal(JournalConfig{Store: here, JournalSpec: JournalSpec{MaxTurns: 10}})
		for n := range 60 {
			addOne(t, j, fmt.Sprint("turn_", n), fmt.Sprint("in ", n), "out")
			d, err := j.Get(t.Context(), "", "ann", "conv_1", "", "", 4)
			if err != nil || d.Turns != min(n+1, 10) || d.Truncated != (n >= 10) || d.Messages[len(d.Messages)-2].Content != fmt.Sprint("in ", n) || (d.Next != "") != (n >= 4) {
				t.Fatalf("%d: %v %+v", n, err, d)
			}
		}
		items, err := here.List(t.Context(), ofAnn.turnsKey(), 0, 0)
		if err != nil || len(items) > 10+slackTurns+1 {
			t.Errorf("%d items, %v", len(items), err)
		}
		var all []string
		for cursor := ""; ; {
			d, err := j.Get(t.Context(), "", "ann", "conv_1", "", cursor, 4)
			if err != nil {
				t.Fatal(err)
			}
			var page []string
			for _, m := range d.Messages {
				if m.Role == "user" {
					page = append(page, m.Content)
				}
			}
			all = append(page, all...)
			if cursor = d.Next; cursor == "" {
				break
			}
		}
		if len(all) != 10 || all[0] != "in 50" || all[9] != "in 59" {
			t.Errorf("%q", all)
		}
	})
}

// A list of 8 MiB loses turns by their bytes.
func TestLargeTurnsLeave(t *testing.T) {
	onEngines(t, func(t *testing.T, here, _ JournalStore) {
		j := NewJournal(JournalConfig{Store: here})
		text := strings.Repeat("x", maxText)
		for n := range 45 {
			addOne(t, j, fmt.Sprint("turn_", n), "in", text)
		}
		d, err := j.Get(t.Context(), "", "ann", "conv_1", "", "", 3)
		if err != nil || !d.Truncated || d.Turns > 34 || d.Turns < 28 || len(d.Messages) != 6 || d.Messages[5].TurnID != "turn_44" {
			t.Errorf("%v: %d turns, %d messages, truncated %t", err, d.Turns, len(d.Messages), d.Truncated)
		}
	})
}

// A turn that ends after its conversation was deleted does not bring it back, also if another one has
// begun under the same id.
func TestDeletedStaysDeleted(t *testing.T) {
	onEngines(t, func(t *testing.T, here, there JournalStore) {
		one, two := NewJournal(JournalConfig{Store: here}), NewJournal(JournalConfig{Store: there})
		addOne(t, one, "turn_1", "CANARY", "out")
		for _, again := range []bool{false, true} {
			late, err := one.beginTurn(t.Context(), ofAnn, "in", func(*header) {})
			if err != nil {
				t.Fatal(err)
			}
			if _, found, err := two.Forget(t.Context(), "", "ann", "conv_1"); err != nil || !found {
				t.Fatal(found, err)
			}
			if again {
				addOne(t, two, "turn_2", "new", "out")
			}
			if err := one.appendTurn(t.Context(), late, plainTurn("turn_late", "CANARY", "out")); err != nil {
				t.Error(err)
			}
			d, err := two.Get(t.Context(), "", "ann", "conv_1", "", "", 20)
			if f := fault.From(err); !again && (err == nil || f.Type != fault.NotFound) {
				t.Errorf("%v %+v", err, d)
			}
			if again && (err != nil || d.Messages[0].Content != "new") {
				t.Errorf("%v %+v", err, d)
			}
			page, err := two.List(t.Context(), ListQuery{Owner: "ann", Limit: 20})
			if err != nil || len(page.Conversations) != map[bool]int{true: 1}[again] {
				t.Errorf("%v %+v", err, page)
			}
		}
	})
}

// Records and turns of another version, or cut, are not overwritten and not shown.
func TestDamagedConversations(t *testing.T) {
	t.Parallel()
	in := memory.New(memory.Config{})
	j := NewJournal(JournalConfig{Store: in})
	addOne(t, j, "turn_1", "one", "out")
	for _, item := range []string{`{"id":"turn_2"`, `{"v":9,"id":"turn_3"}`, `7`, strings.Repeat("x", 1<<20)} {
		if err := in.PushList(t.Context(), ofAnn.turnsKey(), []byte(item), store.Bounds{}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	addOne(t, j, "turn_4", "four", "out")
	d, err := j.Get(t.Context(), "", "ann", "conv_1", "turn_4", "", 20)
	if err != nil || len(d.Messages) != 4 || d.Messages[3].TurnID != "turn_4" {
		t.Errorf("%v %+v", err, d)
	}
	for _, data := range []string{`{"v":2,"life":"x"}`, `{"v":1}`, `{`, ``} {
		v, err := in.Value(t.Context(), ofAnn.recordKey())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.PutValue(t.Context(), ofAnn.recordKey(), store.Value{Data: []byte(data), Version: v.Version}, time.Hour); err != nil {
			t.Fatal(err)
		}
		if _, err := j.beginTurn(t.Context(), ofAnn, "in", func(*header) {}); err == nil {
			t.Errorf("%s was overwritten", data)
		}
		if _, err := j.Get(t.Context(), "", "ann", "conv_1", "", "", 20); err == nil || fault.From(err).Type != fault.NotFound {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// Of two processes that both appended a turn, the later owner's record counts.
func TestLaterOwnerCounts(t *testing.T) {
	t.Parallel()
	j := NewJournal(JournalConfig{Store: memory.New(memory.Config{})})
	addOne(t, j, "turn_1", "in", "one")
	for _, takeovers := range []int{0, 2, 1} {
		c, err := j.beginTurn(t.Context(), ofAnn, "in", func(*header) {})
		if err != nil {
			t.Fatal(err)
		}
		again := plainTurn("turn_2", "in", fmt.Sprint("after ", takeovers))
		again.Takeovers = takeovers
		if err := j.appendTurn(t.Context(), c, again); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"", "turn_2"} {
		d, err := j.Get(t.Context(), "", "ann", "conv_1", line, "", 20)
		if err != nil || len(d.Messages) != 4 || d.Messages[3].Content != "after 2" {
			t.Errorf("%v %+v", err, d)
		}
	}
}

// A lost turn keeps its text and its finished calls, if its conversation exists.
func TestLostTurnIsAppended(t *testing.T) {
	t.Parallel()
	j := NewJournal(JournalConfig{Store: memory.New(memory.Config{})})
	pay := stream.Call{ID: "c1", Tool: "pay", Arguments: []byte(`{"a":1}`)}
	l := Lost{Owner: "ann", Conversation: "conv_1", Turn: "turn_1", Input: "pay", Err: &fault.Error{Type: fault.TurnLost}, Reason: stream.Failed,
		Events: []stream.Event{&stream.Delta{Text: "I pay"}, &stream.ToolStarted{Call: pay}, &stream.ToolCompleted{Call: pay, Result: "paid"}}}
	if err := j.AppendLost(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Get(t.Context(), "", "ann", "conv_1", "", "", 20); err == nil {
		t.Error("a turn without a conversation_id has one")
	}
	c, err := j.beginTurn(t.Context(), ofAnn, "pay", func(*header) {})
	if err == nil {
		err = j.AppendLost(t.Context(), l)
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := j.Get(t.Context(), "", "ann", "conv_1", "", "", 20)
	if err != nil || len(d.Messages) != 2 || d.Messages[1].Content != "I pay" || d.Messages[1].FinishReason != "error" || !slices.Equal(d.Messages[1].Tools, []string{"pay"}) {
		t.Errorf("%v %+v", err, d)
	}
	c, err = j.loadRecord(t.Context(), c.name)
	if err != nil {
		t.Fatal(err)
	}
	page, err := j.readLine(t.Context(), c, query{limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	shown := page.turns[0].forModel(1 << 10)
	if want := "I pay\n\n[No complete answer: the turn failed. Tools that were called: pay.]"; shown.Answer != want || len(shown.Steps) != 1 || shown.Steps[0].Calls[0].Result != "paid" {
		t.Errorf("%+v", shown)
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		" one\ntwo": "one", "a\tb\u202e\x00c": "a bc", "": "",
		strings.Repeat("ä", 60): strings.Repeat("ä", 60), strings.Repeat("ä", 61): strings.Repeat("ä", 59) + "…",
	} {
		if got := titleOf(input); got != want {
			t.Errorf("%q: %q, want %q", input, got, want)
		}
	}
}

// FuzzRecord reads what somebody else may have written.
func FuzzRecord(f *testing.F) {
	one := plainTurn("turn_1", "in", "out")
	h := newHeader("in", time.Now())
	f.Add(string(one.encode()))
	f.Add(string(h.encode()))
	f.Fuzz(func(t *testing.T, data string) {
		if h, err := readHeader([]byte(data)); err == nil {
			h.addRunning(mark{"t", "k", 1})
			if _, err := readHeader(h.encode()); err != nil {
				t.Error(err)
			}
		}
		if one, ok := readTurn([]byte(data)); ok {
			r := one.forModel(100)
			_ = r.asMessages()
			_ = one.readerMessages(chat.AfterStart, nil)
		}
		items := [][]byte{[]byte(data), one.encode(), []byte(data)}
		for at := range growTree(items) {
			_ = growTree(items).lineTo(at)
			_ = growTree(items).siblingsOf(at)
		}
	})
}

// BenchmarkReadConversation reads the newest 20 of 500 turns.
func BenchmarkReadConversation(b *testing.B) {
	server := redistest.Start(b, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	far := redis.New(redis.Config{Location: server.Location(), Calls: store.NewCalls(store.CallsConfig{Timeout: 10 * time.Second})})
	b.Cleanup(func() { _ = far.Close() })
	for kind, in := range map[string]JournalStore{"memory": memory.New(memory.Config{}), "redis": far} {
		j := NewJournal(JournalConfig{Store: in})
		for n := range 500 {
			addOne(b, j, fmt.Sprint("turn_", n), strings.Repeat("in ", 50), strings.Repeat("out ", 400))
		}
		for way, line := range map[string]string{"tail": "", "line": "turn_499"} {
			b.Run(kind+"/"+way, func(b *testing.B) {
				for b.Loop() {
					if d, err := j.Get(context.Background(), "", "ann", "conv_1", line, "", 20); err != nil || len(d.Messages) != 40 {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
