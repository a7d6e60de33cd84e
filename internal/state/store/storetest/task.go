// This file has the rules of tasks: versions, identity, lists and orphans.

package storetest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/internal/state/store"
)

// contextWithCancel is a context of the test that can be ended before it.
func contextWithCancel(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}

// began is when the tasks of this suite are created; to the millisecond, as stores keep it.
func began() time.Time { return time.UnixMilli(1_790_000_000_123) }

// task is a task of a process "g" at work; only its user and conversation differ.
func task(user, conversation string) store.Task {
	return store.Task{Doc: []byte(`{"id":"x"}`), Meta: store.Meta{
		Holder: store.Holder{Owner: "g", Epoch: 7}, User: user, Conversation: conversation, Turn: "turn_1", State: "working", Created: began(),
	}}
}

// An id is taken by the first task that is created with it: a second one is ErrConflict, changes
// nothing, and of several at the same time exactly one succeeds. Versions begin at 1.
func taskCreated(t *testing.T, s store.Store) {
	ctx := t.Context()
	_, err := s.Task(ctx, "a")
	want(t, store.ErrNotFound, err)
	first := task("u", "c")
	must(t, s.CreateTask(ctx, "a", first, long))
	other := task("v", "d")
	want(t, store.ErrConflict, s.CreateTask(ctx, "a", other, long))
	got, err := s.Task(ctx, "a")
	must(t, err)
	first.Version = 1
	same(t, "task", got, first)
	same(t, "created", countSucceeded(8, func(int) error { return s.CreateTask(ctx, "b", first, long) }), 1)
}

// An update counts only for the version that was read, and adds 1 to it; for another version it is
// ErrConflict, for a task that does not exist ErrNotFound. If several updates have one version, one
// succeeds.
func taskByVersion(t *testing.T, s store.Store) {
	ctx := t.Context()
	want(t, store.ErrNotFound, s.UpdateTask(ctx, "a", task("u", "c"), long))
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	read, err := s.Task(ctx, "a")
	must(t, err)
	changed := read
	changed.Doc, changed.State, changed.Holder, changed.Turn = []byte(`{"id":"y"}`), "completed", store.Holder{}, "turn_2"
	must(t, s.UpdateTask(ctx, "a", changed, long))
	want(t, store.ErrConflict, s.UpdateTask(ctx, "a", read, long))
	got, err := s.Task(ctx, "a")
	must(t, err)
	changed.Version = 2
	same(t, "task", got, changed)
	same(t, "changes of one version", countSucceeded(8, func(int) error { return s.UpdateTask(ctx, "a", got, long) }), 1)
}

// An update cannot give a task to another tenant, user or conversation, change when it was
// created, or ask for its end: only CancelTask does that.
func taskKeepsIdentity(t *testing.T, s store.Store) {
	ctx := t.Context()
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	must(t, s.UpdateTask(ctx, "a", store.Task{Doc: []byte("{}"), Meta: store.Meta{Version: 1, User: "other", Conversation: "other", Tenant: "other", Cancel: true}}, long))
	got, err := s.Task(ctx, "a")
	must(t, err)
	same(t, "task", got, store.Task{Doc: []byte("{}"), Meta: store.Meta{Version: 2, User: "u", Conversation: "c", Created: began()}})
}

// A task is gone when its time to live is over, also from lists; each update sets a new one, and 0
// means for ever.
func taskExpires(t *testing.T, s store.Store) {
	ctx := t.Context()
	look := func() error { _, err := s.Task(ctx, "a"); return err }
	must(t, s.CreateTask(ctx, "a", task("u", "c"), short))
	awaitGone(t, "the task", look)
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	must(t, s.UpdateTask(ctx, "a", store.Task{Doc: []byte("{}"), Meta: store.Meta{Version: 1}}, 0)) // for ever
	must(t, s.UpdateTask(ctx, "a", store.Task{Doc: []byte("{}"), Meta: store.Meta{Version: 2}}, short))
	awaitGone(t, "the task", look)
	want(t, store.ErrNotFound, s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 3}}, long))
	page, err := s.Tasks(ctx, store.Query{User: "u", Limit: 9})
	must(t, err)
	same(t, "listed", len(page.IDs), 0)
}

