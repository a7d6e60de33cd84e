// Package storetest defines the methods of a store: one suite for all engines.
package storetest

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
)

// long is a time to live that no test waits for, short one that it does.
const (
	long  = time.Hour
	short = 30 * time.Millisecond
)

// suite are the tests, by the rule that they check.
var suite = map[string]func(*testing.T, store.Store){
	"task is created once":             taskCreated,
	"tasks of all users of a tenant":   tasksOfAllUsers,
	"task changes by version":          taskByVersion,
	"task keeps its owner":             taskKeepsIdentity,
	"task expires":                     taskExpires,
	"task is cancelled":                taskCancelled,
	"task is deleted":                  taskDeleted,
	"tasks are listed":                 tasksListed,
	"tasks are paged":                  tasksPaged,
	"tasks of a rare state":            tasksOfRareState,
	"pages of long tasks are short":    tasksOfManyBytes,
	"tasks without documents":          tasksBare,
	"tasks of wrong clocks":            tasksWrongClocks,
	"tasks with bad cursors":           tasksBadCursor,
	"lists change with tasks and logs": sides,
	"orphans":                          orphans,
	"orphan is closed once":            closedOnce,
	"close spares the living":          closeSparesTheLiving,
	"close needs the log's end":        closeNeedsTheEnd,
	"turn ends in one step":            turnEnds,
	"turn ends whole or not":           turnEndsWhole,
	"log is appended at its end":       logAtItsEnd,
	"log is fenced":                    logFenced,
	"log is read in pieces":            logInPieces,
	"what was read of a log stays":     logReadStays,
	"log is bounded":                   logBounded,
	"log expires":                      logExpires,
	"log is dropped":                   logDropped,
	"time of a log":                    logLeft,
	"log has one writer":               logOneWriter,
	"leases":                           leases,
	"lease expires":                    leaseExpires,
	"values change by version":         valueByVersion,
	"lists and a value change at once": pushedAndPut,
	"value is claimed once":            valueClaimedOnce,
	"value expires":                    valueExpires,
	"lists are bounded":                listBounded,
	"lists belong to a task":           listOfTask,
	"lists are kept on":                listKept,
	"lists are cut":                    listCut,
	"list expires":                     listExpires,
	"indexes are ordered":              indexOrdered,
	"index expires":                    indexExpires,
	"counters":                         counters,
	"rates hold":                       ratesHold,
	"rates are charged all or not":     ratesAllOrNothing,
	"rates are clamped":                ratesAreClamped,
	"rates count what runs":            ratesCount,
	"rates forget the dead":            ratesOfTheDead,
	"rates of many":                    ratesOfMany,
	"windows hold":                     windowsHold,
	"windows are charged all or not":   windowsAllOrNothing,
	"windows are given back":           windowsGiveBack,
	"signals":                          signals,
	"follow sees all":                  followSeesAll,
	"follow ends with its log":         followEndsWithLog,
	"any bytes":                        anyBytes,
	"a cancelled context changes none": cancelledContext,
}

// Run runs the suite. open returns an empty store, and the test closes it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for name, test := range suite {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test(t, s)
		})
	}
}

// must fails the test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want fails the test unless err is of a kind.
func want(t *testing.T, kind, err error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("error %v, want %v", err, kind)
	}
}

// same compares.
func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// awaitGone waits until something is not there any more.
func awaitGone(t *testing.T, what string, look func() error) {
	t.Helper()
	testnet.Eventually(t, what+" is gone", func() bool { return errors.Is(look(), store.ErrNotFound) })
}

// countSucceeded runs f in n goroutines and returns how many of them succeeded.
func countSucceeded(n int, f func(i int) error) int64 {
	var wg sync.WaitGroup
	var succeeded atomic.Int64
	for i := range n {
		wg.Go(func() {
			if f(i) == nil {
				succeeded.Add(1)
			}
		})
	}
	wg.Wait()
	return succeeded.Load()
}

// A call whose context has ended changes nothing, and its error does not blame the store.
func cancelledContext(t *testing.T, s store.Store) {
	ctx, cancel := contextWithCancel(t)
	cancel()
	if err := s.CreateTask(ctx, "a", task("u", "c"), long); err == nil {
		t.Error("a task was created")
	} else if errors.Is(err, store.ErrUnavailable) {
		t.Errorf("the store is blamed: %v", err)
	}
	_, err := s.Task(t.Context(), "a")
	want(t, store.ErrNotFound, err)
}

