package toolcache

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

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// shelf is a source whose tool get returns what put has put, with the number of the run.
type shelf struct {
	mu     sync.Mutex // guards the fields below
	policy tool.Policy
	value  string
	runs   int
	during func() // is called while get runs
}

func (s *shelf) Tools(context.Context) *tool.Set { return &tool.Set{} }

func (s *shelf) KnownTool(name string) *tool.Info {
	if name == "none" {
		return nil
	}
	return &tool.Info{
		Server: "shelf", Name: strings.TrimPrefix(name, "shelf_"), Policy: &s.policy,
		Annotations: tool.Annotations{ReadOnly: name != "shelf_put"},
	}
}

func (s *shelf) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	s.mu.Lock()
	s.runs++
	r := tool.Result{ID: c.ID, Name: c.Name, Text: fmt.Sprintf("%s run %d", s.value, s.runs)}
	during := s.during
	s.mu.Unlock()
	switch c.Name {
	case "shelf_put":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.value = string(c.Arguments)
	case "shelf_fail":
		r.IsError = true
	case "shelf_break":
		return tool.Result{}, &fault.Error{Type: fault.ToolFailed, Message: "broken"}
	case "shelf_long":
		r.Text += strings.Repeat("x", maxResult)
	}
	if during != nil {
		during()
	}
	return r, nil
}

func newShelf() *shelf {
	minute := map[string]time.Duration{"get": time.Minute, "fail": time.Minute, "break": time.Minute, "long": time.Minute}
	return &shelf{policy: tool.Policy{Cache: minute}}
}

func of(t *testing.T, user string) context.Context {
	r := chat.Request{UserID: user}
	return chat.WithTurn(t.Context(), chat.Turn{Caller: r.Caller()})
}

// call returns the result's text, with a star if it was kept.
func call(ctx context.Context, tools *Tools, name, arguments string) string {
	r, err := tools.Call(ctx, tool.Call{ID: "id", Name: name, Arguments: jsontext.Value(arguments)})
	if err != nil {
		return err.Error()
	}
	if r.ID != "id" || r.Name != name {
		return fmt.Sprintf("result of another call: %+v", r)
	}
	if r.Cached {
		return r.Text + "*"
	}
	return r.Text
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %.60q, want %q", got, want)
	}
}

// keepers calls test with each Keeper.
func keepers(t *testing.T, test func(t *testing.T, keeper Keeper)) {
	t.Parallel()
	t.Run("process", func(t *testing.T) { t.Parallel(); test(t, nil) })
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		s := memory.New(memory.Config{})
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
	t.Run("redis", func(t *testing.T) { t.Parallel(); test(t, openRedis(t)) })
}

func TestSameCallIsNotMadeAgain(t *testing.T) {
	keepers(t, func(t *testing.T, keeper Keeper) {
		s := newShelf()
		tools := New(keeper, nil).Around(s)
		ann, bob := of(t, "ann"), of(t, "bob")
		same(t, call(ann, tools, "shelf_get", `{"a":1,"b":9007199254740993}`), " run 1")
		same(t, call(ann, tools, "shelf_get", `{ "b":9007199254740993, "a":1}`), " run 1*")
		same(t, call(ann, tools, "shelf_get", `{"a":1,"b":9007199254740992}`), " run 2")
		same(t, call(bob, tools, "shelf_get", `{"a":1,"b":9007199254740993}`), " run 3")
		same(t, call(ann, tools, "shelf_other", `{}`), " run 4") // which is not to be kept
		same(t, call(ann, tools, "shelf_other", `{}`), " run 5")
		same(t, call(of(t, ""), tools, "shelf_get", `{"a":1,"b":9007199254740993}`), " run 6")
		same(t, call(t.Context(), tools, "shelf_get", `{}`), " run 7")
		same(t, call(t.Context(), tools, "shelf_get", `{}`), " run 8")
		same(t, call(ann, tools, "none", `{}`), " run 9")
		same(t, call(ann, tools, "shelf_get", `{"a":`), " run 10")
		same(t, call(ann, tools, "shelf_get", `{"a":`), " run 11")
	})
}

func TestNoErrorIsKeptAndNothingLong(t *testing.T) {
	keepers(t, func(t *testing.T, keeper Keeper) {
		tools := New(keeper, nil).Around(newShelf())
		ann := of(t, "ann")
		same(t, call(ann, tools, "shelf_fail", `{}`), " run 1")
		same(t, call(ann, tools, "shelf_fail", `{}`), " run 2")
		call(ann, tools, "shelf_break", `{}`)
		if got := call(ann, tools, "shelf_break", `{}`); !strings.Contains(got, "broken") {
			t.Errorf("got %q", got)
		}
		call(ann, tools, "shelf_long", `{}`)
		if got := call(ann, tools, "shelf_long", `{}`); !strings.HasPrefix(got, " run 6") || strings.HasSuffix(got, "*") {
			t.Errorf("got %.20q", got)
		}
	})
}

