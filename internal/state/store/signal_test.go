package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/state/store"
)

// The names of records are what another version finds them by: one that changes loses what was
// stored. Nothing else says what they are, so they stand here in full.
func TestNamesOfRecords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{store.AgentsKey, "sluice:agents"}, {store.DueIndex, "sluice:due"}, {store.RetainIndex, "sluice:retain"},
		{store.TaskKey("a"), "task:a"},
		{store.MetaKey("a"), "sluice:task:a"},
		{store.LongKey("a"), "sluice:long:a"},
		{store.LogKey("a"), "sluice:log:a"},
		{store.TraceKey("a"), "sluice:trace:a"},
		{store.LeaseKey("a"), "sluice:gw:a"},
		{store.IdempotencyKey("t", "ü", "k"), "sluice:idem:d37e48704f9403dfded427f817617755"},
		{store.MemoryKey("t", "u", "c"), "sluice:mem:07b0057cebdf9affe7a077fe81a1488f"},
		{store.ConversationKey("t", "u", "c"), "sluice:conv:07b0057cebdf9affe7a077fe81a1488f"},
		{store.ConversationTurnsKey("t", "u", "c"), "sluice:turns:07b0057cebdf9affe7a077fe81a1488f"},
		{store.ConversationItemsKey("t", "u", "c"), "sluice:turns:07b0057cebdf9affe7a077fe81a1488f:items"},
		{store.ConversationsKey("t", "u"), "sluice:convs:aba1963a9c3b61cbc1702e0c103ae2c2"},
		{store.GenerationKey("s"), "sluice:gen:daf59918c0d3a784685385e19caef4ac"},
		{store.CacheKey("t", "u", "s", "x", "{}", 7), "sluice:cache:f2a26db3b06280607f311033c6590aa2"},
		{store.ToolsKey("a"), "sluice:tools:a"},
		{store.RunKey("a"), "sluice:run:a"},
		{store.CheckpointsKey("a"), "sluice:cp:a"},
		{store.MessagesKey("a"), "sluice:msg:a"},
		{store.DefinitionKey("a"), "sluice:def:a"},
		{store.DefinitionRunsKey("a"), "sluice:def:a:runs"},
		{store.ApprovalKey("a"), "sluice:approval:a"},
		{store.ApprovalsKey("t", "p"), "sluice:approvals:1c1a4a6b264ce917224ae2382dfbd35d"},
		{store.ApprovalsOfAllKey("t"), "sluice:approvals:a7fcb5bd3d322451a3b92f4e4ca28f67"},
		{store.SessionKey("a"), "sluice:session:a"},
		{store.SessionsKey("a"), "sluice:session:a"},
		{store.ThreadKey("a"), "sluice:thread:a"},
		{store.ThreadItemsKey("a"), "sluice:thread:a:items"},
		{store.ThreadsKey("t", "o"), "sluice:threads:8ef51336e60676ccbc5cedfde9dc13d3"},
		{store.TasksKey("t", "u", ""), "sluice:tasks:user:aba1963a9c3b61cbc1702e0c103ae2c2"},
		{store.TasksKey("t", "u", "c"), "sluice:tasks:conv:07b0057cebdf9affe7a077fe81a1488f"},
		{store.LogTopic("a"), "log:a"},
		{store.CancelTopic("a"), "cancel:a"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
	}
}

// What users choose cannot be put together to the name of another user's record.
func TestNamesOfUsersDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	texts := []string{"", "a", "b", "ab", "1:a", "a1:b", ":", "0:"}
	for _, tenant := range texts {
		for _, user := range texts {
			for _, id := range texts {
				all := fmt.Sprintf("%q %q %q", tenant, user, id)
				for _, key := range []string{store.IdempotencyKey(tenant, user, id), store.MemoryKey(tenant, user, id), store.CacheKey(tenant, user, id, "", "", 0)} {
					if other, ok := seen[key]; ok {
						t.Errorf("%s has the name of %s", all, other)
					}
					seen[key] = all
				}
			}
		}
	}
}

// look says whether a watch has a signal, and consumes it.
func look(w *store.Watch) bool {
	select {
	case <-w.C:
		return true
	default:
		return false
	}
}

// A watch is woken at first, and then by signals of its own topic, of which many are one. One
// that has stopped is not woken.
func TestHub(t *testing.T) {
	t.Parallel()
	var hub store.Hub
	hub.Signal("a") // nobody watches
	one, two, other := hub.Watch("a"), hub.Watch("a"), hub.Watch("b")
	if !look(one) || !look(two) || !look(other) || look(one) {
		t.Error("a watch is not woken at first, or twice")
	}
	hub.Signal("a")
	hub.Signal("a")
	if !look(one) || look(one) || !look(two) || look(other) {
		t.Error("two signals are not one of their topic")
	}
	one.Stop()
	one.Stop()
	hub.Signal("a")
	if look(one) || !look(two) {
		t.Error("a watch that has stopped is woken, or the other one is not")
	}
	topics := hub.Topics()
	slices.Sort(topics)
	if diff := cmp.Diff([]string{"a", "b"}, topics); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	two.Stop()
	other.Stop()
	if topics := hub.Topics(); topics != nil {
		t.Errorf("topics %q are watched", topics)
	}
}