// Documents, keys of owners, entries, values and members may hold any bytes: also NUL, line ends,
// and bytes that are not UTF-8.
func anyBytes(t *testing.T, s store.Store) {
	ctx := t.Context()
	odd := "a\x00b\xff\r\n{\"ключ\":1}"
	must(t, s.CreateTask(ctx, "t", store.Task{Doc: []byte(odd), Meta: store.Meta{Tenant: odd, User: odd, Conversation: odd, State: odd}}, long))
	got, err := s.Task(ctx, "t")
	must(t, err)
	same(t, "document", string(got.Doc)+got.Tenant+got.User+got.Conversation+got.State, strings.Repeat(odd, 5))
	page, err := s.Tasks(ctx, store.Query{Tenant: odd, User: odd, Conversation: odd, State: odd, Limit: 5})
	must(t, err)
	same(t, "listed", page.IDs, []string{"t"})
	must(t, s.AppendLog(ctx, "turn", store.Append{Entry: store.Entry{N: 1, Data: []byte(odd)}, TTL: long}))
	log, err := s.ReadLog(ctx, "turn", 0, 9)
	must(t, err)
	same(t, "log", log, []store.Entry{{N: 1, Data: []byte(odd)}})
	_, err = s.PutValue(ctx, "v", store.Value{Data: []byte(odd)}, long)
	must(t, err)
	v, err := s.Value(ctx, "v")
	must(t, err)
	same(t, "value", string(v.Data), odd)
	must(t, s.PushList(ctx, "l", []byte(odd), store.Bounds{}, long))
	must(t, s.PushList(ctx, "l", nil, store.Bounds{}, long))
	l, err := s.List(ctx, "l", 0, 0)
	must(t, err)
	same(t, "items", len(l), 2)
	same(t, "list", string(l[0]), odd)
	must(t, s.PutIndex(ctx, "x", store.Member{ID: odd, Score: -5}, long))
	x, err := s.Index(ctx, "x", store.Range{Min: -10, Max: 10, Limit: 5})
	must(t, err)
	same(t, "index", x, []store.Member{{ID: odd, Score: -5}})
}

// A lease belongs to one epoch of an owner: a later epoch takes it, an earlier one is then refused with
// ErrConflict and cannot release it either. LeasesAlive answers in the order of the question.
func leases(t *testing.T, s store.Store) {
	ctx := t.Context()
	old, now, other := store.Holder{Owner: "g", Epoch: 1}, store.Holder{Owner: "g", Epoch: 1_790_000_000_001}, store.Holder{Owner: "h", Epoch: 5}
	must(t, s.RenewLease(ctx, old, long))
	must(t, s.RenewLease(ctx, old, long))
	alive := func(want ...bool) {
		t.Helper()
		got, err := s.LeasesAlive(ctx, old, now, other)
		must(t, err)
		same(t, "alive", got, want)
	}
	alive(true, false, false)
	must(t, s.RenewLease(ctx, now, long)) // the process was started again
	alive(false, true, false)
	want(t, store.ErrConflict, s.RenewLease(ctx, old, long))
	must(t, s.ReleaseLease(ctx, old)) // it does not have the lease
	alive(false, true, false)
	must(t, s.ReleaseLease(ctx, now))
	alive(false, false, false)
	must(t, s.RenewLease(ctx, old, long))
	alive(true, false, false)
	none, err := s.LeasesAlive(ctx)
	must(t, err)
	same(t, "of nobody", len(none), 0)
}

// Once a lease is over, any epoch can take it, also an earlier one.
func leaseExpires(t *testing.T, s store.Store) {
	ctx := t.Context()
	h := store.Holder{Owner: "g", Epoch: 3}
	must(t, s.RenewLease(ctx, h, short))
	testnet.Eventually(t, "the lease is over", func() bool {
		alive, err := s.LeasesAlive(ctx, h)
		must(t, err)
		return !alive[0]
	})
	must(t, s.RenewLease(ctx, store.Holder{Owner: "g", Epoch: 2}, long))
}

// A counter that does not exist is 0. Additions at the same time are all counted. Each sets the
// time to live.
func counters(t *testing.T, s store.Store) {
	ctx := t.Context()
	n, err := s.Counter(ctx, "c")
	must(t, err)
	same(t, "at first", n, 0)
	same(t, "raised", countSucceeded(20, func(int) error { _, err := s.AddCounter(ctx, "c", 2, long); return err }), 20)
	n, err = s.Counter(ctx, "c")
	must(t, err)
	same(t, "sum", n, 40)
	n, err = s.AddCounter(ctx, "c", -1, short)
	must(t, err)
	same(t, "less one", n, 39)
	testnet.Eventually(t, "the counter has expired", func() bool {
		n, err := s.Counter(ctx, "c")
		must(t, err)
		return n == 0
	})
}

// A signal wakes all who watch its topic, and nobody else. Stop may be called twice, and a topic can be
// watched again.
func signals(t *testing.T, s store.Store) {
	one, two, other := s.Watch("a"), s.Watch("a"), s.Watch("b")
	defer other.Stop()
	<-one.C // watched now
	<-two.C
	<-other.C
	drain(one, two, other)
	for range 10 {
		must(t, s.Signal(t.Context(), "a"))
	}
	<-one.C
	<-two.C
	select {
	case <-other.C:
		t.Error("woken by another topic")
	default:
	}
	one.Stop()
	one.Stop()
	must(t, s.Signal(t.Context(), "a"))
	<-two.C
	two.Stop()
	again := s.Watch("a")
	defer again.Stop()
	<-again.C
}

// drain reads signals that came with the first one.
func drain(watches ...*store.Watch) {
	for _, w := range watches {
		for quiet := false; !quiet; {
			select {
			case <-w.C:
			case <-time.After(short):
				quiet = true
			}
		}
	}
}
