// This file lets people find the questions that they may answer though the task is another one's.
// Questions that name approvers stand in an index of each of them, or of all. Questions for the
// owner alone are found by the owner's tasks.

package approval

import (
	"context"
	"slices"
	"strings"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

const (
	// anyone stands for everybody, next to named people who may answer a question.
	anyone = "any"
	owner  = "owner"
	// reviewers stands in the name of an index for people with chat.ScopeApprove. No user has it.
	reviewers = "\x00\x00approve"

	// maxPruned is how many expired members one question removes from an index, so that an index
	// without readers does not grow.
	maxPruned = 16
)

// indexNames returns the indexes in which people other than the owner find a question.
func (r *record) indexNames() (names []string) {
	switch {
	case slices.Contains(r.Approvers, anyone):
		return []string{store.ApprovalsOfAllKey(r.Tenant)}
	case r.isForReviewers():
		return []string{store.ApprovalsKey(r.Tenant, reviewers)}
	}
	for _, who := range r.Approvers {
		if who != owner {
			names = append(names, store.ApprovalsKey(r.Tenant, chat.Principal{ID: r.Principal}.Naming(who)))
		}
	}
	return names
}

// addToIndexes puts a question into its indexes, by its expiry.
func (s *Service) addToIndexes(ctx context.Context, r *record) error {
	now := time.Now()
	for _, name := range r.indexNames() {
		err := s.cfg.Store.PutIndex(ctx, name, store.Member{ID: r.ID, Score: r.Expires}, r.expiryTime().Sub(now)+grace)
		if err != nil {
			return err
		}
		late, err := s.cfg.Store.Index(ctx, name, store.Range{Max: now.UnixMilli(), Limit: maxPruned})
		for _, m := range late {
			_ = s.cfg.Store.RemoveIndex(ctx, name, m.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeFromIndexes removes a question from its indexes. If a removal fails, the next list makes up
// for it.
func (s *Service) removeFromIndexes(ctx context.Context, r *record) {
	for _, name := range r.indexNames() {
		_ = s.cfg.Store.RemoveIndex(ctx, name, r.ID)
	}
}

// NamesOthers reports whether a cursor is one of ForOthers.
func NamesOthers(cursor string) bool {
	return cursor != "" && strings.Contains(cursorNamed+cursorAll+cursorNone, cursor[:1])
}

// First characters of the cursors of ForOthers, before one of the store's: of which index
// the next page is.
const (
	cursorNamed = "n"
	cursorAll   = "a"
	cursorNone  = "r" // of those that name nobody, for who reviews
)

// OfOthers returns the cursor of the first page of ForOthers.
func OfOthers() string { return prefixCursor(cursorNamed, cursorBehind(nil)) }

// ForOthers adds questions about tasks of others that c may answer, without tokens, the latest
// expiry first. A conversation, if not empty, limits them to its own. next is the cursor of the
// next page; empty after the last.
func (s *Service) ForOthers(ctx context.Context, c Caller, conversation, cursor string, l *Listing) (next string, err error) {
	if s.cfg.Store == nil || c.approverName() == "" {
		return "", nil
	}
	for _, in := range c.pageIndexes() {
		if cursor == in.prefix {
			return "", badCursor()
		}
		rest, ok := strings.CutPrefix(cursor, in.prefix)
		if !ok && cursor != "" { // an index before the cursor's
			continue
		}
		next, err := s.addPage(ctx, in.key, c, conversation, rest, l)
		if next != "" || err != nil {
			return prefixCursor(in.prefix, next), err
		}
		cursor = ""
	}
	return "", nil
}

// askedIn is an index of questions for a person, and the prefix of its cursors.
type askedIn struct{ prefix, key string }

// pageIndexes returns those of c, in the order of their pages.
func (c Caller) pageIndexes() []askedIn {
	tenant := c.Principal.Tenant
	all := []askedIn{
		{cursorNamed, store.ApprovalsKey(tenant, c.Principal.Naming(c.approverName()))},
		{cursorAll, store.ApprovalsOfAllKey(tenant)},
	}
	if c.isReviewer() {
		all = append(all, askedIn{cursorNone, store.ApprovalsKey(tenant, reviewers)})
	}
	return all
}

func prefixCursor(first, cursor string) string {
	if cursor == "" {
		return ""
	}
	return first + cursor
}

// isAsked reports whether a question waits for c as an approver who is not the owner of its task. A
// conversation, if not empty, must be the question's.
func (c Caller) isAsked(q *record, conversation string) bool {
	return c.isApprover(q, false) && !c.listsAsOwn(q) && (conversation == "" || q.Conversation == conversation) && time.Now().Before(q.expiryTime())
}

// addPage adds one page of an index, and removes the questions that cannot be answered any more
// from the index.
func (s *Service) addPage(ctx context.Context, name string, c Caller, conversation, cursor string, l *Listing) (next string, err error) {
	r := store.Range{Min: time.Now().UnixMilli(), Max: 1 << 53, Descending: true, Limit: store.MaxPage}
	if cursor != "" {
		last, err := store.ReadCursor(cursor)
		if err != nil {
			return "", badCursor()
		}
		r.After = &last
	}
	found, err := s.cfg.Store.Index(ctx, name, r)
	if err != nil {
		return "", unavailableFault(err)
	}
	last := r.After
	for i := range found {
		m := &found[i]
		if l.IsFull(1) {
			return cursorBehind(last), nil
		}
		last = m
		q, over, err := s.loadBrief(ctx, m.ID, l)
		if isUnavailable(err) {
			return "", err
		}
		switch {
		case isUnread(err): // another gateway can read it
		case err != nil || q == nil || over != nil:
			_ = s.cfg.Store.RemoveIndex(ctx, name, m.ID)
		case c.isAsked(q, conversation):
			l.addQuestion(q)
		}
	}
	if len(found) == r.Limit {
		next = cursorBehind(last)
	}
	return next, nil
}

// cursorBehind returns the cursor of the page behind a member; nil: of the first page.
func cursorBehind(m *store.Member) string {
	if m == nil {
		m = &store.Member{ID: "~", Score: 1 << 53}
	}
	return store.NewCursor(m.ID, time.UnixMilli(m.Score))
}

// listsAsOwn reports whether a question is about a task that is listed as c's own.
func (c Caller) listsAsOwn(r *record) bool {
	of := chat.Principal{ID: r.Principal}
	return of.Owner(r.User) == c.Principal.Owner(c.UserID)
}

// badCursor is the fault of a cursor that no list has returned.
func badCursor() error {
	e := new(chat.ValidationError)
	e.Add("/cursor", &chat.FieldError{Code: chat.CodeInvalidFormat, Message: "is no next_cursor of a list"})
	return e
}
