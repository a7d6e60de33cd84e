// This file claims approvals of turns without a task. If the store loses the answer to a claim, the
// process stores the claim again, which then meets itself. If the store does not answer that
// either, the turn does not run. The process then releases the claim, so that a person can answer
// again.

package approval

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"sluice/internal/state/store"
)

const (
	// claimTries is how often a claim is stored. A conflict with a released claim needs another attempt.
	claimTries = 8
	// releaseEvery is the pause between attempts to release a claim, until the store answers.
	releaseEvery = 500 * time.Millisecond
	// useGrace is how long a process remembers a use after its expiry. An answer may have been checked in time and wait
	// since then.
	useGrace = time.Hour
	// maxReleases bounds the claims that this process releases at the same time.
	maxReleases = 4096
)

// use is a claim of this process. It runs, or has succeeded.
type use struct {
	until   time.Time
	settled chan struct{} // closed when taken is valid
	taken   bool          // the claim has succeeded
}

// reserveUse returns a use that the caller must settle. Other callers wait until then. They get alreadyUsed if the
// claim has succeeded.
func (s *Service) reserveUse(ctx context.Context, r *record) (*use, error) {
	for {
		s.mu.Lock()
		u, ok := s.used[r.ID]
		if !ok {
			s.forgetExpired()
			u = &use{until: r.expiryTime().Add(useGrace), settled: make(chan struct{})}
			s.used[r.ID] = u
		}
		s.mu.Unlock()
		if !ok {
			return u, nil
		}
		select {
		case <-u.settled:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if u.taken {
			return nil, alreadyUsed()
		}
	}
}

// forgetExpired removes uses of expired tokens, on every 64th call or so. The caller must hold s.mu.
func (s *Service) forgetExpired() {
	if len(s.used)%64 != 63 {
		return
	}
	now := time.Now()
	for id, u := range s.used {
		if now.After(u.until) {
			delete(s.used, id)
		}
	}
}

// endUse ends a use. Without taken the record can be claimed again.
func (s *Service) endUse(r *record, u *use, taken bool) {
	s.mu.Lock()
	if u.taken = taken; !taken {
		delete(s.used, r.ID)
	}
	s.mu.Unlock()
	close(u.settled)
}

// claimRecord marks a record as used. If several answers come at the same time, one succeeds and the others get alreadyUsed.
// With a store this holds for all its processes. Without a store it holds for this process, and c is nil.
func (s *Service) claimRecord(ctx context.Context, r *record) (c *claim, err error) {
	u, err := s.reserveUse(ctx, r)
	if err != nil {
		return nil, err
	}
	taken := false
	defer func() { s.endUse(r, u, taken) }()
	if s.cfg.Store != nil {
		c = &claim{service: s, record: r, id: s.name + "." + newID()}
		err = c.storeClaim(ctx)
	}
	taken = err == nil
	return c, err
}

// releaseUse releases a claim whose turn does not run. c may be nil.
func (s *Service) releaseUse(r *record, c *claim) {
	s.mu.Lock()
	delete(s.used, r.ID)
	s.mu.Unlock()
	if c != nil {
		c.startRelease()
	}
}

// claim is one attempt to mark a record of the store as used.
type claim struct {
	service *Service
	record  *record
	id      string
	version int64 // of the record that the claim replaces
}

// putStored stores data in place of a version. After a conflict there and kept are the present record.
func (c *claim) putStored(ctx context.Context, data stored, version int64) (there store.Value, kept stored, err error) {
	data.Remainder = c.record.remainder()
	text, _ := json.Marshal(data)
	there, err = c.service.cfg.Store.PutValue(ctx, store.ApprovalKey(c.record.ID), store.Value{Data: text, Version: version}, time.Until(c.record.expiryTime())+grace)
	if errors.Is(err, store.ErrConflict) && there.Version != 0 && json.Unmarshal(there.Data, &kept) != nil {
		kept.Used = true
	}
	return there, kept, err
}

// storeClaim stores the claim. It replaces a released record, and a claim of this process: the caller has reserved the
// record, so the turn of that claim does not run.
func (c *claim) storeClaim(ctx context.Context) error {
	var err error
	unknown := 0
	for try := 0; try < claimTries && unknown < 2; try++ {
		var there store.Value
		var kept stored
		if there, kept, err = c.putStored(ctx, stored{Used: true, Claim: c.id}, c.version); err == nil {
			return nil
		}
		switch {
		case !errors.Is(err, store.ErrConflict) && !isUnknown(err):
			try = claimTries
		case isUnknown(err):
			unknown++
		case kept.Claim == c.id:
			return nil
		case kept.Used && !strings.HasPrefix(kept.Claim, c.service.name+"."):
			return alreadyUsed()
		default:
			c.version = there.Version
		}
	}
	if unknown > 0 {
		c.startRelease()
	}
	return unavailableFault(err)
}

// isUnknown reports whether the command that ended with err may have changed something, or may still.
func isUnknown(err error) bool {
	return !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotSent) && !errors.Is(err, store.ErrFull)
}

// startRelease has the store release the claim as soon as it answers. Another process can then claim the record.
func (c *claim) startRelease() {
	s := c.service
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.releases >= maxReleases {
		return
	}
	s.releases++
	// Goroutine (release, one for each claim whose turn does not run): releases the claim of an approval.
	// Ends: the store has answered, or the approval has expired.
	// Waits: nobody: the claim of a process that has ended stays until it expires.
	go func() {
		for time.Now().Before(c.record.expiryTime()) && !c.isReleased() {
			time.Sleep(releaseEvery)
		}
		s.mu.Lock()
		s.releases--
		s.mu.Unlock()
	}()
}

// isReleased stores a released record in place of the claim. A command of the claim that arrives later meets this
// record. isReleased reports whether the store has answered.
func (c *claim) isReleased() bool {
	version := c.version
	for range claimTries {
		there, kept, err := c.putStored(context.Background(), stored{}, version)
		switch {
		case err == nil:
			return true
		case !errors.Is(err, store.ErrConflict):
			return false
		case there.Version != 0 && kept.Claim != c.id:
			return true
		}
		version = there.Version
	}
	return false
}
