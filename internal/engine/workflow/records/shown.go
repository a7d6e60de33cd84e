package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/engine/workflow/engine"
	"sluice/internal/state/store"
)

// ShownCheckpoint is a checkpoint as people and exports read it, with the whole state. A store has
// each message once.
type ShownCheckpoint struct {
	ID            string       `json:"checkpoint_id"`
	TaskID        string       `json:"task_id"`
	State         engine.State `json:"state"`
	Position      string       `json:"position"`
	Sequence      int          `json:"sequence"`
	CreatedAt     time.Time    `json:"created_at"`
	AwaitingHuman bool         `json:"awaiting_human"`
	Status        string       `json:"status"`
	Frontier      []ShownOpen  `json:"frontier"` // never nil
}

// ShownOpen is a node that was open at a checkpoint.
type ShownOpen struct {
	Node    string `json:"node"`
	Input   string `json:"input,omitempty"` // what its agent is asked; empty: it is not an agent's
	Attempt int    `json:"attempt"`
	Round   int    `json:"round"`
}

// ShownRun is a run that was read to be shown. A single goroutine uses it.
type ShownRun struct {
	run  *engine.Run
	list []engine.Checkpoint
}

// LoadShown reads a run to show its checkpoints; nothing is claimed or changed. If the task has no
// run, its error wraps store.ErrNotFound; otherwise ErrVersion, engine.ErrGone, store.ErrDamaged or
// store.ErrUnavailable.
func (s *RunStore) LoadShown(ctx context.Context, id string) (*ShownRun, error) {
	for try := 0; ; try++ {
		shown, err := s.tryLoadShown(ctx, id)
		// The record and its lists are read one after the other. If the run continues in between,
		// the lists have more than the record says: this is not damage.
		if !errors.Is(err, engine.ErrRun) || try == 2 {
			return shown, err
		}
	}
}

// tryLoadShown is one try. It reads the record first: the lists can only have more than it counts
// by the time they are read.
func (s *RunStore) tryLoadShown(ctx context.Context, id string) (*ShownRun, error) {
	at, err := s.readRecord(ctx, id)
	if err != nil {
		return nil, err
	}
	run := &engine.Run{Header: at.record.Header, Progress: at.record.Progress}
	list, ended, err := s.readCheckpoints(ctx, id, &at.record)
	if err == nil {
		run.Ended = ended
		run.Messages, err = s.readMessages(ctx, id, &at.record)
	}
	if err != nil {
		return nil, err
	}
	w, err := s.loadDefinition(ctx, run.Header.Definition)
	if err != nil {
		return nil, err
	}
	return &ShownRun{run, list}, run.Join(w)
}

// Len returns how many checkpoints the run has. Their numbers are 0 to Len-1.
func (r *ShownRun) Len() int { return len(r.list) }

// Checkpoint returns one of them. Its error wraps store.ErrNotFound, or engine.ErrRun if counted
// items are missing.
//
// The state is computed from the beginning of the lists, so that it costs time in
// proportion to the run's length up to there.
func (r *ShownRun) Checkpoint(ctx context.Context, sequence int) (*ShownCheckpoint, error) {
	if sequence < 0 || sequence >= len(r.list) {
		return nil, fmt.Errorf("checkpoint %d: %w", sequence, store.ErrNotFound)
	}
	c := &r.list[sequence]
	if c.EndedCount > len(r.run.Ended) || c.MessageCount > len(r.run.Messages) {
		return nil, fmt.Errorf("%w: it lacks what checkpoint %d counts", engine.ErrRun, sequence)
	}
	then := r.run.As(c)
	shown := &ShownCheckpoint{
		ID: c.ID, TaskID: c.TaskID, State: then.State(), Position: c.Position, Sequence: c.Sequence, CreatedAt: c.CreatedAt,
		AwaitingHuman: c.AwaitingHuman, Status: c.Status, Frontier: []ShownOpen{},
	}
	for _, o := range c.Progress.Frontier {
		shown.Frontier = append(shown.Frontier, ShownOpen{o.Node, then.Input(ctx, o.Node), o.Attempt, o.Round})
	}
	return shown, nil
}
