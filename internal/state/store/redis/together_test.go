//go:build unix

package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/base/testnet"
	"sluice/internal/state/store"
	"sluice/internal/state/store/redis/redistest"
)

// batched notes how many scripts were sent together.
type batched struct {
	mu    sync.Mutex
	sizes []int
}

func (*batched) DialHook(next goredis.DialHook) goredis.DialHook          { return next }
func (*batched) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook { return next }
func (b *batched) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []goredis.Cmder) error {
		if cmds[0].Name() == "evalsha" { // others belong to a new connection
			b.mu.Lock()
			b.sizes = append(b.sizes, len(cmds))
			b.mu.Unlock()
		}
		return next(ctx, cmds)
	}
}

// crowd has a store whose server is paused, so that scripts wait.
type crowd struct {
	*Store
	server *redistest.Server
	sent   batched
	ill    atomic.Int64 // failures of the store's
	wg     sync.WaitGroup
	errs   []error
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{server: redistest.Start(t, "redis-server", false)}
	c.Store = New(Config{Location: c.server.Location(), Prefix: "p:", Calls: store.NewCalls(store.CallsConfig{
		Timeout: 20 * time.Second,
		Allow: func(context.Context) (func(store.Verdict, error), error) {
			return func(v store.Verdict, _ error) {
				if v == store.Ill {
					c.ill.Add(1)
				}
			}, nil
		}})})
	t.Cleanup(func() { _ = c.Close() })
	c.client.AddHook(&c.sent)
	return c
}

// append adds an event to log i, behind event at, in a goroutine.
func (c *crowd) append(ctx context.Context, i, at int) {
	c.errs = append(c.errs, nil) // which has room
	err := &c.errs[len(c.errs)-1]
	c.wg.Go(func() {
		*err = c.AppendLog(ctx, fmt.Sprint(i), store.Append{Entry: store.Entry{N: at + 1, Data: fmt.Append(nil, i)}, At: at, TTL: time.Hour})
	})
}

// waits waits until so many scripts wait.
func (c *crowd) waits(t *testing.T, n int) {
	t.Helper()
	testnet.Eventually(t, fmt.Sprint(n, " scripts wait"), func() bool {
		c.batches.mu.Lock()
		defer c.batches.mu.Unlock()
		return c.batches.under == trips && len(c.batches.waiting) == n
	})
}

// What waits is sent together. Each caller gets what came of its own script, also of one that the
// server does not know yet, and a refusal is that of one caller.
func TestScriptsAreSentTogether(t *testing.T) {
	t.Parallel()
	const callers = trips + maxTogether + 10
	c := newCrowd(t)
	c.errs = make([]error, 0, callers)
	c.server.Pause(t)
	for i := range callers {
		c.append(t.Context(), i, i%5/4) // a fifth of them behind an event that is not there
	}
	c.waits(t, callers-trips)
	c.server.Resume(t)
	c.wg.Wait()
	for i, err := range c.errs {
		log, read := c.ReadLog(t.Context(), fmt.Sprint(i), 0, 9)
		if i%5 == 4 {
			if !errors.Is(err, store.ErrNotFound) || !errors.Is(read, store.ErrNotFound) {
				t.Errorf("log %d: %v, %v", i, err, read)
			}
		} else if err != nil || read != nil || len(log) != 1 || string(log[0].Data) != fmt.Sprint(i) {
			t.Errorf("log %d: %v, %v, %+v", i, err, read, log)
		}
	}
	sum := 0
	for _, n := range c.sent.sizes {
		sum += n
	}
	if len(c.sent.sizes) == 0 || slices.Max(c.sent.sizes) != maxTogether || sum > callers-trips {
		t.Errorf("batches of %d", c.sent.sizes)
	}
	if c.batches.under != 0 || len(c.batches.waiting) != 0 || c.ill.Load() != 0 {
		t.Errorf("%d trips under way, %d scripts wait, %d failures", c.batches.under, len(c.batches.waiting), c.ill.Load())
	}
}

