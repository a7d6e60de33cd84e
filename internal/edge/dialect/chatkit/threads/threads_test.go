package threads

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// engines calls test with each engine.
func engines(t *testing.T, test func(t *testing.T, e Engine)) {
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := memory.New(memory.Config{})
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, openRedis(t)) })
}

func body(text string) jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, text)
	return quoted
}

// step does something at random to s, and says what came of it.
func step(ctx context.Context, s chatkit.Store, seed uint64, began time.Time) string {
	r := rand.New(rand.NewPCG(seed, 1))
	owner, thread := fmt.Sprint("owner", r.IntN(2)), fmt.Sprint("thread", r.IntN(4))
	item, last := fmt.Sprint("item", r.IntN(int(seed)+1)), fmt.Sprint("thread", r.IntN(4))
	q := chatkit.Query{Limit: 1 + r.IntN(4), Descending: r.IntN(2) == 0}
	row := func(v any, err error) string {
		if errors.Is(err, chatkit.ErrNotFound) {
			err = chatkit.ErrNotFound
		}
		return fmt.Sprint(seed, v, err)
	}
	switch op := r.IntN(12); op {
	case 0, 1:
		err := s.Create(ctx, owner, chatkit.Thread{ID: thread, Title: "<&>\"ü", CreatedAt: began.Add(time.Duration(r.IntN(3)) * time.Second)})
		return fmt.Sprint("create", err == nil)
	case 2:
		return row(s.Thread(ctx, owner, thread))
	case 3:
		if r.IntN(2) == 0 {
			q.After = last
		}
		list, more, err := s.Threads(ctx, owner, q)
		return row(fmt.Sprint(list, more), err)
	case 4:
		return row(s.Rename(ctx, owner, thread, fmt.Sprint("title", seed)))
	case 5:
		if r.IntN(3) > 0 {
			return ""
		}
		return row("delete", s.Delete(ctx, owner, thread))
	case 6:
		return row(s.Item(ctx, owner, thread, item))
	case 7:
		if r.IntN(2) == 0 {
			q.After = item
		}
		list, more, err := s.Items(ctx, owner, thread, q)
		return row(fmt.Sprint(list, more), err)
	case 8:
		return row("remove", s.RemoveAfter(ctx, owner, thread, item))
	}
	input := ""
	if r.IntN(2) == 0 {
		input = "asked \u2028\x00"
	}
	return row("append", s.Append(ctx, owner, thread, chatkit.Item{ID: fmt.Sprint("item", seed), Input: input, Body: body("said <b>")}))
}

// A Store does what chatkit.Memory does, whatever is asked of both, from whichever process.
func TestStoreIsAsGoodAsMemory(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		began := time.Now().UTC().Truncate(time.Second)
		var model chatkit.Memory
		one, two := New(e), New(e)
		for seed := range uint64(3000) {
			s := one
			if seed%2 == 0 {
				s = two
			}
			want, got := step(t.Context(), &model, seed, began), step(t.Context(), s, seed, began)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("step %d (-memory +store):\n%s", seed, diff)
			}
		}
	})
}

func TestThreadLivesADayAfterItsLastChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := memory.New(memory.Config{})
		defer e.Close()
		s := New(e)
		ctx := t.Context()
		for _, id := range []string{"a", "b"} {
			if err := s.Create(ctx, "ann", chatkit.Thread{ID: id, CreatedAt: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Hour)
		if err := s.Append(ctx, "ann", "a", chatkit.Item{ID: "1", Body: body("x")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Hour)
		list, more, err := s.Threads(ctx, "ann", chatkit.Query{Limit: 5})
		if err != nil || more || len(list) != 1 || list[0].ID != "a" {
			t.Errorf("threads %v %v %v", list, more, err)
		}
		if _, err := s.Item(ctx, "ann", "a", "1"); err != nil {
			t.Error(err)
		}
		if _, err := s.Thread(ctx, "ann", "b"); !errors.Is(err, chatkit.ErrNotFound) {
			t.Errorf("thread b: %v", err)
		}
		time.Sleep(4 * time.Hour)
		if list, _, err := s.Threads(ctx, "ann", chatkit.Query{Limit: 5}); err != nil || len(list) != 0 {
			t.Errorf("a day later: %v %v", list, err)
		}
	})
}

