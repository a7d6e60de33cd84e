package approval_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// forgetful is a store that loses answers about questions to people.
type forgetful struct {
	store.Store

	mu    sync.Mutex // guards the fields below
	armed bool       // the next claim loses its answer
	how   lost
	until time.Time // all answers are lost until then
}

// lost describes the commands whose answers are lost.
type lost struct {
	stall time.Duration // for so long all answers are lost that follow
	late  time.Duration // the commands are executed so much later
	never bool          // the commands are not executed
	keys  bool          // only other records lose their answers, from the claim on
}

// loses reports whether the answer about a key is lost, and how.
func (f *forgetful) loses(key string, writes bool) (how lost, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	claims := strings.HasPrefix(key, store.ApprovalKey(""))
	if claims && writes && f.armed {
		f.armed, f.until = false, now.Add(f.how.stall)
		return f.how, !f.how.keys
	}
	return f.how, claims != f.how.keys && now.Before(f.until)
}

func (f *forgetful) Value(ctx context.Context, key string) (store.Value, error) {
	if _, is := f.loses(key, false); is {
		return store.Value{}, store.ErrUnavailable
	}
	return f.Store.Value(ctx, key)
}

func (f *forgetful) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	how, is := f.loses(key, true)
	switch {
	case !is:
		return f.Store.PutValue(ctx, key, v, ttl)
	case how.late > 0:
		time.AfterFunc(how.late, func() { _, _ = f.Store.PutValue(context.Background(), key, v, ttl) })
	case !how.never:
		_, _ = f.Store.PutValue(ctx, key, v, ttl)
	}
	return store.Value{}, store.ErrUnavailable
}

// inLoss runs a test in a bubble: with a token that holds its turn, and a store that loses answers.
func inLoss(t *testing.T, how lost, test func(t *testing.T, b *bank, token string)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBank(t)
		q := b.Ask(b.gateway(nil), "")
		b.Store = &forgetful{Store: memory.New(memory.Config{}), armed: true, how: how}
		test(t, b, q.Token)
	})
}

// insists answers at gateways in turn until a turn runs. Each refusal before must be store_unavailable.
func (b *bank) insists(token string, pause time.Duration, at ...wholetest.Peer) {
	b.t.Helper()
	for i := range 10 {
		status, body := b.Answer(at[i%len(at)], token, `"action":"approve"`)
		if status == http.StatusOK {
			return
		}
		b.refused(status, body, http.StatusServiceUnavailable, "store_unavailable")
		time.Sleep(pause)
	}
	b.t.Error("no answer is taken")
}

// A store loses the answer to the claim of a turn without a task. The same person answers again, at the same
// gateway or another one: the call runs once.
func TestLostAnswersToAClaim(t *testing.T) {
	t.Parallel()
	for what, how := range map[string]lost{
		"alone":                    {},
		"with those that follow":   {stall: 1200 * time.Millisecond},
		"not executed":             {never: true},
		"not executed for a while": {never: true, stall: 1200 * time.Millisecond},
		"executed late":            {late: 100 * time.Millisecond, stall: 1200 * time.Millisecond},
		"executed behind all":      {late: 2 * time.Second, stall: 1200 * time.Millisecond},
	} {
		for where, pause := range map[string]time.Duration{"here": 0, "here, soon": 700 * time.Millisecond, "elsewhere": 3 * time.Second} {
			t.Run(fmt.Sprintf("%s, %s", what, where), func(t *testing.T) {
				t.Parallel()
				inLoss(t, how, func(t *testing.T, b *bank, token string) {
					first, second := b.gateway(nil), b.gateway(nil)
					at := []wholetest.Peer{first, first}
					if where == "elsewhere" {
						at[1] = second
					}
					b.insists(token, max(pause, 150*time.Millisecond), at...)
					time.Sleep(time.Minute)
					for _, p := range []wholetest.Peer{first, second, first} {
						status, body := b.Answer(p, token, `"action":"approve"`)
						b.refused(status, body, http.StatusConflict, "approval_used")
					}
					b.wantPaid(1)
				})
			})
		}
	}
}

// If one of many claims loses the answer of the store, the call still runs once.
func TestLostAnswerToOneOfManyClaims(t *testing.T) {
	t.Parallel()
	for _, stall := range []time.Duration{0, 1200 * time.Millisecond} {
		t.Run(stall.String(), func(t *testing.T) {
			t.Parallel()
			inLoss(t, lost{stall: stall}, func(t *testing.T, b *bank, token string) {
				at := []wholetest.Peer{b.gateway(nil), b.gateway(nil)}
				var mu sync.Mutex
				taken := 0
				var all sync.WaitGroup
				for i := range 16 {
					all.Go(func() {
						for range 10 {
							status, _ := b.Answer(at[i%2], token, `"action":"approve"`)
							mu.Lock()
							if status == http.StatusOK {
								taken++
							}
							mu.Unlock()
							if status != http.StatusServiceUnavailable {
								return
							}
							time.Sleep(500 * time.Millisecond)
						}
					})
				}
				all.Wait()
				time.Sleep(time.Minute)
				if stall == 0 && taken != 1 || taken > 1 {
					t.Errorf("%d answers are taken", taken)
				}
				if taken == 0 { // the others came too soon
					b.insists(token, time.Second, at...)
				}
				b.wantPaid(1)
			})
		})
	}
}

// A turn with an idempotency key cannot begin without the store. Its answer is not used up by that, here or elsewhere.
func TestClaimThatNothingFollows(t *testing.T) {
	t.Parallel()
	for where, n := range map[string]int{"here": 1, "elsewhere": 2} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			inLoss(t, lost{stall: 1200 * time.Millisecond, never: true, keys: true}, func(t *testing.T, b *bank, token string) {
				at := []wholetest.Peer{b.gateway(nil), b.gateway(nil)}[:n]
				answer := fmt.Sprintf(`{"approval":{"token":%q,"action":"approve"}}`, token)
				status, body := b.Post(at[0], "/chat/stream", answer, "Idempotency-Key", "answer-0001")
				b.refused(status, body, http.StatusServiceUnavailable, "store_unavailable")
				b.wantPaid(0)
				time.Sleep(2 * time.Second)
				status, body = b.Post(at[n-1], "/chat/stream", answer, "Idempotency-Key", "answer-0001")
				if status != http.StatusOK {
					t.Errorf("%d %s", status, body)
				}
				time.Sleep(time.Minute)
				for _, p := range at {
					status, body := b.Answer(p, token, `"action":"approve"`)
					b.refused(status, body, http.StatusConflict, "approval_used")
				}
				b.wantPaid(1)
			})
		})
	}
}
