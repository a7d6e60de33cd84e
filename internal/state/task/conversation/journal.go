// This file writes conversations: a record, and a list of turns. Readers are in view.go.

package conversation

import (
	"context"
	"errors"
	"sync"
	"time"

	"sluice/internal/state/store"
)

// Defaults of a JournalSpec.
const (
	defaultLife     = 30 * 24 * time.Hour
	defaultMaxTurns = 500
)

// Bounds of the list of turns. It may grow by a slack beyond them, so that it is cut only now and
// then. Readers pass over the surplus.
const (
	maxListBytes = 8 << 20
	slackTurns   = 16
	slackBytes   = 512 << 10
)

// tries bounds the attempts to change a record that others change meanwhile.
const tries = 32

// JournalStore has the methods of a store that a Journal needs.
type JournalStore interface {
	store.Values
	store.Lists
	store.Indexes
	Task(ctx context.Context, id string) (store.Task, error)
}

// JournalConfig describes a Journal. Store is required.
type JournalConfig struct {
	Store JournalStore
	// Memory shows models the earlier turns; nil: each turn stands alone.
	Memory *Memory
	// OmitCalls leaves the calls of tools out.
	OmitCalls bool
	// Later has check called until the store answers. It may be called again after that. nil: a
	// turn that the store does not take is lost.
	Later func(check func(context.Context) error)
	JournalSpec
}

// Journal keeps conversations: all turns of all front ends in one record and one list each. Memory,
// ChatKit's threads and the HTTP API are views of it. It is safe for concurrent use, in any number
// of processes. Use NewJournal.
type Journal struct {
	cfg JournalConfig
	// apart makes one step of the writes of a turn and of its record for an engine that cannot. That
	// engine is of this process alone.
	apart sync.Mutex
}

// NewJournal returns a Journal.
func NewJournal(cfg JournalConfig) *Journal {
	if cfg.TTL == 0 {
		cfg.TTL = defaultLife
	}
	if cfg.MaxTurns == 0 {
		cfg.MaxTurns = defaultMaxTurns
	}
	return &Journal{cfg: cfg}
}

// name names a conversation: that of an owner (chat.Request.Owner) in a tenant.
type name struct{ tenant, owner, id string }

func (n name) recordKey() string { return store.ConversationKey(n.tenant, n.owner, n.id) }
func (n name) turnsKey() string  { return store.ConversationTurnsKey(n.tenant, n.owner, n.id) }
func (n name) itemsKey() string  { return store.ConversationItemsKey(n.tenant, n.owner, n.id) }
func (n name) indexKey() string  { return store.ConversationsKey(n.tenant, n.owner) }

// current is the record of a conversation as a process has last seen it.
type current struct {
	name
	header
	version int64 // 0: there is no record
}

// errGone says that the conversation was deleted meanwhile.
var errGone = errors.New("conversation deleted")

