// This file reads conversations: lists, lines of turns, and their messages.

package conversation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Object is a conversation as clients see it, without its messages.
type Object struct {
	ID        string             `json:"id"`
	Title     string             `json:"title"`
	CreatedAt string             `json:"created_at"`
	UpdatedAt string             `json:"updated_at"`
	Turns     int                `json:"turns"`
	Head      string             `json:"head,omitempty"`
	Running   []Running          `json:"running"`
	Waiting   []*stream.Approval `json:"waiting"` // empty until the caller of Get and List fills it in
	Truncated bool               `json:"truncated,omitempty"`

	// WaitingTasks are the tasks that wait for a person, as far as the record knows.
	WaitingTasks []string `json:"-"`
}

// Running is a turn that runs.
type Running struct {
	TurnID    string `json:"turn_id"`
	TaskID    string `json:"task_id"`
	State     string `json:"state"`
	StartedAt string `json:"started_at,omitempty"`
}

// Message is a message of a turn as clients see it.
type Message struct {
	MessageID    string   `json:"message_id"`
	Role         string   `json:"role"`
	Content      string   `json:"content"`
	Truncated    bool     `json:"truncated,omitempty"`
	At           string   `json:"at"`
	TurnID       string   `json:"turn_id"`
	TaskID       string   `json:"task_id,omitempty"`
	After        string   `json:"after"`
	Siblings     []string `json:"siblings,omitempty"`
	AgentID      string   `json:"agent_id,omitempty"`
	FinishReason string   `json:"finish_reason,omitempty"`
	Tools        []string `json:"tools,omitempty"`
}

// Detail is a conversation with a page of its messages.
type Detail struct {
	Object
	Messages []Message `json:"messages"`
	Next     string    `json:"next_cursor,omitempty"`
}

// Page is a page of a list of conversations.
type Page struct {
	Conversations []Object `json:"conversations"`
	Next          string   `json:"next_cursor,omitempty"`
}

// ErrLine: the conversation lacks the turn at which a line ends.
var ErrLine = errors.New("no turn of the conversation")

// query asks for the newest turns of a line.
type query struct {
	end    string // the line's last turn; empty: the head
	before string // the turn behind the page; empty: the page ends with the line
	limit  int
	bare   bool // the first turn's parent, and whether others are before it, need not be known
}

// linePage is a part of a line, oldest turn first.
type linePage struct {
	turns    []turn
	parents  []string   // of each turn
	siblings [][]string // of each turn; nil for an only one
	more     bool       // others are before it
}

// readLine reads turns of a line. A conversation without forks is read from its end; else all of it
// is.
func (j *Journal) readLine(ctx context.Context, c *current, q query) (linePage, error) {
	if c.Forks == 0 && q.end == "" && q.before == "" {
		if page, ok, err := j.readTail(ctx, c, q); ok || err != nil {
			return page, err
		}
	}
	items, err := j.cfg.Store.List(ctx, c.turnsKey(), 0, 0)
	if err != nil {
		return linePage{}, err
	}
	items = items[max(0, len(items)-j.cfg.MaxTurns):]
	t := growTree(items)
	line, err := t.cutLine(q)
	if err != nil {
		return linePage{}, err
	}
	from := max(0, len(line)-q.limit)
	page := linePage{more: from > 0}
	for _, at := range line[from:] {
		if one, ok := readTurn(items[t[at].index]); ok {
			page.addTurn(one, t.parentOf(at), t.siblingsOf(at))
		}
	}
	page.reportDamaged(ctx, len(line)-from)
	return page, nil
}

// cutLine returns the places of the line that q asks for.
func (t tree) cutLine(q query) ([]int, error) {
	end := len(t) - 1
	if q.end != "" {
		if end = t.indexOf(q.end); end < 0 {
			return nil, ErrLine
		}
	}
	line := t.lineTo(end)
	if q.before != "" {
		at := slices.IndexFunc(line, func(at int) bool { return t[at].ID == q.before })
		if at < 0 {
			return nil, store.ErrCursor
		}
		line = line[:at]
	}
	return line, nil
}

// readTail reads the newest turns of a conversation without forks. ok is false if the list is not as
// long as the record says.
func (j *Journal) readTail(ctx context.Context, c *current, q query) (page linePage, ok bool, err error) {
	limit, extra := q.limit, 1
	if q.bare {
		extra = 0
	}
	from := max(0, c.Turns-min(limit+extra, j.cfg.MaxTurns))
	items, err := j.cfg.Store.List(ctx, c.turnsKey(), from, 0)
	if err != nil {
		return page, false, err
	}
	if len(items) < c.Turns-from {
		return page, false, nil
	}
	parent := ""
	for _, item := range items {
		one, readable := readTurn(item)
		if !readable {
			continue
		}
		if i := slices.IndexFunc(page.turns, func(t turn) bool { return t.ID == one.ID }); i >= 0 {
			if one.Takeovers > page.turns[i].Takeovers {
				page.turns[i] = one
			}
			continue
		}
		if one.Forked { // the record was older
			return linePage{}, false, nil
		}
		page.addTurn(one, cmp.Or(parent, one.After, chat.AfterStart), nil)
		parent = one.ID
	}
	page.reportDamaged(ctx, len(items))
	page.more = from > 0 && c.Turns > limit && limit < j.cfg.MaxTurns
	if surplus := len(page.turns) - limit; surplus > 0 {
		page.turns, page.parents, page.siblings, page.more = page.turns[surplus:], page.parents[surplus:], page.siblings[surplus:], true
	}
	return page, true, nil
}

