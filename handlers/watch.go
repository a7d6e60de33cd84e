package handlers

import (
	"time"

	"sluice/internal/base/fault"
	"sluice/internal/edge/access"
)

// Streams that only watch end with their credential.

// lookAtCredential is how often it is looked at whether a watcher may still watch.
const lookAtCredential = 5 * time.Second

// errCredentialEnded is the cause of a stream's end.
var errCredentialEnded = &fault.Error{Type: fault.Unauthorized, Message: "The credential has ended"}

// whileMay calls cut when the sender would not be let in any more. The caller must call stop.
func (s *senders) whileMay(who *access.Identity, of rule, cut func(cause error)) (stop func()) {
	if who == nil {
		return func() {}
	}
	ended, over := make(chan struct{}), make(chan struct{})
	// Goroutine (whileMay): looks whether the sender of a stream that only watches may still watch.
	// Ends: it may not, or the stream is over.
	// Waits: the stream, whose end stops it.
	go func() {
		defer close(over)
		s.watchSender(who, of, ended, cut)
	}()
	return func() { close(ended); <-over }
}

// watchSender is the loop of whileMay.
func (s *senders) watchSender(who *access.Identity, of rule, ended <-chan struct{}, cut func(cause error)) {
	for {
		wait := lookAtCredential
		if !who.Ends.IsZero() {
			left := time.Until(who.Ends)
			if left <= 0 {
				cut(errCredentialEnded)
				return
			}
			wait = min(wait, left)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ended:
			timer.Stop()
			return
		case <-timer.C:
		}
		if now := *who; !s.mayStill(&now, of) { // a copy: identities are shared
			cut(errCredentialEnded)
			return
		}
	}
}
