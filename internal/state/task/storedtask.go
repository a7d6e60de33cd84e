package task

import (
	"errors"
	"time"

	"sluice/internal/state/store"
)

// storedTask is the task of a turn. doc is the document that the store has as of version, until the
// turn ends. Then it becomes the final one, once, whatever number of tries its write takes.
type storedTask struct {
	doc     *document
	version int64 // of the task, as this process wrote it

	final     []byte        // the document at the end; nil: the turn has not ended
	long      []byte        // texts of the final document that the store does not have yet
	state     string        // of the task at the end
	ttl       time.Duration // for how long the store keeps the task by itself
	shortened bool          // final is without the answer
	unsure    bool          // the store may have final
	questions []string      // that the task had before its last state
}

// makeFinal makes the final document.
func (k *storedTask) makeFinal(of *identity, answer *answer) {
	k.questions = k.doc.Status.Approvals
	k.state = Canceled // its client left, and the turn with it
	if answer.Done != nil {
		k.state = stateOf(answer.Reason())
	}
	k.doc.endTurn(k.state, answer, of.id, time.Now(), of.store.cfg.MaxHistory)
	k.final, k.long = k.doc.encodeStored()
}

// writeFinal writes the task's last state. It returns false if the store is unavailable, or lacks
// room even for a document without the answer.
func (k *storedTask) writeFinal(of *identity, answer *answer) bool {
	if k.final == nil {
		k.makeFinal(of, answer)
	}
	err := k.storeFinal(of, answer)
	if err == nil {
		k.reportFinal(of)
	}
	if errors.Is(err, store.ErrFull) && !k.shortened {
		k.shortened = true
		k.doc.dropAnswer(of.id)
		k.final, k.long = k.doc.encodeStored()
		return k.writeFinal(of, answer)
	}
	return !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrFull)
}

// storeFinal tries once to write the final document.
func (k *storedTask) storeFinal(of *identity, answer *answer) error {
	err := k.prepareFinal(of, answer)
	if err == nil {
		last := k.finalTask(of)
		err = of.store.confirmWrite(of.ctx, of.task, last, of.store.cfg.Store.UpdateTask(of.ctx, of.task, last, k.ttl))
		if k.unsure && errors.Is(err, store.ErrConflict) && of.store.isWritten(of.ctx, of.task, last) {
			err = nil
		}
		k.unsure = k.unsure || isUnknown(err)
	}
	return of.store.recordOutage(err)
}

// prepareFinal writes the records that must precede the final document: its time of removal, and
// its long texts.
func (k *storedTask) prepareFinal(of *identity, answer *answer) error {
	err := k.setLifetime(of, answer)
	if err == nil {
		err = of.store.storeLong(of.ctx, k.doc, k.long, k.ttl)
	}
	if err == nil {
		k.long = nil
	}
	return err
}

// setLifetime decides how long the store keeps the task by itself. A run that waits for a person does
// not expire: it ends its wait itself.
func (k *storedTask) setLifetime(of *identity, answer *answer) (err error) {
	if of.durable && k.state == InputRequired {
		k.ttl = 0
		return nil
	}
	k.ttl, err = of.store.scheduleRemoval(of.ctx, of.task, k.doc, answer.longestWait())
	return err
}

// finalTask returns the task as the turn leaves it.
func (k *storedTask) finalTask(of *identity) store.Task {
	return store.Task{Doc: k.final, Meta: store.Meta{Version: k.version, Turn: of.id, State: k.state}, Side: of.dropSaved()}
}

// reportFinal reports the task's last state, after the store has it.
func (k *storedTask) reportFinal(of *identity) {
	s := of.store
	s.reportState(of.ctx, of.task, Working, k.state)
	if of.durable && k.state != InputRequired {
		_ = s.cfg.Runs.Finish(of.ctx, of.task)
		s.withdrawQuestions(of.ctx, k.questions)
	}
}