// loadRecord returns the record of a conversation; its version is 0 without one.
func (j *Journal) loadRecord(ctx context.Context, n name) (*current, error) {
	v, err := j.cfg.Store.Value(ctx, n.recordKey())
	if errors.Is(err, store.ErrNotFound) {
		return &current{name: n}, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := readHeader(v.Data)
	if err != nil {
		return nil, err
	}
	return &current{n, h, v.Version}, nil
}

// changeRecord makes a compare-and-set of the record by write, which gets the new record and returns the
// value that the store has then. If others were faster, it is tried with their record. errGone: the
// conversation was deleted.
func (j *Journal) changeRecord(c *current, edit func(*header), write func(store.Value) (store.Value, error)) error {
	for range tries {
		next := c.cloneHeader()
		edit(&next)
		there, err := write(store.Value{Data: next.encode(), Version: c.version})
		if err == nil {
			c.header, c.version = next, there.Version
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := c.adoptRecord(there); err != nil {
			return err
		}
	}
	return store.ErrConflict
}

// adoptRecord takes over the record of another writer.
func (c *current) adoptRecord(v store.Value) error {
	if v.Version == 0 {
		return errGone
	}
	h, err := readHeader(v.Data)
	if err != nil {
		return err
	}
	if c.version != 0 && h.Life != c.Life {
		return errGone
	}
	c.header, c.version = h, v.Version
	return nil
}

// putRecord returns a write of changeRecord that replaces the record alone.
func (j *Journal) putRecord(ctx context.Context, n name) func(store.Value) (store.Value, error) {
	key := n.recordKey()
	return func(v store.Value) (store.Value, error) { return j.cfg.Store.PutValue(ctx, key, v, j.cfg.TTL) }
}

// beginTurn records that a turn with an input begins, and makes the record of a new conversation. The
// edit may add other facts.
func (j *Journal) beginTurn(ctx context.Context, n name, input string, edit func(*header)) (*current, error) {
	c, err := j.loadRecord(ctx, n)
	if err != nil {
		return nil, err
	}
	fresh := c.version == 0
	first := newHeader(input, time.Now())
	err = j.changeRecord(c, func(h *header) {
		if c.version == 0 {
			*h = first
		}
		edit(h)
	}, j.putRecord(ctx, n))
	if err == nil && fresh {
		err = j.putIndex(ctx, c)
	}
	return c, err
}

// putIndex puts a conversation among those of its owner, by its last turn.
func (j *Journal) putIndex(ctx context.Context, c *current) error {
	return j.cfg.Store.PutIndex(ctx, c.indexKey(), store.Member{ID: c.id, Score: c.Updated}, j.cfg.TTL)
}

// appendTurn adds a turn that has ended. A conversation that was deleted meanwhile stays deleted. After
// an error a second try adds the turn once more only if the engine cannot write all in one step;
// readers then pass over the repetition.
func (j *Journal) appendTurn(ctx context.Context, c *current, t *turn) error {
	if c.version == 0 { // the store was unavailable when the turn began
		fresh, err := j.beginTurn(ctx, c.name, t.Input, func(*header) {})
		if err != nil {
			return err
		}
		*c = *fresh
	}
	err := j.appendOnce(ctx, c, t)
	if errors.Is(err, errGone) || errors.Is(err, store.ErrNotFound) { // its task was removed
		return nil
	}
	return err
}

// appendOnce is appendTurn for a conversation with a record.
func (j *Journal) appendOnce(ctx context.Context, c *current, t *turn) error {
	if err := j.checkNotForgotten(ctx, t); err != nil {
		return err
	}
	if err := j.cfg.Store.PutIndex(ctx, c.indexKey(), store.Member{ID: c.id, Score: max(c.Updated, t.Ended)}, j.cfg.TTL); err != nil {
		return err
	}
	together, ok := j.cfg.Store.(store.Together)
	var err error
	if ok && !j.isFull(c, t) {
		err = j.appendTogether(ctx, c, t, together)
	} else {
		err = j.appendApart(ctx, c, t)
	}
	if errors.Is(err, errGone) {
		err = errors.Join(err, j.correctIndex(ctx, c.name))
	}
	return err
}

// correctIndex corrects the index for a conversation that was deleted, and may have begun again.
func (j *Journal) correctIndex(ctx context.Context, n name) error {
	now, err := j.loadRecord(ctx, n)
	switch {
	case err != nil:
		return err
	case now.version == 0:
		return j.cfg.Store.RemoveIndex(ctx, n.indexKey(), n.id)
	}
	return j.putIndex(ctx, now)
}

// checkNotForgotten returns errGone if the task of a cancelled turn is not there any more: then its
// conversation was deleted, and may have begun again.
func (j *Journal) checkNotForgotten(ctx context.Context, t *turn) error {
	if t.Task == "" || t.Cut == "" {
		return nil
	}
	_, err := j.cfg.Store.Task(ctx, t.Task)
	if errors.Is(err, store.ErrNotFound) {
		return errGone
	}
	return err
}

// isFull reports whether a turn does not fit into the list without a cut.
func (j *Journal) isFull(c *current, t *turn) bool {
	return c.Turns >= j.cfg.MaxTurns+slackTurns || c.Bytes+len(t.Input)+len(t.Answer) >= maxListBytes+slackBytes
}

// appendTogether writes the turn and the record in one step.
func (j *Journal) appendTogether(ctx context.Context, c *current, t *turn, in store.Together) error {
	items := []store.Pushed{{Key: c.turnsKey()}}
	key := c.recordKey()
	return j.changeRecord(c, func(h *header) {
		t.setParent(h)
		items[0].Item = t.encode()
		j.countTurn(h, t, len(items[0].Item))
	}, func(v store.Value) (store.Value, error) {
		if c.Head == t.ID { // an earlier try, whose answer was lost
			return store.Value{Version: c.version}, nil
		}
		return in.PushAndPut(ctx, items, key, v, j.cfg.TTL)
	})
}

// appendApart writes the turn, then the record. A full list loses its oldest turns, and is measured.
func (j *Journal) appendApart(ctx context.Context, c *current, t *turn) error {
	j.apart.Lock()
	defer j.apart.Unlock()
	there, err := j.cfg.Store.Value(ctx, c.recordKey())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := c.adoptRecord(there); err != nil {
		return err
	}
	t.setParent(&c.header)
	item := t.encode()
	bounds := store.Bounds{Task: t.Task}
	full := j.isFull(c, t)
	if full {
		bounds.Items, bounds.Bytes = j.cfg.MaxTurns, maxListBytes
	}
	if err := j.cfg.Store.PushList(ctx, c.turnsKey(), item, bounds, j.cfg.TTL); err != nil {
		return err
	}
	turns, bytes := 0, 0
	if full {
		items, err := j.cfg.Store.List(ctx, c.turnsKey(), 0, 0)
		if err != nil {
			return err
		}
		for _, item := range items {
			turns, bytes = turns+1, bytes+len(item)
		}
	}
	return j.changeRecord(c, func(h *header) {
		j.countTurn(h, t, len(item))
		if full {
			h.Turns, h.Bytes = turns, bytes
		}
	}, j.putRecord(ctx, c.name))
}

// setParent sets the parent of a turn whose request named none.
func (t *turn) setParent(h *header) {
	if !t.Forked {
		t.After = h.Head
	}
}

// countTurn counts an appended turn.
func (j *Journal) countTurn(h *header, t *turn, bytes int) {
	h.addTurn(t, bytes)
	h.Truncated = h.Truncated || h.Turns > j.cfg.MaxTurns || h.Bytes > maxListBytes
}

// Forget removes a conversation of an owner, with all its turns. It reports how many turns there
// were, and whether there was a conversation.
func (j *Journal) Forget(ctx context.Context, tenant, owner, conversation string) (turns int, found bool, err error) {
	j.apart.Lock()
	defer j.apart.Unlock()
	n := name{tenant, owner, conversation}
	c, err := j.loadRecord(ctx, n)
	switch {
	case err == nil:
		turns, found = min(c.Turns, j.cfg.MaxTurns), c.version != 0
	case !errors.Is(err, store.ErrDamaged):
		return 0, false, err
	}
	return turns, found, errors.Join( // the record first: then no turn can be appended
		j.cfg.Store.DeleteValue(ctx, n.recordKey()),
		j.cfg.Store.DeleteList(ctx, n.turnsKey()),
		j.cfg.Store.DeleteList(ctx, n.itemsKey()),
		j.cfg.Store.RemoveIndex(ctx, n.indexKey(), conversation))
}

// appendLater has the turn appended when the store answers again. It is appended once.
func (j *Journal) appendLater(c *current, t *turn) {
	if j.cfg.Later == nil {
		return
	}
	done := false
	j.cfg.Later(func(ctx context.Context) error {
		if done {
			return nil
		}
		err := j.appendTurn(ctx, c, t)
		done = err == nil
		return err
	})
}
