package loadtest

import (
	"sync"
	"time"
)

// breather is how long a client of a closed loop waits when it was not let in: a
// gateway that is gone or full would else be asked some ten thousand times a second.
const breather = 100 * time.Millisecond

// closedLoop runs the clients and returns when their last streams have ended.
func (r *runner) closedLoop() {
	var clients sync.WaitGroup
	for range r.cfg.Clients {
		clients.Go(func() {
			for {
				n, ok := r.claimTurn()
				if !ok || !r.mayBegin(time.Now()) {
					return
				}
				o := r.runTurn(n, time.Now())
				if o.isNotAdmitted() && !r.sleepUntil(time.Now().Add(breather)) {
					return
				}
			}
		})
	}
	clients.Wait()
}

// openLoop begins turns by the clock and returns when their last streams have ended. Turns that
// fell due while this goroutine was kept from running begin at once, and their latency counts from
// when they were due.
func (r *runner) openLoop() {
	var streams sync.WaitGroup
	defer streams.Wait()
	places := make(chan struct{}, r.cfg.MaxInFlight)
	for {
		n, ok := r.claimTurn()
		due := r.begin.Add(time.Duration(float64(n) / r.cfg.Rate * float64(time.Second)))
		if !ok || !r.mayBegin(due) || !r.sleepUntil(due) {
			return
		}
		select {
		case places <- struct{}{}:
		default:
			r.tally.dropped.Add(1)
			continue
		}
		streams.Go(func() {
			defer func() { <-places }()
			r.runTurn(n, due)
		})
	}
}

// claimTurn returns the number of the next turn. ok is false after the last one.
func (r *runner) claimTurn() (n int, ok bool) {
	n = int(r.next.Add(1) - 1)
	return n, r.cfg.Turns == 0 || n < r.cfg.Turns
}

// mayBegin reports whether a turn that is due at t is part of the run.
func (r *runner) mayBegin(t time.Time) bool {
	return !r.isStopped() && (r.until.IsZero() || t.Before(r.until))
}

// isStopped reports whether the run is to end early: Config.Stop is closed, or ctx ended.
func (r *runner) isStopped() bool {
	select {
	case <-r.cfg.Stop:
		return true
	case <-r.ctx.Done():
		return true
	default:
		return false
	}
}

// sleepUntil returns false if the run is stopped.
func (r *runner) sleepUntil(t time.Time) bool {
	wait := time.Until(t)
	if wait <= 0 {
		return !r.isStopped()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.cfg.Stop:
		return false
	case <-r.ctx.Done():
		return false
	}
}
