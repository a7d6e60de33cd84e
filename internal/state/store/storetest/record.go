// This file has the rules of values, lists and indexes. Times to live are tested with short
// ones and patience, as an engine may be a server with a clock of its own.

package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
)

// A value is created with version 0 and put with the version that was read. On ErrConflict the
// value that is there is returned, so that the caller need not read again. A second delete
// succeeds.
func valueByVersion(t *testing.T, s store.Store) {
	ctx := t.Context()
	_, err := s.Value(ctx, "k")
	want(t, store.ErrNotFound, err)
	none, err := s.PutValue(ctx, "k", store.Value{Data: []byte("x"), Version: 1}, long)
	want(t, store.ErrConflict, err)
	same(t, "what is there", none, store.Value{})
	one, err := s.PutValue(ctx, "k", store.Value{Data: []byte("one")}, long)
	must(t, err)
	same(t, "put", one, store.Value{Data: []byte("one"), Version: 1})
	there, err := s.PutValue(ctx, "k", store.Value{Data: []byte("other")}, long)
	want(t, store.ErrConflict, err)
	same(t, "what is there", there, one)
	one.Data = []byte("two")
	two, err := s.PutValue(ctx, "k", one, long)
	must(t, err)
	same(t, "version", two.Version, 2)
	there, err = s.PutValue(ctx, "k", one, long)
	want(t, store.ErrConflict, err)
	same(t, "what is there", there, two)
	got, err := s.Value(ctx, "k")
	must(t, err)
	same(t, "read", got, two)
	must(t, s.DeleteValue(ctx, "k"))
	must(t, s.DeleteValue(ctx, "k"))
	_, err = s.Value(ctx, "k")
	want(t, store.ErrNotFound, err)
}

// If several callers create one value, exactly one succeeds.
func valueClaimedOnce(t *testing.T, s store.Store) {
	ctx := t.Context()
	same(t, "claims", countSucceeded(12, func(i int) error {
		_, err := s.PutValue(ctx, "k", store.Value{Data: fmt.Append(nil, i)}, long)
		return err
	}), 1)
}

// KeepValue sets a new time to live, 0 means for ever; for a value that does not exist it is
// ErrNotFound.
func valueExpires(t *testing.T, s store.Store) {
	ctx := t.Context()
	look := func() error { _, err := s.Value(ctx, "k"); return err }
	want(t, store.ErrNotFound, s.KeepValue(ctx, "k", long))
	_, err := s.PutValue(ctx, "k", store.Value{}, long)
	must(t, err)
	must(t, s.KeepValue(ctx, "k", 0))
	must(t, s.KeepValue(ctx, "k", short))
	awaitGone(t, "the value", look)
	_, err = s.PutValue(ctx, "k", store.Value{}, short)
	must(t, err)
	awaitGone(t, "the value", look)
}

// texts returns a list.
func texts(t *testing.T, s store.Store, key string, from, limit int) string {
	t.Helper()
	items, err := s.List(t.Context(), key, from, limit)
	must(t, err)
	var all []string
	for _, item := range items {
		all = append(all, string(item))
	}
	return strings.Join(all, " ")
}

// A push drops the oldest items until the bounds hold. The newest item stays, even if it alone
// exceeds the bytes. Bounds of 0 mean no bound.
func listBounded(t *testing.T, s store.Store) {
	push := func(item string, items, size int) {
		t.Helper()
		must(t, s.PushList(t.Context(), "k", []byte(item), store.Bounds{Items: items, Bytes: size}, long))
	}
	same(t, "none", texts(t, s, "k", 0, 0), "")
	for _, item := range []string{"a", "b", "c", "d"} {
		push(item, 3, 0)
	}
	same(t, "three items", texts(t, s, "k", 0, 0), "b c d")
	same(t, "a part", texts(t, s, "k", 1, 1), "c")
	same(t, "its end", texts(t, s, "k", 2, 9), "d")
	same(t, "behind it", texts(t, s, "k", 3, 0), "")
	push("eee", 0, 5)
	same(t, "five bytes", texts(t, s, "k", 0, 0), "c d eee")
	push("ffffff", 0, 5)
	same(t, "one that is too long", texts(t, s, "k", 0, 0), "ffffff")
	push("g", 2, 100)
	push("h", 2, 100)
	same(t, "both", texts(t, s, "k", 0, 0), "g h")
	must(t, s.DeleteList(t.Context(), "k"))
	must(t, s.DeleteList(t.Context(), "k"))
	same(t, "deleted", texts(t, s, "k", 0, 0), "")
}