func TestThreadIsBounded(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		s, ctx := New(e), t.Context()
		if err := s.Create(ctx, "", chatkit.Thread{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		for i := range maxItems + 10 {
			if err := s.Append(ctx, "", "a", chatkit.Item{ID: fmt.Sprint(i), Body: body("x")}); err != nil {
				t.Fatal(err)
			}
		}
		list, _, err := s.Items(ctx, "", "a", chatkit.Query{Limit: 2 * maxItems})
		if err != nil || len(list) != maxItems || list[0].ID != "10" {
			t.Errorf("%d items, %v", len(list), err)
		}
		for range 3 {
			if err := s.Append(ctx, "", "a", chatkit.Item{ID: "long", Body: body(strings.Repeat("x", maxBytes/2))}); err != nil {
				t.Fatal(err)
			}
		}
		if list, _, err := s.Items(ctx, "", "a", chatkit.Query{Limit: 9}); err != nil || len(list) != 1 {
			t.Errorf("%d long items, %v", len(list), err)
		}
	})
}

// What others have written is not there, and does not hide what is.
func TestWhatOthersWrote(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		s, ctx := New(e), t.Context()
		for _, id := range []string{"a", "b"} {
			if err := s.Create(ctx, "ann", chatkit.Thread{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		for i, raw := range []string{"{", `{"id":"1","body":"x","later":true}`, `null`, `{"id":5}`, `{"id":"2","body":{}}`} {
			if err := e.PushList(ctx, store.ThreadItemsKey("a"), []byte(raw), store.Bounds{}, lives); err != nil {
				t.Fatal(i, err)
			}
		}
		list, _, err := s.Items(ctx, "ann", "a", chatkit.Query{Limit: 9})
		if err != nil || len(list) != 2 || list[0].ID != "1" || list[1].ID != "2" {
			t.Errorf("items %v, %v", list, err)
		}
		if err := s.RemoveAfter(ctx, "ann", "a", "1"); err != nil {
			t.Error(err)
		}
		if list, _, _ := s.Items(ctx, "ann", "a", chatkit.Query{Limit: 9}); len(list) != 1 {
			t.Errorf("items %v", list)
		}
		if _, err := e.PutValue(ctx, store.ThreadKey("b"), store.Value{Data: []byte(`{"owner":`), Version: 1}, lives); err != nil {
			t.Fatal(err)
		}
		threads, _, err := s.Threads(ctx, "ann", chatkit.Query{Limit: 9})
		if err != nil || len(threads) != 1 || threads[0].ID != "a" {
			t.Errorf("threads %v, %v", threads, err)
		}
	})
}

// deleting is an engine whose thread is deleted while an item is added.
type deleting struct {
	Engine
	delete func()
}

func (d *deleting) PushList(ctx context.Context, key string, data []byte, b store.Bounds, ttl time.Duration) error {
	d.delete()
	return d.Engine.PushList(ctx, key, data, b, ttl)
}

func TestNothingIsLeftOfADeletedThread(t *testing.T) {
	engines(t, func(t *testing.T, e Engine) {
		ctx := t.Context()
		other := New(e)
		s := New(&deleting{e, func() {
			if err := other.Delete(ctx, "", "a"); err != nil {
				t.Error(err)
			}
		}})
		if err := s.Create(ctx, "", chatkit.Thread{ID: "a"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Append(ctx, "", "a", chatkit.Item{ID: "1", Body: body("x")}); !errors.Is(err, chatkit.ErrNotFound) {
			t.Errorf("append: %v", err)
		}
		if left, err := e.List(ctx, store.ThreadItemsKey("a"), 0, 0); err != nil || len(left) != 0 {
			t.Errorf("left: %q, %v", left, err)
		}
	})
}

// absent is an engine that does not answer.
type absent struct{ Engine }

func (absent) Value(context.Context, string) (store.Value, error) {
	return store.Value{}, fmt.Errorf("value: %w", store.ErrUnavailable)
}

func TestUnavailableStore(t *testing.T) {
	t.Parallel()
	_, err := New(absent{}).Thread(t.Context(), "", "a")
	if f := fault.From(err); f.Type != fault.StoreUnavailable || errors.Is(err, chatkit.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}
