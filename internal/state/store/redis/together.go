// This file sends scripts together that several callers want to run at the same time. Each command
// by itself costs a write to the server, a read of its reply and a goroutine that waits for the
// network. In a gateway with many turns these are most of the cost of a stored turn. While few
// scripts are under way, a script does not wait for another one.

package redis

import (
	"context"
	"errors"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"sluice/internal/state/store"
)

const (
	// trips is the number of batches under way at once. Later scripts form the next batch.
	trips = 3
	// maxTogether and maxBytes bound a batch, in scripts and in bytes of their arguments. A batch
	// is smaller than a large command, so a batch that takes too long is judged like a short
	// command.
	maxTogether, maxBytes = 32, 60 << 10
	// alone is from how many bytes on a script waits for no other one, and no other one for it.
	alone = 16 << 10
)

// batches sends waiting scripts as soon as a trip is free. A caller that finds a free trip sends
// its script itself, and alone. Else the one that has waited longest sends the next batch, so that
// no goroutine is needed for it.
type batches struct {
	client *goredis.Client
	calls  *store.Calls

	mu      sync.Mutex // guards the fields below
	under   int        // trips under way
	waiting []*scripted
}

// scripted is a script that one caller runs.
type scripted struct {
	script *goredis.Script
	keys   []string
	args   []any
	size   int
	reply  *goredis.Cmd // once it was sent
	mate   bool         // another caller's goroutine has sent it
	// next gets the batch that the caller sends, or nil when another one has sent the script.
	next chan []*scripted
}

// runScript runs a script, and returns its reply.
func (b *batches) runScript(ctx context.Context, s *scripted) (any, error) {
	batch := b.enqueueOrSend(s)
	if batch == nil {
		select {
		case batch = <-s.next:
		case <-ctx.Done():
			if b.removeWaiting(s) {
				return nil, ctx.Err()
			}
			batch = <-s.next // its arguments are the caller's again once it was sent
		}
	}
	if batch != nil {
		b.sendBatch(ctx, batch)
	}
	reply, err := s.reply.Result()
	if err == nil {
		return reply, nil
	}
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		return s.script.Eval(ctx, b.client, s.keys, s.args...).Result()
	}
	if _, answered := errors.AsType[goredis.Error](err); s.mate && !answered {
		err = store.OfMate(err)
	}
	return nil, err
}

// enqueueOrSend returns the batch that the caller is to send: its own script, if there is a trip for it. Else
// the script waits.
func (b *batches) enqueueOrSend(s *scripted) []*scripted {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.under < trips {
		b.under++
		return []*scripted{s}
	}
	s.next = make(chan []*scripted, 1)
	b.waiting = append(b.waiting, s)
	return nil
}

// removeWaiting takes out a script that waits. It returns false if it is in a batch already.
func (b *batches) removeWaiting(s *scripted) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, one := range b.waiting {
		if one == s {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// sendBatch sends a batch, lets the next one begin, and wakes those whose scripts it has sent.
func (b *batches) sendBatch(ctx context.Context, batch []*scripted) {
	if len(batch) == 1 {
		batch[0].reply = batch[0].script.EvalSha(ctx, b.client, batch[0].keys, batch[0].args...)
		b.passTrip()
		return
	}
	// The others do not end with the caller that sends theirs.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.calls.Timeout())
	defer cancel()
	pipe := b.client.Pipeline()
	for _, s := range batch {
		s.reply = s.script.EvalSha(ctx, pipe, s.keys, s.args...)
	}
	_, _ = pipe.Exec(ctx) // each has its own error
	b.passTrip()
	for _, s := range batch[1:] {
		s.mate = true
		s.next <- nil
	}
}

// passTrip gives the ended trip to the waiting scripts.
func (b *batches) passTrip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.under--
		return
	}
	n, bytes := 0, 0
	for n < min(len(b.waiting), maxTogether) && (n == 0 || bytes+b.waiting[n].size <= maxBytes) {
		bytes += b.waiting[n].size
		n++
	}
	batch := append([]*scripted(nil), b.waiting[:n]...)
	b.waiting = append(b.waiting[:0], b.waiting[n:]...)
	clear(b.waiting[len(b.waiting) : len(b.waiting)+n])
	batch[0].next <- batch
}