// A list that belongs to a task is added to as long as the task is there.
func listOfTask(t *testing.T, s store.Store) {
	must(t, s.CreateTask(t.Context(), "task_1", task("u", "c"), long))
	of := store.Bounds{Items: 2, Task: "task_1"}
	for _, item := range []string{"a", "b", "c"} {
		must(t, s.PushList(t.Context(), "k", []byte(item), of, long))
	}
	same(t, "while the task is there", texts(t, s, "k", 0, 0), "b c")
	must(t, s.DeleteTask(t.Context(), "task_1"))
	want(t, store.ErrNotFound, s.PushList(t.Context(), "k", []byte("d"), of, long))
	same(t, "behind it", texts(t, s, "k", 0, 0), "b c")
	want(t, store.ErrNotFound, s.PushList(t.Context(), "none", []byte("d"), of, long))
	same(t, "no list", texts(t, s, "none", 0, 0), "")
}

// KeepList changes how long a list is kept. It does not make one.
func listKept(t *testing.T, s store.Store) {
	must(t, s.PushList(t.Context(), "l", []byte("a"), store.Bounds{}, long))
	must(t, s.KeepList(t.Context(), "l", long))
	must(t, s.KeepList(t.Context(), "none", long))
	same(t, "list", texts(t, s, "l", 0, 0), "a")
	same(t, "no list", texts(t, s, "none", 0, 0), "")
	must(t, s.KeepList(t.Context(), "l", short))
	time.Sleep(2 * short)
	same(t, "expired", texts(t, s, "l", 0, 0), "")
}

// CutList keeps the first items, so many; it never makes a list longer.
func listCut(t *testing.T, s store.Store) {
	must(t, s.CutList(t.Context(), "k", 1))
	for _, item := range []string{"a", "b", "c"} {
		must(t, s.PushList(t.Context(), "k", []byte(item), store.Bounds{}, long))
	}
	must(t, s.CutList(t.Context(), "k", 5))
	same(t, "longer", texts(t, s, "k", 0, 0), "a b c")
	must(t, s.CutList(t.Context(), "k", 2))
	same(t, "cut", texts(t, s, "k", 0, 0), "a b")
	must(t, s.CutList(t.Context(), "k", 0))
	same(t, "nothing", texts(t, s, "k", 0, 0), "")
	must(t, s.PushList(t.Context(), "k", []byte("d"), store.Bounds{}, long))
	same(t, "again", texts(t, s, "k", 0, 0), "d")
}

// Each push sets the time to live of the whole list.
func listExpires(t *testing.T, s store.Store) {
	must(t, s.PushList(t.Context(), "k", []byte("a"), store.Bounds{}, long))
	must(t, s.PushList(t.Context(), "k", []byte("b"), store.Bounds{}, short))
	testnet.Eventually(t, "the list has expired", func() bool { return texts(t, s, "k", 0, 0) == "" })
	must(t, s.PushList(t.Context(), "k", []byte("c"), store.Bounds{}, long))
	same(t, "again", texts(t, s, "k", 0, 0), "c")
}

// Members are ordered by score, then by id; After continues behind a member. A member that is put
// again moves. The removal of a missing member succeeds.
func indexOrdered(t *testing.T, s store.Store) {
	ctx := t.Context()
	put := func(id string, score int64) { must(t, s.PutIndex(ctx, "x", store.Member{ID: id, Score: score}, long)) }
	page := func(r store.Range) string {
		t.Helper()
		members, err := s.Index(ctx, "x", r)
		must(t, err)
		var ids []string
		for _, m := range members {
			ids = append(ids, m.ID)
		}
		return strings.Join(ids, " ")
	}
	all := store.Range{Min: -1 << 53, Max: 1 << 53, Limit: 100}
	same(t, "empty", page(all), "")
	put("c", 2)
	put("a", 3)
	put("b", 2)
	put("d", 1_790_000_000_000)
	same(t, "ascending", page(all), "b c a d")
	same(t, "range", page(store.Range{Min: 2, Max: 3, Limit: 100}), "b c a")
	put("a", 1)
	same(t, "moved", page(all), "a b c d")
	all.Descending = true
	same(t, "descending", page(all), "d c b a")
	all.Limit = 2
	same(t, "first page", page(all), "d c")
	all.After = &store.Member{ID: "c", Score: 2}
	same(t, "second page", page(all), "b a")
	all.Descending, all.Limit = false, 1
	same(t, "after c", page(all), "d")
	all.After = &store.Member{ID: "b", Score: 2}
	same(t, "after b", page(all), "c")
	count := func(name string, want int64) {
		t.Helper()
		if n, err := s.CountIndex(ctx, name); err != nil || n != want {
			t.Errorf("%s has %d members, want %d: %v", name, n, want, err)
		}
	}
	before, err := s.CountIndex(ctx, "x")
	must(t, err)
	must(t, s.RemoveIndex(ctx, "x", "c"))
	must(t, s.RemoveIndex(ctx, "x", "c"))
	must(t, s.RemoveIndex(ctx, "none", "c"))
	count("x", before-1)
	count("none", 0)
	same(t, "removed", page(all), "d")
}

