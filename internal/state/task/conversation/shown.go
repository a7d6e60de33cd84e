// This file serves ChatKit, which shows a conversation in its own form. The items of that form
// stand next to the journal's turns.

package conversation

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
)

// Item is an item of a turn, as ChatKit has shown it.
type Item struct {
	ID    string         `json:"id"`
	Turn  string         `json:"turn"`
	Task  string         `json:"-"` // the turn's; after its removal PushItem fails
	Input string         `json:"input,omitzero"`
	Body  jsontext.Value `json:"body"`
}

// ShownTurn is a turn of a conversation.
type ShownTurn struct {
	ID            string
	After         string // its parent, or chat.AfterStart
	IsOnLine      bool   // in the line that ends in the head
	Input, Answer string // Input is empty if the turn continues a paused one
	Began, Ended  time.Time
}

// Transcript is a conversation with all of its turns and items, oldest first.
type Transcript struct {
	Title   string
	Created time.Time
	Updated time.Time
	Turns   []ShownTurn
	Running []string // turns that run, as far as the record knows
	Items   []Item
}

// ReadTranscript returns a conversation; withTurns is false if its turns and items are not needed.
func (j *Journal) ReadTranscript(ctx context.Context, tenant, owner, conversation string, withTurns bool) (*Transcript, error) {
	c, err := j.findRecord(ctx, name{tenant, owner, conversation})
	if err != nil {
		return nil, err
	}
	s := &Transcript{Title: c.currentTitle(), Created: time.UnixMilli(c.Created), Updated: time.UnixMilli(c.Updated)}
	for _, m := range c.Running {
		s.Running = append(s.Running, m.Turn)
	}
	if !withTurns {
		return s, nil
	}
	if err := j.readShownTurns(ctx, c, s); err != nil {
		return nil, fault.NewStoreUnavailable(err)
	}
	items, err := j.cfg.Store.List(ctx, c.itemsKey(), 0, 0)
	if err != nil {
		return nil, fault.NewStoreUnavailable(err)
	}
	for _, data := range items {
		var i Item
		if json.Unmarshal(data, &i, jsontext.AllowInvalidUTF8(true)) == nil && i.ID != "" {
			s.Items = append(s.Items, i)
		}
	}
	return s, nil
}

// readShownTurns fills in the turns.
func (j *Journal) readShownTurns(ctx context.Context, c *current, s *Transcript) error {
	items, err := j.cfg.Store.List(ctx, c.turnsKey(), 0, 0)
	if err != nil {
		return err
	}
	items = items[max(0, len(items)-j.cfg.MaxTurns):]
	t := growTree(items)
	onLine := map[int]bool{}
	for _, at := range t.lineTo(len(t) - 1) {
		onLine[at] = true
	}
	for at := range t {
		one, ok := readTurn(items[t[at].index])
		if !ok {
			continue
		}
		shown := ShownTurn{one.ID, t.parentOf(at), onLine[at], one.Input, one.Answer, time.UnixMilli(one.Began), time.UnixMilli(one.Ended)}
		if one.Continues {
			shown.Input = ""
		}
		s.Turns = append(s.Turns, shown)
	}
	return nil
}

// Bounds of the items of a conversation.
const (
	maxItems     = 4 * defaultMaxTurns
	maxItemBytes = 4 << 20
)

// PushItem adds an item of a turn that runs.
func (j *Journal) PushItem(ctx context.Context, tenant, owner, conversation string, i Item) error {
	data, err := json.Marshal(i, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	n := name{tenant, owner, conversation}
	return j.cfg.Store.PushList(ctx, n.itemsKey(), data, store.Bounds{Items: maxItems, Bytes: maxItemBytes, Task: i.Task}, j.cfg.TTL)
}

// Create makes the record of a conversation that ChatKit begins, with the input of its first turn.
func (j *Journal) Create(ctx context.Context, tenant, owner, conversation, input string) error {
	_, err := j.beginTurn(ctx, name{tenant, owner, conversation}, input, func(h *header) { h.ChatKit = true })
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}