// CancelTask marks the task without a new version, so that its owner can still write, and wakes the
// owner by its topic. The mark stays when the owner writes.
func taskCancelled(t *testing.T, s store.Store) {
	ctx := t.Context()
	_, err := s.CancelTask(ctx, "a")
	want(t, store.ErrNotFound, err)
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	w := s.Watch(store.CancelTopic("g"))
	defer w.Stop()
	<-w.C
	drain(w)
	got, err := s.CancelTask(ctx, "a")
	must(t, err)
	expect := task("u", "c")
	expect.Version, expect.Cancel = 1, true
	same(t, "task", got, expect)
	<-w.C
	must(t, s.UpdateTask(ctx, "a", atVersion(1, task("u", "c")), long)) // its owner does not undo it
	got, err = s.Task(ctx, "a")
	must(t, err)
	same(t, "still asked for", got.Cancel, true)
}

// A task that is deleted is in no list and among no orphans. A second delete succeeds.
func taskDeleted(t *testing.T, s store.Store) {
	ctx := t.Context()
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	must(t, s.DeleteTask(ctx, "a"))
	must(t, s.DeleteTask(ctx, "a"))
	_, err := s.Task(ctx, "a")
	want(t, store.ErrNotFound, err)
	lost, err := s.Orphans(ctx, 9)
	must(t, err)
	same(t, "orphans", len(lost), 0)
	page, err := s.Tasks(ctx, store.Query{User: "u", Limit: 9})
	must(t, err)
	same(t, "listed", len(page.IDs), 0)
}

// A query finds only tasks of its tenant and user, also if these are empty: empty means those without,
// not all. Conversation and state narrow it. The newest task is first, and a list knows changes
// of state.
func tasksListed(t *testing.T, s store.Store) {
	ctx := t.Context()
	create := func(id, tenant, user, conversation, state string, after time.Duration) {
		t.Helper()
		one := task(user, conversation)
		one.Tenant, one.State, one.Created = tenant, state, began().Add(after)
		must(t, s.CreateTask(ctx, id, one, long))
	}
	create("1", "", "u", "c", "completed", 1*time.Second)
	create("2", "", "u", "d", "working", 2*time.Second)
	create("3", "", "u", "c", "working", 3*time.Second)
	create("4", "", "v", "c", "working", 4*time.Second)
	create("5", "t", "u", "c", "working", 5*time.Second)
	create("6", "", "", "c", "working", 6*time.Second)
	for _, tt := range []struct {
		q    store.Query
		want []string
	}{
		{store.Query{User: "u"}, []string{"3", "2", "1"}},
		{store.Query{User: "u", Conversation: "c"}, []string{"3", "1"}},
		{store.Query{User: "u", State: "working"}, []string{"3", "2"}},
		{store.Query{User: "u", Conversation: "c", State: "working"}, []string{"3"}},
		{store.Query{Tenant: "t", User: "u"}, []string{"5"}},
		{store.Query{Conversation: "c"}, []string{"6"}},
		{store.Query{User: "w"}, nil},
		{store.Query{Tenant: "u", User: "", Conversation: "c"}, nil},
	} {
		tt.q.Limit = 10
		page, err := s.Tasks(ctx, tt.q)
		must(t, err)
		same(t, fmt.Sprintf("%+v", tt.q), page.IDs, tt.want)
		same(t, "next", page.Next, "")
	}
	must(t, s.UpdateTask(ctx, "1", atVersion(1, task("u", "c")), long)) // is working now
	page, err := s.Tasks(ctx, store.Query{User: "u", Conversation: "c", State: "working", Limit: 10})
	must(t, err)
	same(t, "after a change", page.IDs, []string{"3", "1"})
	same(t, "version", page.Tasks[1].Version, 2)
}