// A member that is put never shortens the life of its index.
func indexExpires(t *testing.T, s store.Store) {
	ctx := t.Context()
	must(t, s.PutIndex(ctx, "kept", store.Member{ID: "a"}, long))
	must(t, s.PutIndex(ctx, "kept", store.Member{ID: "b"}, short)) // does not shorten it
	must(t, s.PutIndex(ctx, "x", store.Member{ID: "a"}, short))
	testnet.Eventually(t, "the index has expired", func() bool {
		members, err := s.Index(ctx, "x", store.Range{Max: 9, Limit: 9})
		must(t, err)
		return len(members) == 0
	})
	members, err := s.Index(ctx, "kept", store.Range{Max: 9, Limit: 9})
	must(t, err)
	same(t, "kept", len(members), 2)
}

// A list changes in the same step as a task or a log: with each write that succeeds, and with no
// other. A list that is removed and added to in one step begins again.
func sides(t *testing.T, s store.Store) {
	ctx := t.Context()
	holds := func(when string, want ...string) {
		t.Helper()
		items, err := s.List(ctx, "side", 0, 0)
		must(t, err)
		var got []string
		for _, item := range items {
			got = append(got, string(item))
		}
		same(t, when, got, want)
	}
	with := func(t store.Task, b store.Side) store.Task {
		b.Key = "side"
		t.Side = b
		return t
	}
	must(t, s.CreateTask(ctx, "a", with(task("u", "c"), store.Side{Item: []byte("one")}), long))
	holds("created", "one")
	want(t, store.ErrConflict, s.CreateTask(ctx, "a", with(task("u", "c"), store.Side{Item: []byte("no")}), long))
	got, err := s.Task(ctx, "a")
	must(t, err)
	same(t, "what a task says of it", got.Side, store.Side{})

	mine := store.Holder{Owner: "g", Epoch: 7}
	add := func(n, at int, h store.Holder, item string) error {
		return s.AppendLog(ctx, "x", store.Append{Entry: store.Entry{N: n, Data: []byte("e")}, At: at, TTL: long, Task: "a", Holder: h,
			Side: store.Side{Key: "side", Item: []byte(item)}})
	}
	must(t, add(1, 0, mine, "two"))
	want(t, store.ErrConflict, add(2, 0, mine, "no"))
	want(t, store.ErrConflict, add(2, 1, store.Holder{Owner: "h", Epoch: 7}, "no"))
	holds("appended", "one", "two")
	must(t, add(1, 1, mine, "three")) // no entry
	want(t, store.ErrConflict, add(2, 2, mine, "no"))
	want(t, store.ErrConflict, add(1, 1, store.Holder{}, "no"))
	log, err := s.ReadLog(ctx, "x", 0, 9)
	must(t, err)
	same(t, "entries", numbers(log), []int{1})
	holds("alone", "one", "two", "three")

	want(t, store.ErrConflict, s.UpdateTask(ctx, "a", atVersion(9, with(task("u", "c"), store.Side{Drop: true})), long))
	must(t, s.UpdateTask(ctx, "a", atVersion(1, with(task("u", "c"), store.Side{Drop: true, Item: []byte("new")})), long))
	holds("begun again", "new")
	closing := store.Closing{Task: atVersion(1, with(task("u", "c"), store.Side{Item: []byte("no")})), TTL: long}
	want(t, store.ErrConflict, s.CloseTask(ctx, "a", closing))
	closing.Version, closing.LogOf, closing.Log = 2, "x", store.Append{Entry: store.Entry{N: 9, Data: []byte("e")}, At: 7, TTL: long}
	closing.Side.Item = []byte("no")
	want(t, store.ErrConflict, s.CloseTask(ctx, "a", closing))
	closing.Log.At, closing.Side.Item = 1, []byte("claim")
	must(t, s.CloseTask(ctx, "a", closing))
	holds("claimed", "new", "claim")
	must(t, s.UpdateTask(ctx, "a", atVersion(3, with(store.Task{Doc: []byte("{}")}, store.Side{Drop: true})), long))
	holds("dropped")
}