// addTurn adds a turn.
func (p *linePage) addTurn(t turn, parent string, siblings []string) {
	p.turns, p.parents, p.siblings = append(p.turns, t), append(p.parents, parent), append(p.siblings, siblings)
}

// reportDamaged logs how many of n turns cannot be read.
func (p *linePage) reportDamaged(ctx context.Context, n int) {
	if n -= len(p.turns); n > 0 {
		zerolog.Ctx(ctx).Warn().Dict("details", zerolog.Dict().Int("turns", n)).Msg("memory_damaged")
	}
}

// asMessages returns the messages of a page, oldest first.
func (p *linePage) asMessages() []Message {
	all := []Message{}
	for i := range p.turns {
		all = append(all, p.turns[i].readerMessages(p.parents[i], p.siblings[i])...)
	}
	return all
}

// readerMessages returns the messages of a turn. The input of a turn that continues a paused one is that
// turn's message.
func (t *turn) readerMessages(parent string, siblings []string) (all []Message) {
	m := Message{TurnID: t.ID, TaskID: t.Task, After: parent, Siblings: siblings}
	if !t.Continues {
		asked := m
		asked.MessageID, asked.Role, asked.Content, asked.At = t.ID+":user", "user", t.Input, formatMillis(t.Began)
		asked.Truncated = t.Clipped && len(t.Input) > maxText-utf8Max
		all = append(all, asked)
	}
	m.MessageID, m.Role, m.Content, m.At = t.ID+":assistant", "assistant", t.Answer, formatMillis(t.Ended)
	m.Truncated = t.Clipped && len(t.Answer) > maxText-utf8Max
	m.AgentID, m.FinishReason, m.Tools = t.Agent, t.Finish, t.Tools
	return append(all, m)
}

// utf8Max is the number of bytes that a cut between two characters may leave free.
const utf8Max = 4

// formatMillis writes a time as tasks do.
func formatMillis(at int64) string {
	return time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// objectOf returns a conversation as clients see it. It shows the running turns
// of the record whose tasks run.
func (j *Journal) objectOf(ctx context.Context, c *current) (Object, error) {
	o := Object{
		ID: c.id, Title: c.currentTitle(), CreatedAt: formatMillis(c.Created), UpdatedAt: formatMillis(c.Updated),
		Turns: min(c.Turns, j.cfg.MaxTurns), Head: c.Head, Running: []Running{}, Waiting: []*stream.Approval{}, Truncated: c.Truncated,
	}
	for _, m := range c.Running {
		t, err := j.cfg.Store.Task(ctx, m.Task)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return o, err
		}
		if err == nil && t.State == "working" && t.Turn == m.Turn {
			o.Running = append(o.Running, Running{m.Turn, m.Task, "working", formatMillis(m.At)})
		}
	}
	for _, m := range c.Waiting {
		o.WaitingTasks = append(o.WaitingTasks, m.Task)
	}
	return o, nil
}

// findRecord returns the record of a conversation. Without one, and for an id of
// another user, the error is fault.NotFound.
func (j *Journal) findRecord(ctx context.Context, n name) (*current, error) {
	c, err := j.loadRecord(ctx, n)
	if errors.Is(err, store.ErrDamaged) || err == nil && c.version == 0 {
		return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such conversation; it may have expired", Err: err}
	}
	if err != nil {
		return nil, fault.NewStoreUnavailable(err)
	}
	return c, nil
}

// Get returns a conversation with the messages of the newest limit turns of a line, which ends in
// the turn end or, if that is empty, in the head. The cursor is Next of the page before. The error is
// a *fault.Error, ErrLine or store.ErrCursor.
func (j *Journal) Get(ctx context.Context, tenant, owner, conversation, end, cursor string, limit int) (*Detail, error) {
	c, err := j.findRecord(ctx, name{tenant, owner, conversation})
	if err != nil {
		return nil, err
	}
	o, err := j.objectOf(ctx, c)
	if err != nil {
		return nil, fault.NewStoreUnavailable(err)
	}
	page, err := j.readLine(ctx, c, query{end: end, before: cursor, limit: limit})
	if errors.Is(err, ErrLine) || errors.Is(err, store.ErrCursor) {
		return nil, err
	}
	if err != nil {
		return nil, fault.NewStoreUnavailable(err)
	}
	d := &Detail{Object: o, Messages: page.asMessages()}
	if page.more && len(page.turns) > 0 {
		d.Next = page.turns[0].ID
	}
	return d, nil
}

