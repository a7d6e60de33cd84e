package jwt

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/rs/zerolog"

	"sluice/internal/base/telemetry/health"
)

const (
	keysLast    = 24 * time.Hour   // how long the last good set serves
	firstRetry  = 30 * time.Second // after a read that failed; doubled up to
	lastRetry   = 5 * time.Minute
	quietTime   = 30 * time.Second // after a fetch that a token asked for: none
	waitForKeys = 2 * time.Second  // the longest wait of a request for a fetch
)

// issuer is who signs tokens, with the keys as they were read last.
type issuer struct {
	spec       Spec
	algorithms []jose.SignatureAlgorithm
	source     source
	log        zerolog.Logger
	count      func(outcome string) // of fetches
	wake       chan struct{}        // of capacity 1: a token asks for a fetch

	mu       sync.Mutex    // guards the fields below
	set      *keySet       // nil: none was read yet
	readAt   time.Time     // when set was read, or found to be unchanged
	nextAt   time.Time     // when the next read is due
	quiet    time.Time     // until then no token causes a fetch
	flight   chan struct{} // closed at the end of the requested or running fetch; nil without one
	failures int           // reads that failed since the last good one
}

// prepareKeys reads the keys if they are in a file. Otherwise requests wait for the first fetch.
func (i *issuer) prepareKeys(ctx context.Context) error {
	if i.source.isRemote() {
		i.flight = make(chan struct{})
		return nil
	}
	if err := i.refreshKeys(ctx); err != nil {
		return fmt.Errorf("issuer %q: %w", i.spec.Issuer, err)
	}
	return nil
}

// currentKeys returns the keys to verify with, or nil if they were never read or are too old.
func (i *issuer) currentKeys() *keySet {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.set == nil || time.Since(i.readAt) > keysLast {
		return nil
	}
	return i.set
}

// isCurrent reports whether tokens that were verified by set still are.
func (i *issuer) isCurrent(set *keySet) bool { return i.currentKeys() == set }

// requestFetch waits for the fetch that runs, or starts one. It returns at once if the keys are not
// fetched at all, or if a token has caused a fetch lately. ctx ends soon, as requests hold places.
func (i *issuer) requestFetch(ctx context.Context) {
	i.mu.Lock()
	if i.flight == nil && (!i.source.isRemote() || time.Now().Before(i.quiet)) {
		i.mu.Unlock()
		return
	}
	if i.flight == nil {
		i.flight = make(chan struct{})
		i.wake <- struct{}{}
	}
	flight := i.flight
	i.quiet = time.Now().Add(quietTime)
	i.mu.Unlock()
	waitFlight(ctx, flight)
}

// awaitFetch waits for a fetch that runs already: the first one, for one.
func (i *issuer) awaitFetch(ctx context.Context) {
	i.mu.Lock()
	flight := i.flight
	i.mu.Unlock()
	if flight != nil {
		waitFlight(ctx, flight)
	}
}

// waitFlight waits for the end of a fetch.
func waitFlight(ctx context.Context, flight <-chan struct{}) {
	select {
	case <-flight:
	case <-ctx.Done():
	}
}

// runRefresh reads the keys again and again, when they are due or a token asks.
func (i *issuer) runRefresh(ctx context.Context) {
	timer := time.NewTimer(time.Until(i.nextRead()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.wake:
		case <-timer.C:
		}
		i.refreshKeys(ctx)
		timer.Reset(time.Until(i.nextRead()))
	}
}

func (i *issuer) nextRead() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.nextAt
}

// beginFetch marks that a fetch runs. The requested fetch, if any, is this one.
func (i *issuer) beginFetch() {
	i.mu.Lock()
	defer i.mu.Unlock()
	select {
	case <-i.wake:
	default:
	}
	if i.flight == nil {
		i.flight = make(chan struct{})
	}
}

// refreshKeys reads the keys once. A set is replaced by a whole good one alone.
func (i *issuer) refreshKeys(ctx context.Context) error {
	i.beginFetch()
	set, again, err := i.source.readKeys(ctx)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	changed, noteworthy := i.endFetch(set, again, err)
	switch keys := i.healthState().Keys; {
	case ctx.Err() != nil: // the process ends
	case err != nil:
		i.count("failed")
		if noteworthy {
			i.log.Warn().Dict("details", zerolog.Dict().Str("issuer", i.spec.Issuer).Int("keys", keys).Str("cause", err.Error())).Msg("jwks_failed")
		}
	default:
		i.count("ok")
		if noteworthy {
			i.log.Info().Dict("details", zerolog.Dict().Str("issuer", i.spec.Issuer).Int("keys", keys).Bool("changed", changed)).Msg("jwks_refreshed")
		}
	}
	return err
}

// endFetch takes over the result of a read: a set, or an error. It reports whether the keys are
// others than before, and whether that is worth a line: a file is looked at too often for one each
// time.
func (i *issuer) endFetch(set *keySet, again time.Duration, err error) (changed, noteworthy bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	close(i.flight)
	i.flight = nil
	if now.Before(i.quiet) { // a token has asked, and the fetch took its time
		i.quiet = now.Add(quietTime)
	}
	if err != nil {
		return false, i.recordFailure(now, again)
	}
	changed, noteworthy = i.set == nil || i.set.text != set.text, i.failures > 0 || i.source.isRemote()
	if changed {
		i.set = set // tokens that the former set verified have to be verified again
	}
	i.readAt, i.failures, i.nextAt = now, 0, now.Add(again)
	return changed, changed || noteworthy
}

// recordFailure counts a read that brought nothing, and reports whether that is worth a line. The
// caller must hold mu.
func (i *issuer) recordFailure(now time.Time, again time.Duration) (noteworthy bool) {
	if again == 0 {
		again = min(firstRetry<<min(i.failures, 8), lastRetry)
	}
	i.failures++
	i.nextAt = now.Add(again)
	return i.failures == 1 || i.source.isRemote()
}

// healthState returns what /readyz shows of the issuer.
func (i *issuer) healthState() health.Issuer {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := health.Issuer{Issuer: i.spec.Issuer, State: health.KeysUnavailable}
	if i.set == nil {
		return s
	}
	age := time.Since(i.readAt)
	seconds := int64(age.Seconds())
	s.Keys, s.AgeS = len(i.set.keys), &seconds
	switch {
	case age > keysLast:
	case i.failures > 0:
		s.State = health.KeysStale
	default:
		s.State = health.KeysFresh
	}
	return s
}

// retryAfter says when it makes sense to ask again, from a second to a minute.
func (i *issuer) retryAfter() time.Duration {
	return min(max(time.Until(i.nextRead()), time.Second), time.Minute)
}
