package store

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"
)

// How often Follow looks unasked, as signals can be lost, and how long it waits for a
// store that is unavailable before it looks again.
const (
	lookEvery  = 5 * time.Second
	retryEvery = 500 * time.Millisecond
)

// piece is how many entries Follow reads at once.
const piece = 200

// Follow returns the entries of a turn's log behind after, and then those that come, as they come.
// It does not know the last entry: the caller ends the loop. It ends by itself with an error that
// comes alone and last: ErrNotFound if the log does not exist (any more), or the error of ctx. It
// waits while the store is unavailable.
func Follow(ctx context.Context, s interface {
	ReadLog(ctx context.Context, turn string, after, limit int) ([]Entry, error)
	Watch(topic string) *Watch
}, turn string, after int) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := s.Watch(LogTopic(turn))
		defer w.Stop()
		for {
			entries, err := s.ReadLog(ctx, turn, after, piece)
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
				after = e.N
			}
			switch {
			case ctx.Err() != nil:
				yield(Entry{}, context.Cause(ctx))
				return
			case err != nil && !errors.Is(err, ErrUnavailable):
				yield(Entry{}, err)
				return
			case len(entries) == piece:
				continue
			}
			awaitNews(ctx, w, err != nil)
		}
	}
}

// awaitNews returns when there may be something to read.
func awaitNews(ctx context.Context, w *Watch, failed bool) {
	d := lookEvery
	signal := w.C
	if failed {
		d, signal = retryEvery, nil // signals would make it ask without a pause
	}
	timer := time.NewTimer(d - d/5 + rand.N(2*d/5)) // many readers do not ask at once
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-signal:
	case <-timer.C:
	}
}
