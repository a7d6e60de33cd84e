package threads

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
)

// View is a chatkit.Store whose threads are conversations of a journal. The gateway appends the
// turns, whichever front end began them. The view adds only the items as ChatKit was shown them. It
// is safe for concurrent use, in any number of processes.
type View struct {
	journal *conversation.Journal
	remove  func(ctx context.Context, c task.Caller, conversation string) error
}

// NewView returns a View of j. It calls remove to delete a conversation with all of its tasks.
func NewView(j *conversation.Journal, remove func(ctx context.Context, c task.Caller, conversation string) error) *View {
	return &View{j, remove}
}

// callerOf returns the caller that a store's owner stands for, as chatkit makes it of the request's
// principal.
func callerOf(ctx context.Context, owner string) task.Caller {
	p := chat.TurnOf(ctx).Principal
	if p.Tenant != "" {
		owner = strings.TrimPrefix(owner, chatkit.OwnerOf(p.Tenant, ""))
	}
	return task.Caller{Principal: p, UserID: strings.TrimPrefix(owner, "\x00")}
}

// ownerOf returns the tenant and the owner of a caller's conversations.
func ownerOf(c task.Caller) (tenant, owner string) { return c.Principal.Tenant, c.Owner() }

// readTranscript returns a conversation as it was shown.
func (v *View) readTranscript(ctx context.Context, owner, threadID string, withTurns bool) (*conversation.Transcript, error) {
	tenant, of := ownerOf(callerOf(ctx, owner))
	s, err := v.journal.ReadTranscript(ctx, tenant, of, threadID, withTurns)
	return s, viewError(threadID, err)
}

// viewError makes an error of the journal one of chatkit.Store.
func viewError(threadID string, err error) error {
	if f := fault.From(err); err != nil && f.Type == fault.NotFound {
		return fmt.Errorf("thread %s: %w", threadID, chatkit.ErrNotFound)
	}
	return wrapError(threadID, err)
}

// Create makes the record of a conversation. Its title is made of the first input.
func (v *View) Create(ctx context.Context, owner string, t chatkit.Thread) error {
	tenant, of := ownerOf(callerOf(ctx, owner))
	return wrapError(t.ID, v.journal.Create(ctx, tenant, of, t.ID, t.Title))
}

// Thread returns a conversation, whichever front end began it.
func (v *View) Thread(ctx context.Context, owner, threadID string) (chatkit.Thread, error) {
	s, err := v.readTranscript(ctx, owner, threadID, false)
	if err != nil {
		return chatkit.Thread{}, err
	}
	return chatkit.Thread{ID: threadID, Title: s.Title, CreatedAt: s.Created}, nil
}