func TestChangeEndsWhatWasKept(t *testing.T) {
	keepers(t, func(t *testing.T, keeper Keeper) {
		s := newShelf()
		tools := New(keeper, nil).Around(s)
		ann := of(t, "ann")
		same(t, call(ann, tools, "shelf_get", `{}`), " run 1")
		call(of(t, "bob"), tools, "shelf_put", `{"v":1}`)
		same(t, call(ann, tools, "shelf_get", `{}`), `{"v":1} run 3`)
		same(t, call(ann, tools, "shelf_get", `{}`), `{"v":1} run 3*`)
		call(t.Context(), tools, "shelf_put", `{"v":2}`) // also by nobody in particular
		// A read that began before a change does not bring back what was there.
		s.during = func() {
			s.during = nil
			call(ann, tools, "shelf_put", `{"v":3}`)
		}
		same(t, call(ann, tools, "shelf_get", `{}`), `{"v":2} run 5`)
		same(t, call(ann, tools, "shelf_get", `{}`), `{"v":3} run 7`)
		same(t, call(ann, tools, "shelf_get", `{}`), `{"v":3} run 7*`)
		// One in the middle of a change finds nothing of before, and leaves nothing.
		changing := &shelf{policy: s.policy}
		changing.during = func() { same(t, call(ann, tools, "shelf_get", `{}`), `{"v":3} run 8`) }
		call(ann, tools.cache.Around(changing), "shelf_put", `{"v":4}`)
		same(t, call(ann, tools, "shelf_get", `{}`), `{"v":3} run 9`)
	})
}

func TestSharedResultsServeAll(t *testing.T) {
	keepers(t, func(t *testing.T, keeper Keeper) {
		s := newShelf()
		s.policy.CacheShared = true
		tools := New(keeper, nil).Around(s)
		same(t, call(of(t, "ann"), tools, "shelf_get", `{}`), " run 1")
		same(t, call(of(t, "bob"), tools, "shelf_get", `{}`), " run 1*")
		same(t, call(t.Context(), tools, "shelf_get", `{}`), " run 1*")
		tenant := chat.WithTurn(t.Context(), chat.Turn{Caller: chat.Caller{Tenant: "other"}})
		same(t, call(tenant, tools, "shelf_get", `{}`), " run 2")
	})
}

func TestResultsExpire(t *testing.T) {
	t.Parallel()
	for name, keeper := range map[string]func() Keeper{
		"process": func() Keeper { return nil },
		"memory":  func() Keeper { return memory.New(memory.Config{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tools := New(keeper(), nil).Around(newShelf())
				ann := of(t, "ann")
				same(t, call(ann, tools, "shelf_get", `{}`), " run 1")
				time.Sleep(59 * time.Second)
				same(t, call(ann, tools, "shelf_get", `{}`), " run 1*")
				time.Sleep(time.Second)
				same(t, call(ann, tools, "shelf_get", `{}`), " run 2")
				// What a forgotten generation left is not found again.
				time.Sleep(generationLives)
				same(t, call(ann, tools, "shelf_get", `{}`), " run 3")
				same(t, call(ann, tools, "shelf_get", `{}`), " run 3*")
			})
		})
	}
}

// unreliable is a Keeper that can be unavailable.
type unreliable struct {
	Keeper
	gone bool
}

func (u *unreliable) Counter(ctx context.Context, key string) (int64, error) {
	if u.gone {
		return 0, store.ErrUnavailable
	}
	return u.Keeper.Counter(ctx, key)
}

func (u *unreliable) AddCounter(ctx context.Context, key string, n int64, ttl time.Duration) (int64, error) {
	if u.gone {
		return 0, store.ErrUnavailable
	}
	return u.Keeper.AddCounter(ctx, key, n, ttl)
}

func (u *unreliable) Value(ctx context.Context, key string) (store.Value, error) {
	if u.gone {
		return store.Value{}, errors.New("gone")
	}
	return u.Keeper.Value(ctx, key)
}

// A change while the keeper is unavailable is not forgotten when it is back.
func TestUnavailableKeeper(t *testing.T) {
	t.Parallel()
	u := &unreliable{Keeper: newLocal()}
	tools := New(u, nil).Around(newShelf())
	ann := of(t, "ann")
	same(t, call(ann, tools, "shelf_get", `{}`), " run 1")
	u.gone = true
	same(t, call(ann, tools, "shelf_get", `{}`), " run 2")
	call(ann, tools, "shelf_put", `{"v":1}`)
	u.gone = false
	same(t, call(ann, tools, "shelf_get", `{}`), `{"v":1} run 4`)
	same(t, call(ann, tools, "shelf_get", `{}`), `{"v":1} run 4*`)
}

func TestProcessKeepsNoMoreThanItsBound(t *testing.T) {
	t.Parallel()
	l := newLocal()
	data := make([]byte, maxResult)
	const n = 2 * maxLocal / maxResult
	for i := range n {
		if _, err := l.PutValue(t.Context(), fmt.Sprint(i), store.Value{Data: data}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.PutValue(t.Context(), fmt.Sprint(n-1), store.Value{Data: data}, time.Minute); err != nil {
		t.Fatal(err)
	}
	sum := 0
	for e := l.order.Front(); e != nil; e = e.Next() {
		sum += e.Value.(*localValue).sizeInBytes()
	}
	if l.bytes > maxLocal || l.bytes < maxLocal-2*maxResult || sum != l.bytes || l.order.Len() != len(l.values) {
		t.Errorf("%d bytes, counted %d, in %d and %d entries", sum, l.bytes, l.order.Len(), len(l.values))
	}
	_, oldest := l.Value(t.Context(), "0")
	_, newest := l.Value(t.Context(), fmt.Sprint(n-1))
	if diff := cmp.Diff([]bool{true, true}, []bool{errors.Is(oldest, store.ErrNotFound), newest == nil}); diff != "" {
		t.Error(diff)
	}
}