// Rename gives a conversation a title, or the made one if the title is empty.
func (j *Journal) Rename(ctx context.Context, tenant, owner, conversation, title string) (Object, error) {
	c, err := j.findRecord(ctx, name{tenant, owner, conversation})
	if err != nil {
		return Object{}, err
	}
	err = j.changeRecord(c, func(h *header) { h.Title = title }, j.putRecord(ctx, c.name))
	if errors.Is(err, errGone) {
		_, err := j.findRecord(ctx, c.name)
		return Object{}, err
	}
	var o Object
	if err == nil {
		o, err = j.objectOf(ctx, c)
	}
	if err != nil {
		return o, fault.NewStoreUnavailable(err)
	}
	return o, nil
}

// ListQuery asks for a page of an owner's conversations, the last turn first.
type ListQuery struct {
	Tenant, Owner string
	// IDs, if not nil, are the only conversations of the list.
	IDs    []string
	Search string // a part of the title, in any case; empty: all
	// OnlyChatKit selects the conversations that ChatKit began.
	OnlyChatKit bool
	Ascending   bool // the last turn last
	Limit       int
	Cursor      string // Next of the page before
}

// maxSearched is how many titles one page of a search looks at.
const maxSearched = 1000

// List returns a page of conversations. The error is a *fault.Error or store.ErrCursor.
func (j *Journal) List(ctx context.Context, q ListQuery) (*Page, error) {
	last, err := store.ReadCursor(q.Cursor)
	if err != nil {
		return nil, err
	}
	if q.Ascending && q.Cursor == "" {
		last.Score = -1 << 53
	}
	page, keep := &Page{Conversations: []Object{}}, q.titleFilter()
	walk := j.walkIndex
	if q.IDs != nil {
		walk = j.walkIDs
	}
	looked := 0
	err = walk(ctx, q, &last, func(c *current) (stop bool, err error) {
		if len(page.Conversations) == q.Limit || looked == maxSearched {
			page.Next = store.NewCursor(last.ID, time.UnixMilli(last.Score))
			return true, nil
		}
		looked++
		last = store.Member{ID: c.id, Score: c.Updated}
		if !keep(c) {
			return false, nil
		}
		o, err := j.objectOf(ctx, c)
		page.Conversations = append(page.Conversations, o)
		return false, err
	})
	if err != nil {
		return nil, fault.NewStoreUnavailable(err)
	}
	return page, nil
}

// titleFilter reports whether a search finds a conversation.
func (q *ListQuery) titleFilter() func(*current) bool {
	part := strings.ToLower(q.Search)
	return func(c *current) bool {
		return (c.ChatKit || !q.OnlyChatKit) && (part == "" || strings.Contains(strings.ToLower(c.currentTitle()), part))
	}
}

// walkIndex calls do for each conversation behind last, until it stops. A conversation that the
// store has lost leaves the index.
func (j *Journal) walkIndex(ctx context.Context, q ListQuery, last *store.Member, do func(*current) (bool, error)) error {
	index := store.ConversationsKey(q.Tenant, q.Owner)
	after := *last
	for {
		r := store.Range{Min: -1 << 53, Max: 1 << 53, Descending: !q.Ascending, After: &after, Limit: min(q.Limit+1, store.MaxPage)}
		members, err := j.cfg.Store.Index(ctx, index, r)
		if err != nil {
			return err
		}
		for _, m := range members {
			after = m
			c, err := j.loadRecord(ctx, name{q.Tenant, q.Owner, m.ID})
			switch {
			case err == nil && c.version == 0:
				_ = j.cfg.Store.RemoveIndex(ctx, index, m.ID) // else the next list does it
				continue
			case errors.Is(err, store.ErrDamaged):
				continue
			case err != nil:
				return err
			}
			c.Updated = m.Score
			if stop, err := do(c); stop || err != nil {
				return err
			}
		}
		if len(members) < r.Limit {
			return nil
		}
	}
}

// walkIDs is walkIndex for the conversations that the caller names.
func (j *Journal) walkIDs(ctx context.Context, q ListQuery, last *store.Member, do func(*current) (bool, error)) error {
	var all []*current
	for _, id := range slices.Compact(slices.Sorted(slices.Values(q.IDs))) {
		c, err := j.loadRecord(ctx, name{q.Tenant, q.Owner, id})
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		if err == nil && c.version != 0 {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *current) int { return cmp.Or(cmp.Compare(b.Updated, a.Updated), cmp.Compare(b.id, a.id)) })
	start := *last
	for _, c := range all {
		if q.Cursor != "" && (c.Updated > start.Score || c.Updated == start.Score && c.id >= start.ID) {
			continue
		}
		if stop, err := do(c); stop || err != nil {
			return err
		}
	}
	return nil
}
