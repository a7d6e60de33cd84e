package task

import (
	"errors"
	"time"

	"sluice/internal/state/store"
)

// keeping keeps the document of a turn's task. doc is what the store has as of version, until
// the turn ends: then it is made what the store gets as the last one, once, whatever number of
// tries it takes.
type keeping struct {
	doc     *document
	version int64         // of the task, as this process wrote it
	last    []byte        // the document at the end; nil: the turn has not ended
	long    []byte        // texts for which it has no room, and the store has not yet
	state   string        // of the task at the end
	ttl     time.Duration // for how long the store keeps it by itself
	short   bool          // last is without the answer
	unsure  bool          // the store may have last
	waited  []string      // questions that the task had before its last state
}

// end makes the last document of a turn.
func (k *keeping) end(of *identity, said *answer) {
	k.waited = k.doc.Status.Approvals
	k.state = Canceled // its client left, and the turn with it
	if said.Done != nil {
		k.state = stateOf(said.Reason())
	}
	k.doc.ended(k.state, said, of.id, time.Now(), of.store.cfg.MaxHistory)
	k.last, k.long = k.doc.stored()
}

// settle writes the task's last state. It returns false if the store is unavailable, or
// has no room even for a document without the answer.
func (k *keeping) settle(of *identity, said *answer) bool {
	if k.last == nil {
		k.end(of, said)
	}
	err := k.write(of, said)
	if err == nil {
		k.settled(of)
	}
	if errors.Is(err, store.ErrFull) && !k.short {
		k.short = true
		k.doc.dropAnswer(of.id)
		k.last, k.long = k.doc.stored()
		return k.settle(of, said)
	}
	return !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFull)
}

// write writes the last document.
func (k *keeping) write(of *identity, said *answer) error {
	err := k.prepare(of, said)
	if err == nil {
		last := k.final(of)
		err = of.store.confirmWrite(of.ctx, of.task, last, of.store.cfg.Store.UpdateTask(of.ctx, of.task, last, k.ttl))
		if k.unsure && errors.Is(err, store.ErrConflict) && of.store.isWritten(of.ctx, of.task, last) {
			err = nil
		}
		k.unsure = k.unsure || isUnknown(err)
	}
	return of.store.recordOutage(err)
}

// prepare writes what must be there before the last document: its long texts.
func (k *keeping) prepare(of *identity, said *answer) error {
	err := k.keepFor(of, said)
	if err == nil {
		err = of.store.storeLong(of.ctx, k.doc, k.long, k.ttl)
	}
	if err == nil {
		k.long = nil
	}
	return err
}

// final is the task as the turn leaves it.
func (k *keeping) final(of *identity) store.Task {
	return store.Task{Doc: k.last, Meta: store.Meta{Version: k.version, Turn: of.id, State: k.state}, Side: of.saved()}
}

// settled reports the task's last state.
func (k *keeping) settled(of *identity) {
	s := of.store
	s.reportState(of.ctx, of.task, Working, k.state)
	if of.durable && k.state != InputRequired {
		_ = s.cfg.Runs.Finish(of.ctx, of.task)
		s.withdraw(of.ctx, k.waited)
	}
}

// keepFor decides how long the store keeps the task by itself. One that runs on after a wait
// does not expire: the run ends its wait itself.
func (k *keeping) keepFor(of *identity, said *answer) (err error) {
	if of.durable && k.state == InputRequired {
		k.ttl = 0
		return nil
	}
	k.ttl, err = of.store.scheduleRemoval(of.ctx, of.task, k.doc, said.waits())
	return err
}