// What listens on behalf of a hub begins with the first watch of a topic and ends with the last.
// The first one is woken by it, not before it listens: what is signalled until then would be
// missed.
func TestHubOnBehalfOfWhichIsListened(t *testing.T) {
	t.Parallel()
	var did []string
	hub := store.Hub{Begin: func(topic string) { did = append(did, "begin "+topic) }, End: func(topic string) { did = append(did, "end "+topic) }}
	one := hub.Watch("a")
	two := hub.Watch("a")
	if look(one) || !look(two) {
		t.Error("the first watch is woken before anything listens, or the second is not")
	}
	one.Stop()
	one.Stop()
	two.Stop()
	hub.Watch("a").Stop()
	if diff := cmp.Diff([]string{"begin a", "end a", "begin a", "end a"}, did); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// logs is a log that a test writes.
type logs struct {
	store.Hub
	mu      sync.Mutex // guards the fields below
	entries []store.Entry
	err     error
	reads   int
}

func (l *logs) ReadLog(_ context.Context, _ string, after, limit int) ([]store.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.err != nil {
		return nil, l.err
	}
	from := slices.IndexFunc(l.entries, func(e store.Entry) bool { return e.N > after })
	if from < 0 {
		return nil, nil
	}
	return l.entries[from:min(len(l.entries), from+limit)], nil
}

// add adds entries up to n, and has reads end with err from then on.
func (l *logs) add(n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	for i := len(l.entries) + 1; i <= n; i++ {
		l.entries = append(l.entries, store.Entry{N: i})
	}
}

// A reader gets each entry once and in order: at once where it is signalled, within seconds where
// the signal is lost, in pieces where there are many.
func TestFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logs{}
		l.add(450, nil)
		began, next := time.Now(), 3
		for e, err := range store.Follow(t.Context(), l, "x", 2) {
			if err != nil || e.N != next {
				t.Fatalf("got entry %d, %v, want %d", e.N, err, next)
			}
			elapsed := time.Since(began)
			switch next++; e.N {
			case 450:
				if elapsed != 0 {
					t.Errorf("what was there came after %v", elapsed)
				}
				time.AfterFunc(time.Second, func() { l.add(451, nil); l.Signal(store.LogTopic("x")) })
			case 451:
				if elapsed != time.Second {
					t.Errorf("what was signalled came after %v", elapsed)
				}
				time.AfterFunc(time.Second, func() { l.add(452, nil) }) // the signal is lost
			}
			if e.N == 452 {
				if elapsed <= 2*time.Second || elapsed > 7*time.Second {
					t.Errorf("what was not signalled came after %v", elapsed)
				}
				break
			}
		}
		if l.Topics() != nil {
			t.Error("the reader still watches")
		}
	})
}

// A store that is unavailable is asked again, not at each signal; any other error ends the loop,
// as does the end of the context, with its reason.
func TestFollowErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &logs{err: fmt.Errorf("read_log: %w", store.ErrUnavailable)}
		time.AfterFunc(10*time.Second, func() { l.add(1, nil) })
		signals := time.NewTicker(time.Millisecond)
		defer signals.Stop()
		ctx, end := context.WithTimeout(t.Context(), 9*time.Second)
		defer end()
		go func() {
			for ctx.Err() == nil {
				<-signals.C
				l.Signal(store.LogTopic("x"))
			}
		}()
		for e, err := range store.Follow(t.Context(), l, "x", 0) {
			if e.N == 1 && err == nil {
				if l.reads < 10 || l.reads > 30 {
					t.Errorf("the store was asked %d times in 10 s", l.reads)
				}
				l.add(1, store.ErrNotFound)
				l.Signal(store.LogTopic("x"))
				continue
			}
			if !errors.Is(err, store.ErrNotFound) || e.N != 0 {
				t.Errorf("got entry %d, %v", e.N, err)
			}
		}
		why := errors.New("why")
		ended, cancel := context.WithCancelCause(t.Context())
		idle := &logs{}
		time.AfterFunc(time.Second, func() { cancel(why) })
		ends := 0
		for e, err := range store.Follow(ended, idle, "x", 0) {
			if ends++; !errors.Is(err, why) || e.N != 0 {
				t.Errorf("got entry %d, %v", e.N, err)
			}
		}
		if ends != 1 {
			t.Errorf("it ended %d times", ends)
		}
	})
}

// A cursor leads back to where it was made, and nothing else is one.
func TestCursor(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_790_000_000_123)
	got, err := store.ReadCursor(store.NewCursor("task_1", at))
	if diff := cmp.Diff(store.Member{ID: "task_1", Score: at.UnixMilli()}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, cursor := range []string{"x", "_a", "1_", "1", "x_a", "1.5_a", " 1_a", "9007199254740993_a", "-9007199254740993_a"} {
		if got, err := store.ReadCursor(cursor); !errors.Is(err, store.ErrCursor) {
			t.Errorf("%q: got %+v, %v", cursor, got, err)
		}
	}
}