// Who leaves while the script waits has not run it, and keeps no other one from running. Who leaves
// when it was sent waits for its end: the arguments are not the caller's before that.
func TestCallerLeavesWhileScriptsWait(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.errs = make([]error, 0, 20)
	c.server.Pause(t)
	for i := range trips + 1 {
		c.append(t.Context(), i, 0)
	}
	c.waits(t, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	gone, why := make(chan error), errors.New("why")
	go func() { gone <- c.AppendLog(ctx, "gone", store.Append{Entry: store.Entry{N: 1, Data: []byte("x")}}) }()
	c.waits(t, 2)
	c.append(t.Context(), trips+1, 0)
	c.waits(t, 3)
	cancel(why)
	if err := <-gone; !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
	c.server.Resume(t)
	c.wg.Wait()
	if err := errors.Join(c.errs...); err != nil {
		t.Error(err)
	}
	if _, err := c.ReadLog(t.Context(), "gone", 0, 9); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the script of who has left: %v", err)
	}
	if diff := cmp.Diff([]int{2}, c.sent.sizes); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
}

// A connection that is lost fails all that it carried, and is one failure of the store.
func TestLostBatchIsOneFailure(t *testing.T) {
	t.Parallel()
	const callers = trips + maxTogether
	c := newCrowd(t)
	c.errs = make([]error, 0, callers)
	c.server.Pause(t)
	for i := range callers {
		c.append(t.Context(), i, 0)
	}
	c.waits(t, callers-trips)
	c.server.Kill()
	c.wg.Wait()
	for i, err := range c.errs {
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	if n := c.ill.Load(); n < trips || n > trips+3 {
		t.Errorf("%d failures, want one of each batch: %d", n, c.sent.sizes)
	}
}

// A batch has a bound in scripts and in bytes, and those that came first are in it.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		sizes []int
		want  int
	}{
		"one": {[]int{1}, 1}, "few": {[]int{1, 2, 3}, 3}, "many": {make([]int, maxTogether+1), maxTogether},
		"just as many": {make([]int, maxTogether), maxTogether}, "bytes": {[]int{maxBytes - 1, 1, 1}, 2}, "one too large": {[]int{maxBytes + 1, 1}, 1},
	} {
		b := &batches{under: trips}
		for _, size := range tt.sizes {
			b.enqueueOrSend(&scripted{size: size})
		}
		all := append([]*scripted(nil), b.waiting...)
		b.passTrip()
		var got []*scripted
		select {
		case got = <-all[0].next:
		default:
		}
		if len(got) != tt.want || got[0] != all[0] || len(b.waiting) != len(all)-tt.want || b.under != trips {
			t.Errorf("%s: a batch of %d, want %d; %d wait", name, len(got), tt.want, len(b.waiting))
		}
		if len(b.waiting) > 0 && b.waiting[0] != all[tt.want] {
			t.Errorf("%s: another one is first now", name)
		}
	}
}

// Who leaves when the script is in a batch gets what came of it: its arguments are the caller's again
// only then.
func TestCallerLeavesWhileItsBatchIsUnderWay(t *testing.T) {
	t.Parallel()
	b, s := &batches{under: trips}, &scripted{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		reply, err := b.runScript(ctx, s)
		if err == nil && reply != "reply" {
			err = fmt.Errorf("reply %v", reply)
		}
		ended <- err
	}()
	testnet.Eventually(t, "it waits", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.waiting) == 1
	})
	b.mu.Lock()
	b.waiting = nil // another caller sends it
	b.mu.Unlock()
	cancel()
	s.reply = goredis.NewCmdResult("reply", nil)
	s.next <- nil
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Who sends a batch and leaves takes none of the others along.
func TestBatchDoesNotEndWithItsSender(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	if err := c.PutIndex(t.Context(), "first", store.Member{ID: "a"}, 0); err != nil { // which loads the script
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var batch []*scripted
	for i := range 2 {
		batch = append(batch, &scripted{script: c.scriptOf("put_index", putIndex), keys: []string{fmt.Sprint(i)}, args: []any{1, "a", 0}, next: make(chan []*scripted, 1)})
	}
	c.batches.under = 1
	c.batches.sendBatch(ctx, batch)
	for i, s := range batch {
		if err := s.reply.Err(); err != nil || s.mate != (i > 0) {
			t.Errorf("script %d: %v, with another one: %t", i, err, s.mate)
		}
	}
}