// Threads lists conversations by their last turn. Without authentication these are the ones that
// ChatKit began.
func (v *View) Threads(ctx context.Context, owner string, q chatkit.Query) (list []chatkit.Thread, more bool, err error) {
	c := callerOf(ctx, owner)
	tenant, of := ownerOf(c)
	asked := conversation.ListQuery{Tenant: tenant, Owner: of, Limit: q.Limit, Ascending: !q.Descending, OnlyChatKit: !c.Principal.IsKnown()}
	if q.After != "" {
		last, err := v.journal.ReadTranscript(ctx, tenant, of, q.After, false)
		if f := fault.From(err); err != nil && f.Type == fault.NotFound {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		asked.Cursor = store.NewCursor(q.After, last.Updated)
	}
	page, err := v.journal.List(ctx, asked)
	if err != nil {
		return nil, false, err
	}
	for _, o := range page.Conversations {
		created, _ := time.Parse(time.RFC3339, o.CreatedAt)
		list = append(list, chatkit.Thread{ID: o.ID, Title: o.Title, CreatedAt: created})
	}
	return list, page.Next != "" && len(list) > 0, nil
}

// Rename gives a conversation another title.
func (v *View) Rename(ctx context.Context, owner, threadID, title string) (chatkit.Thread, error) {
	tenant, of := ownerOf(callerOf(ctx, owner))
	o, err := v.journal.Rename(ctx, tenant, of, threadID, title)
	if err != nil {
		return chatkit.Thread{}, viewError(threadID, err)
	}
	created, _ := time.Parse(time.RFC3339, o.CreatedAt)
	return chatkit.Thread{ID: o.ID, Title: o.Title, CreatedAt: created}, nil
}

// Delete removes a conversation with its tasks.
func (v *View) Delete(ctx context.Context, owner, threadID string) error {
	if _, err := v.readTranscript(ctx, owner, threadID, false); err != nil {
		return err
	}
	return v.remove(ctx, callerOf(ctx, owner), threadID)
}

// Append adds an item of a turn. An item of a turn that is not stored is dropped: the turn itself
// is shown as that of another front end.
func (v *View) Append(ctx context.Context, owner, threadID string, i chatkit.Item) error {
	if i.Turn == "" {
		return nil
	}
	tenant, of := ownerOf(callerOf(ctx, owner))
	return wrapError(threadID, v.journal.PushItem(ctx, tenant, of, threadID, conversation.Item{ID: i.ID, Turn: i.Turn, Task: i.Task, Input: i.Input, Body: i.Body}))
}

// viewed is an item with the parent of its turn.
type viewed struct {
	chatkit.Item
	after    string
	isOnLine bool
}

// allItems returns all items of a conversation, those of other lines too.
func (v *View) allItems(ctx context.Context, owner, threadID string) (all []viewed, err error) {
	s, err := v.readTranscript(ctx, owner, threadID, true)
	if err != nil {
		return nil, err
	}
	byTurn := map[string][]chatkit.Item{}
	for _, i := range s.Items {
		byTurn[i.Turn] = append(byTurn[i.Turn], chatkit.Item{ID: i.ID, Turn: i.Turn, Input: i.Input, Body: i.Body})
	}
	head := chat.AfterStart
	for _, t := range s.Turns {
		for _, i := range itemsOfTurn(threadID, t, byTurn[t.ID]) {
			all = append(all, viewed{i, t.After, t.IsOnLine})
		}
		head = t.ID
		delete(byTurn, t.ID)
	}
	for _, id := range s.Running {
		for _, i := range byTurn[id] {
			all = append(all, viewed{i, head, true})
		}
	}
	return all, nil
}

// itemsOfTurn returns the items of a turn: the ones that were shown, and plain messages in place of
// those that another front end has shown.
func itemsOfTurn(threadID string, t conversation.ShownTurn, shown []chatkit.Item) []chatkit.Item {
	isAnswer := func(i chatkit.Item) bool {
		var body struct {
			Type string `json:"type"`
		}
		return json.Unmarshal(i.Body, &body) == nil && body.Type == "assistant_message"
	}
	if t.Input != "" && !slices.ContainsFunc(shown, func(i chatkit.Item) bool { return i.Input != "" }) {
		shown = slices.Insert(shown, 0, chatkit.NewUserItem(threadID, t.ID+"-user", t.Input, t.Began))
	}
	if t.Answer != "" && !slices.ContainsFunc(shown, isAnswer) {
		shown = append(shown, chatkit.NewAssistantItem(threadID, t.ID+"-assistant", t.Answer, t.Ended))
	}
	return shown
}

// findItem returns an item.
func (v *View) findItem(ctx context.Context, owner, threadID, itemID string) (viewed, error) {
	all, err := v.allItems(ctx, owner, threadID)
	if err != nil {
		return viewed{}, err
	}
	at := slices.IndexFunc(all, func(i viewed) bool { return i.ID == itemID })
	if at < 0 {
		return viewed{}, fmt.Errorf("item of thread %s: %w", threadID, chatkit.ErrNotFound)
	}
	return all[at], nil
}

// Item returns one item.
func (v *View) Item(ctx context.Context, owner, threadID, itemID string) (chatkit.Item, error) {
	i, err := v.findItem(ctx, owner, threadID, itemID)
	return i.Item, err
}

// Follows returns the turn that a retry of an item follows: the one before the item's.
func (v *View) Follows(ctx context.Context, owner, threadID, itemID string) (string, error) {
	i, err := v.findItem(ctx, owner, threadID, itemID)
	return i.after, err
}

// Items lists the items of the line that ends in the newest turn.
func (v *View) Items(ctx context.Context, owner, threadID string, q chatkit.Query) (list []chatkit.Item, more bool, err error) {
	all, err := v.allItems(ctx, owner, threadID)
	if err != nil {
		return nil, false, err
	}
	for _, i := range all {
		if i.isOnLine {
			list = append(list, i.Item)
		}
	}
	if q.Descending {
		slices.Reverse(list)
	}
	if q.After != "" {
		at := slices.IndexFunc(list, func(i chatkit.Item) bool { return i.ID == q.After })
		if at < 0 {
			return nil, false, nil
		}
		list = list[at+1:]
	}
	if len(list) > q.Limit {
		return list[:q.Limit], true, nil
	}
	return list, false, nil
}

// RemoveAfter does nothing: a retry begins another line, and the old one stays.
func (*View) RemoveAfter(context.Context, string, string, string) error { return nil }
