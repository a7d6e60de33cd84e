// Kept is the smallest keeper of a run. It has no bounds, no lease and no expiry, and it
// keeps what the interface asks for: messages and ends grow, the journal has one entry for
// a node, and an intent without a result is of unknown outcome.

package engine

import (
	"context"
	"slices"
	"sync"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/tool"
)

// Kept is Records in this process, for one run: for tests, and to show what others must
// do. It is safe for concurrent use.
type Kept struct {
	mu          sync.Mutex // guards the fields below
	header      Header
	ended       []Ended
	messages    []Message
	checkpoints []Checkpoint
	journal     map[string]*Entry
	intents     map[string]*settled
}

// settled is an intent and what came of it; nil: it is not known.
//
// tries counts how often the call was let through; Intend compares it with Intent.Retries.
type settled struct {
	result *tool.Result
	tries  int
}

// Save implements Records.
func (k *Kept) Save(_ context.Context, c *Checkpoint) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c.Header != nil {
		k.header = *c.Header
	}
	k.ended, k.messages = append(k.ended, c.Ended...), append(k.messages, c.Messages...)
	k.checkpoints = append(k.checkpoints, *c)
	return nil
}

// Wait implements Records.
func (k *Kept) Wait(context.Context, *Progress) error { return nil }

// Journal implements Records.
func (k *Kept) Journal(_ context.Context, e *Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.journal == nil {
		k.journal = map[string]*Entry{}
	}
	k.journal[e.Node] = e
	return nil
}

// Intend implements Records.
func (k *Kept) Intend(_ context.Context, i *Intent) (*tool.Result, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s, made := k.intents[i.Key]; made {
		switch {
		case s.result != nil:
			known := *s.result
			return &known, nil
		case s.tries > i.Retries:
			return nil, ErrUnknown
		}
	}
	if k.intents == nil {
		k.intents = map[string]*settled{}
	}
	k.intents[i.Key] = &settled{tries: 1 + i.Retries}
	return nil, nil
}

// StoreOutcome implements Records.
//
// A failure of unknown effect stays as it is: an intent without a result. The next Intend
// then returns ErrUnknown.
func (k *Kept) StoreOutcome(_ context.Context, i *Intent, result *tool.Result, err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch f := fault.From(err); {
	case f == nil:
		kept := *result
		k.intents[i.Key].result = &kept
	case !f.Unknown && f.NoEffect: // it may be made again
		delete(k.intents, i.Key)
	}
	return nil
}

// Checkpoints returns what was saved.
func (k *Kept) Checkpoints() []Checkpoint {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.checkpoints)
}

// Run returns the run as of its last checkpoint, for another process to continue with.
//
// There must have been a Save. The lists are copies, so that the old run, if it is still
// continuing, changes nothing of the new one.
func (k *Kept) Run(w *graph.Workflow) (*Run, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.checkpoints[len(k.checkpoints)-1]
	r := &Run{Header: k.header, Ended: slices.Clone(k.ended), Messages: slices.Clone(k.messages), Progress: last.Progress}
	r.Progress.Frontier = slices.Clone(r.Progress.Frontier)
	if err := r.Join(w); err != nil {
		return nil, err
	}
	r.TakeOver(func(node string) *Entry { return k.journal[node] }, nil, 0)
	return r, nil
}