// Pages have every task once, in order, also where tasks were created in the same millisecond.
func tasksPaged(t *testing.T, s store.Store) {
	ctx := t.Context()
	var expect []string
	for i := range 25 { // several share a time
		one := task("u", "c")
		one.Created = began().Add(time.Duration(i/4) * time.Millisecond)
		id := fmt.Sprintf("task_%02d", i)
		must(t, s.CreateTask(ctx, id, one, long))
		expect = append([]string{id}, expect...)
	}
	var got []string
	for q := (store.Query{User: "u", Limit: 3}); ; {
		page, err := s.Tasks(ctx, q)
		must(t, err)
		got = append(got, page.IDs...)
		if len(page.IDs) > 3 || len(got) > 50 {
			t.Fatalf("pages do not end: %v", got)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	same(t, "all pages", got, expect)
}

// A search for a rare state finds all of them, whatever it comes past, each once and in order. A
// page may be empty, but no more of them come than there are thousands of tasks.
func tasksOfRareState(t *testing.T, s store.Store) {
	const all = 2100
	ctx := t.Context()
	var expect []string
	for i := range all {
		one := task("u", "c")
		one.Created = began().Add(time.Duration(i/3) * time.Millisecond) // several share a time
		id := fmt.Sprintf("task_%04d", i)
		if i == 0 || i == 99 || i == 1099 || i == 1100 || i == all-1 {
			one.State = "failed"
			expect = append([]string{id}, expect...)
		}
		must(t, s.CreateTask(ctx, id, one, long))
	}
	for _, limit := range []int{1, 2, 9} {
		var got []string
		pages := 0
		for q := (store.Query{User: "u", Conversation: "c", State: "failed", Limit: limit}); ; pages++ {
			page, err := s.Tasks(ctx, q)
			must(t, err)
			got = append(got, page.IDs...)
			if len(page.IDs) > limit || pages > len(expect)+all/1000+1 {
				t.Fatalf("limit %d: pages do not end: %v", limit, got)
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		same(t, fmt.Sprintf("found by pages of %d", limit), got, expect)
	}
}

// Processes whose clocks are wrong still find their tasks, for as long as others do.
func tasksWrongClocks(t *testing.T, s store.Store) {
	ctx := t.Context()
	for id, created := range map[string]time.Time{
		"none": {}, "first": time.UnixMilli(-1), "now": time.Now(), "late": time.Now().Add(100 * 365 * 24 * time.Hour),
	} {
		one := task("u", "c")
		one.Created = created
		must(t, s.CreateTask(ctx, id, one, long))
		_, err := s.Task(ctx, id)
		must(t, err)
	}
	var got []string
	for q := (store.Query{User: "u", Limit: 1}); ; {
		page, err := s.Tasks(ctx, q)
		must(t, err)
		got = append(got, page.IDs...)
		if q.Cursor = page.Next; q.Cursor == "" || len(got) > 9 {
			break
		}
	}
	same(t, "listed", got, []string{"late", "now", "first", "none"})
}

// A cursor that no page returned is ErrCursor.
func tasksBadCursor(t *testing.T, s store.Store) {
	must(t, s.CreateTask(t.Context(), "a", task("u", "c"), long))
	for _, cursor := range []string{"x", "_", "1_", "99999999999999999999_a", "1.5_a", "+inf_a", "\x00", "9007199254740993_a", "-9007199254740993_a", "-9223372036854775808_a"} {
		_, err := s.Tasks(t.Context(), store.Query{User: "u", Limit: 3, Cursor: cursor})
		want(t, store.ErrCursor, err)
	}
}

// An orphan is a task with a holder whose lease is over. A process that was started again under its
// old name has another epoch, and does not hold what its predecessor held.
func orphans(t *testing.T, s store.Store) {
	ctx := t.Context()
	lost := func(limit, want int) []string {
		t.Helper()
		ids, err := s.Orphans(ctx, limit)
		must(t, err)
		same(t, "orphans", len(ids), want)
		return ids
	}
	lost(9, 0)
	living, restarted := store.Holder{Owner: "g", Epoch: 7}, store.Holder{Owner: "g", Epoch: 8}
	must(t, s.RenewLease(ctx, living, long))
	for _, id := range []string{"a", "b", "c"} {
		must(t, s.CreateTask(ctx, id, task("u", "c"), long))
	}
	lost(9, 0)
	must(t, s.RenewLease(ctx, restarted, long)) // the same name does not help
	lost(9, 3)
	lost(2, 2)
	must(t, s.UpdateTask(ctx, "a", store.Task{Meta: store.Meta{Version: 1}}, long)) // ended
	same(t, "left", len(lost(9, 2)), 2)
	accepted := atVersion(1, task("u", "c"))
	accepted.Holder = restarted
	must(t, s.UpdateTask(ctx, "b", accepted, long))
	same(t, "left", lost(9, 1), []string{"c"})
	must(t, s.ReleaseLease(ctx, restarted))
	lost(9, 2)
}

// closing ends the task with one entry in its log.
func closing() store.Closing {
	return store.Closing{
		Task: store.Task{Doc: []byte(`{"closed":true}`), Meta: store.Meta{Version: 1, State: "failed", Turn: "turn_1"}}, TTL: long,
		LogOf: "turn_1", Log: store.Append{Entry: store.Entry{N: 3, Data: []byte("end")}, At: 1, TTL: long},
	}
}

// CloseTask ends the task and its log in one step: of several processes that try, one succeeds, and the
// former owner can write neither of them afterwards.
func closedOnce(t *testing.T, s store.Store) {
	ctx := t.Context()
	want(t, store.ErrNotFound, s.CloseTask(ctx, "a", closing()))
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	must(t, s.AppendLog(ctx, "turn_1", store.Append{Entry: store.Entry{N: 1, Data: []byte("one")}, TTL: long}))
	same(t, "closed", countSucceeded(8, func(int) error { return s.CloseTask(ctx, "a", closing()) }), 1)
	got, err := s.Task(ctx, "a")
	must(t, err)
	same(t, "task", got, store.Task{Doc: []byte(`{"closed":true}`), Meta: store.Meta{Version: 2, User: "u", Conversation: "c", State: "failed", Turn: "turn_1", Created: began()}})
	log, err := s.ReadLog(ctx, "turn_1", 0, 9)
	must(t, err)
	same(t, "log", log, []store.Entry{{N: 1, Data: []byte("one")}, {N: 3, Data: []byte("end")}})
	ids, err := s.Orphans(ctx, 9)
	must(t, err)
	same(t, "orphans", len(ids), 0)
	// The owner comes back.
	want(t, store.ErrConflict, s.AppendLog(ctx, "turn_1", store.Append{Entry: store.Entry{N: 2}, At: 1, TTL: long}))
	want(t, store.ErrConflict, s.UpdateTask(ctx, "a", atVersion(1, task("u", "c")), long))
}

// A task whose holder has a lease cannot be closed by others.
func closeSparesTheLiving(t *testing.T, s store.Store) {
	ctx := t.Context()
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	must(t, s.AppendLog(ctx, "turn_1", store.Append{Entry: store.Entry{N: 1, Data: []byte("one")}, TTL: long}))
	must(t, s.RenewLease(ctx, store.Holder{Owner: "g", Epoch: 7}, long))
	want(t, store.ErrConflict, s.CloseTask(ctx, "a", closing()))
	must(t, s.RenewLease(ctx, store.Holder{Owner: "g", Epoch: 8}, long))
	must(t, s.CloseTask(ctx, "a", closing()))
}

// CloseTask changes nothing unless the log ends where the caller believes. Without LogOf no log
// is looked at.
func closeNeedsTheEnd(t *testing.T, s store.Store) {
	ctx := t.Context()
	must(t, s.CreateTask(ctx, "a", task("u", "c"), long))
	want(t, store.ErrNotFound, s.CloseTask(ctx, "a", closing())) // the log does not exist
	must(t, s.AppendLog(ctx, "turn_1", store.Append{Entry: store.Entry{N: 2}, TTL: long}))
	want(t, store.ErrConflict, s.CloseTask(ctx, "a", closing()))
	got, err := s.Task(ctx, "a")
	must(t, err)
	same(t, "version", got.Version, 1)
	without := closing()
	without.LogOf = ""
	must(t, s.CloseTask(ctx, "a", without))
}

// atVersion returns a task whose version was read.
func atVersion(version int64, t store.Task) store.Task {
	t.Version = version
	return t
}

// A page ends with the task that brings it to store.MaxPageBytes, and its cursor continues
// behind that.
func tasksOfManyBytes(t *testing.T, s store.Store) {
	doc := bytes.Repeat([]byte("x"), store.MaxPageBytes/5*2)
	for i := range 7 {
		one := task("u", "c")
		one.Doc, one.Created = doc, began().Add(time.Duration(i)*time.Second)
		must(t, s.CreateTask(t.Context(), fmt.Sprintf("t%d", i), one, long))
	}
	q := store.Query{User: "u", Limit: 100}
	var sizes []int
	var ids string
	for {
		page, err := s.Tasks(t.Context(), q)
		must(t, err)
		sizes = append(sizes, len(page.IDs))
		for i, id := range page.IDs {
			ids += id
			same(t, "document", len(page.Tasks[i].Doc), len(doc))
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	same(t, "tasks of pages", sizes, []int{3, 3, 1})
	same(t, "tasks", ids, "t6t5t4t3t2t1t0")
}

// Without documents a page is as long as it may be.
func tasksBare(t *testing.T, s store.Store) {
	for i := range 3 {
		one := task("u", "c")
		one.Doc, one.Created = bytes.Repeat([]byte("x"), store.MaxPageBytes), began().Add(time.Duration(i)*time.Second)
		must(t, s.CreateTask(t.Context(), fmt.Sprintf("t%d", i), one, long))
	}
	page, err := s.Tasks(t.Context(), store.Query{User: "u", State: "working", Limit: 9, Bare: true})
	must(t, err)
	same(t, "tasks", page.IDs, []string{"t2", "t1", "t0"})
	for _, one := range page.Tasks {
		if len(one.Doc) > 0 || one.State != "working" || one.Conversation != "c" {
			t.Errorf("without its document a task is %+v", one)
		}
	}
}

// The list of all users has the tasks of all proved users of a tenant, by state, newest first and in pages.
// Tasks of claimed names, of the anonymous and of another tenant are not in it.
func tasksOfAllUsers(t *testing.T, s store.Store) {
	ctx := t.Context()
	create := func(id, tenant, user, state string, at int) {
		one := task(user, "c")
		one.Tenant, one.State, one.Created = tenant, state, began().Add(time.Duration(at)*time.Second)
		must(t, s.CreateTask(ctx, id, one, long))
	}
	create("a", "acme", "\x00ann", "working", 1)
	create("b", "acme", "\x00bob", "completed", 2)
	create("c", "acme", "\x00\u00e9ve", "working", 3)
	create("claimed", "acme", "ann", "working", 4)
	create("nobody", "acme", "", "working", 5)
	create("anonymous", "acme", "\x00\x00", "working", 6)
	create("other", "blue", "\x00ann", "working", 7)
	q := store.Query{Tenant: "acme", User: store.AllUsers, Limit: 2}
	page, err := s.Tasks(ctx, q)
	must(t, err)
	same(t, "first page", page.IDs, []string{"c", "b"})
	q.Cursor = page.Next
	page, err = s.Tasks(ctx, q)
	must(t, err)
	same(t, "second page", page.IDs, []string{"a"})
	same(t, "cursor of the last page", page.Next, "")
	page, err = s.Tasks(ctx, store.Query{Tenant: "acme", User: store.AllUsers, State: "working", Limit: 9})
	must(t, err)
	same(t, "working", page.IDs, []string{"c", "a"})
	page, err = s.Tasks(ctx, store.Query{Tenant: "blue", User: store.AllUsers, Limit: 9})
	must(t, err)
	same(t, "another tenant", page.IDs, []string{"other"})
	must(t, s.DeleteTask(ctx, "c"))
	page, err = s.Tasks(ctx, store.Query{Tenant: "acme", User: store.AllUsers, Limit: 9})
	must(t, err)
	same(t, "after a deletion", page.IDs, []string{"b", "a"})
}
