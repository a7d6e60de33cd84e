// This file hands running turns over at the end of their process: another process continues them.

package task

import "time"

// unsafeWait is how long a handover waits for unsafe calls.
const unsafeWait = 2 * time.Second

// HandOver ends the turn here because of cause. A turn that another process can continue is left to
// that process, after its unsafe calls have ended, or a moment later. It returns at once, and may
// be called from any goroutine.
func (t *Turn) HandOver(cause error) {
	if !t.saves {
		t.cancel(cause)
		return
	}
	quiet := t.log.saved.whenSafe()
	// Goroutine (hand-over): waits for calls that must not be made twice, then lets go of a turn.
	// Ends: they have ended, or two seconds later.
	// Waits: nobody: it touches the turn alone, which does nothing once it has ended.
	go func() {
		late := time.NewTimer(unsafeWait)
		defer late.Stop()
		select {
		case <-quiet:
		case <-late.C:
		}
		t.handOver(cause)
	}()
}

// handOver breaks the client's stream off behind the logged events, and ends the run. Events that
// the turn emits afterwards are a consequence of that, and are dropped. A turn ends like any other
// if its log lacks something, or if it is about to end. So does a turn without any emitted event:
// its client does not know an event to come back for.
func (t *Turn) handOver(cause error) {
	defer t.cancel(cause)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rests || t.held || !t.end.state.isOpen() || !t.isFollowed() || t.answer.isOver() {
		return
	}
	if t.appendLog(); !t.end.state.isOpen() || !t.isLogged() {
		return
	}
	t.log.ended = true
	t.end.state.handOver()
	_ = t.client.leaveOff(true)
}

// isFollowed reports whether a client has got events of the turn, and still gets them.
func (t *Turn) isFollowed() bool { return t.log.at != 0 && t.client.next != nil && !t.client.broken }

// isLogged reports whether the log has all emitted events, and can be continued.
func (t *Turn) isLogged() bool {
	return !t.log.ended && t.log.isComplete() && t.log.saved.pending == nil && !t.log.saved.full
}
