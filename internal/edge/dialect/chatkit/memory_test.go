package chatkit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect/chatkit"
)

// memory is a Memory with a context, for one owner.
type memory struct {
	t *testing.T
	chatkit.Memory
}

func (m *memory) create(id string) {
	m.t.Helper()
	if err := m.Create(m.t.Context(), "ann", chatkit.Thread{ID: id, CreatedAt: time.Now()}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *memory) append(thread, id string, size int) {
	m.t.Helper()
	item := chatkit.Item{ID: id, Body: jsontext.Value(`"` + strings.Repeat("x", size) + `"`)}
	if err := m.Append(m.t.Context(), "ann", thread, item); err != nil {
		m.t.Fatal(err)
	}
}

func (m *memory) has(thread string) bool {
	m.t.Helper()
	_, err := m.Thread(m.t.Context(), "ann", thread)
	if err != nil && !errors.Is(err, chatkit.ErrNotFound) {
		m.t.Fatal(err)
	}
	return err == nil
}

func (m *memory) items(thread string, q chatkit.Query) (ids []string, more bool) {
	m.t.Helper()
	list, more, err := m.Items(m.t.Context(), "ann", thread, q)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	return ids, more
}

func TestMemoryForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{t: t}
		m.create("a")
		m.create("b")
		time.Sleep(23 * time.Hour)
		m.append("b", "1", 1)
		time.Sleep(time.Hour)
		if m.has("a") || !m.has("b") {
			t.Errorf("after a day: a %v (want false), b, which was changed since, %v", m.has("a"), m.has("b"))
		}
		time.Sleep(23 * time.Hour)
		if m.has("b") {
			t.Error("b is still there")
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{t: t}
		for i := range 1000 {
			m.create(fmt.Sprint(i))
			time.Sleep(time.Second)
		}
		m.append("0", "1", 1) // now 1 is the oldest
		m.create("more")
		if !m.has("0") || m.has("1") || !m.has("2") {
			t.Errorf("of 1001 threads: 0 %v, 1 %v, 2 %v; want 1 gone", m.has("0"), m.has("1"), m.has("2"))
		}
		for i := range 501 {
			m.append("more", fmt.Sprint(i), 1)
		}
		if ids, more := m.items("more", chatkit.Query{Limit: 1}); ids[0] != "1" || !more {
			t.Errorf("of 501 items the first is %v, want 1", ids)
		}
		m.append("more", "big", 6<<20)
		time.Sleep(time.Second)
		m.create("large")
		for i := range 10 {
			m.append("large", fmt.Sprint(i), 4<<20)
		}
		if ids, _ := m.items("large", chatkit.Query{Limit: 100}); len(ids) != 7 || ids[0] != "3" || m.has("more") {
			t.Errorf("of 40 MiB there are %v, and the other threads: %v", ids, m.has("more"))
		}
		if err := m.Delete(t.Context(), "ann", "large"); err != nil {
			t.Fatal(err)
		}
		m.create("x")
		m.create("y")
		if !m.has("x") {
			t.Error("what was deleted still counts")
		}
	})
}

func TestMemoryPages(t *testing.T) {
	t.Parallel()
	m := &memory{t: t}
	m.create("a")
	for _, id := range []string{"1", "2", "3", "4"} {
		m.append("a", id, 1)
	}
	for _, tt := range []struct {
		q    chatkit.Query
		want string
		more bool
	}{
		{chatkit.Query{Limit: 2}, "1 2", true},
		{chatkit.Query{Limit: 2, After: "2"}, "3 4", false},
		{chatkit.Query{Limit: 4}, "1 2 3 4", false},
		{chatkit.Query{Limit: 3, Descending: true}, "4 3 2", true},
		{chatkit.Query{Limit: 3, Descending: true, After: "2"}, "1", false},
		{chatkit.Query{Limit: 3, After: "4"}, "", false},
		{chatkit.Query{Limit: 3, After: "nowhere"}, "", false},
	} {
		ids, more := m.items("a", tt.q)
		if got := strings.Join(ids, " "); got != tt.want || more != tt.more {
			t.Errorf("%+v: %q, more %v; want %q, %v", tt.q, got, more, tt.want, tt.more)
		}
	}
	if err := m.RemoveAfter(t.Context(), "ann", "a", "2"); err != nil {
		t.Fatal(err)
	}
	ids, _ := m.items("a", chatkit.Query{Limit: 9, Descending: true})
	if diff := cmp.Diff([]string{"2", "1"}, ids); diff != "" {
		t.Errorf("after RemoveAfter (-want +got):\n%s", diff)
	}
}

// To others an owner's threads do not exist.
func TestMemoryOwners(t *testing.T) {
	t.Parallel()
	m := &memory{t: t}
	m.create("a")
	m.append("a", "1", 1)
	ctx := t.Context()
	for _, owner := range []string{"bob", ""} {
		_, err1 := m.Thread(ctx, owner, "a")
		_, err2 := m.Rename(ctx, owner, "a", "x")
		err3 := m.Delete(ctx, owner, "a")
		err4 := m.Append(ctx, owner, "a", chatkit.Item{ID: "2"})
		_, err5 := m.Item(ctx, owner, "a", "1")
		_, _, err6 := m.Items(ctx, owner, "a", chatkit.Query{Limit: 1})
		err7 := m.RemoveAfter(ctx, owner, "a", "1")
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
			if !errors.Is(err, chatkit.ErrNotFound) {
				t.Errorf("%q, method %d: %v", owner, i+1, err)
			}
		}
		if list, _, err := m.Threads(ctx, owner, chatkit.Query{Limit: 9}); len(list) > 0 || err != nil {
			t.Errorf("%q sees %v, %v", owner, list, err)
		}
	}
	if _, err := m.Item(ctx, "ann", "a", "2"); !errors.Is(err, chatkit.ErrNotFound) {
		t.Errorf("an item that is not there: %v", err)
	}
	if err := m.Create(ctx, "bob", chatkit.Thread{ID: "a"}); err == nil {
		t.Error("bob takes over the thread of ann")
	}
}

func TestMemoryAtOnce(t *testing.T) {
	t.Parallel()
	m := new(chatkit.Memory)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ctx, id, owner := context.Background(), fmt.Sprint(i), fmt.Sprint(i%2)
			_ = m.Create(ctx, owner, chatkit.Thread{ID: id})
			for n := range 50 {
				_ = m.Append(ctx, owner, id, chatkit.Item{ID: fmt.Sprint(n)})
				_, _, _ = m.Items(ctx, owner, id, chatkit.Query{Limit: 10, Descending: true})
				_, _, _ = m.Threads(ctx, owner, chatkit.Query{Limit: 10})
			}
			_ = m.RemoveAfter(ctx, owner, id, "25")
		})
	}
	wg.Wait()
	if list, _, _ := m.Threads(context.Background(), "0", chatkit.Query{Limit: 10}); len(list) != 4 {
		t.Errorf("%d threads, want 4", len(list))
	}
}
