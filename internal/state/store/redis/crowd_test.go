//go:build unix

package redis_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/state/store"
)

// More commands at once than connections can carry in time are our own shortage: some are
// not sent, but the breaker learns of no failure, so those behind them find the store.
func TestCrowdIsNoOutage(t *testing.T) {
	t.Parallel()
	const commands, each, limit = 400, 200 * time.Millisecond, 2 * time.Second
	server := start(t)
	slow := filepath.Join(t.TempDir(), "s")
	delay(t, slow, server.Socket, each)
	var failures atomic.Int64
	s := openWith(t, store.Location{Kind: store.Redis, Addrs: []string{slow}, Socket: true}, store.CallsConfig{
		Timeout: limit,
		Allow: func(context.Context) (func(store.Verdict, error), error) {
			return func(v store.Verdict, _ error) {
				if v == store.Ill {
					failures.Add(1)
				}
			}, nil
		}})
	var wg sync.WaitGroup
	var crowded atomic.Int64
	for range commands {
		wg.Go(func() {
			if _, err := s.Task(t.Context(), "a"); errors.Is(err, store.ErrUnavailable) {
				crowded.Add(1)
			}
		})
	}
	wg.Wait()
	if crowded.Load() == 0 {
		t.Error("all commands were sent: this test shows nothing")
	}
	if n := failures.Load(); n > 0 {
		t.Errorf("the breaker heard of %d failures", n)
	}
	if _, err := s.Task(t.Context(), "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the one behind them: %v", err)
	}
}
