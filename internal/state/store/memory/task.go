package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sluice/internal/state/store"
)

// task is a stored task. age is its place among those of its share that have ended; older and newer
// are its neighbours in its conversation.
type task struct {
	store.Task
	id           string
	until        expiry
	share        *share
	age          age
	older, newer *task
}

// liveTask returns a task that is there. The caller must hold mu.
func (s *Store) liveTask(id string) (*task, error) {
	t := s.tasks[id]
	if t == nil || t.until.hasPassed(s.now) {
		return nil, store.ErrNotFound
	}
	return t, nil
}

// setTask replaces or adds a task. The caller must hold mu.
func (s *Store) setTask(id string, t store.Task, ttl time.Duration) error {
	now := s.tasks[id]
	grows := len(t.Doc) + overhead
	if now != nil {
		grows = len(t.Doc) - len(now.Doc)
	} else {
		for len(s.tasks) >= s.cfg.Tasks {
			if !s.dropTask(id) {
				return store.ErrFull
			}
		}
	}
	if grows > 0 && !s.makeRoom(grows, id) {
		return store.ErrFull
	}
	if err := s.changeSide(t.Side, ttl, id); err != nil {
		return err
	}
	t.Side = store.Side{}
	if now == nil {
		id = packTexts(id, &t.Meta)
		now = &task{id: id, share: s.shareOf(&t.Meta)}
		s.tasks[id] = now
		s.addToConversation(now, t.Meta)
		s.countShare(now.share, grows, 1)
	} else {
		s.countShare(now.share, grows, 0)
	}
	now.Task, now.until = t, s.expiryAfter(ttl)
	if t.Lives() {
		s.leaveEnded(now)
	} else {
		s.enterEnded(now)
	}
	if t.Owner != "" {
		return nil
	}
	if l := s.logs[t.Turn]; l != nil {
		l.trimRoom()
	}
	return nil
}

// packTexts joins the constant texts of a task into one, sets them to parts of it, and returns the
// id. Otherwise each would keep the larger text alive that it was cut from.
func packTexts(id string, m *store.Meta) string {
	all := strings.Join([]string{id, m.Tenant, m.User, m.Conversation, m.Turn}, "")
	for _, part := range []*string{&id, &m.Tenant, &m.User, &m.Conversation, &m.Turn} {
		*part, all = all[:len(*part)], all[len(*part):]
	}
	return id
}

// removeTask drops a task and its counts. Its log stays: it has a time to live of its own.
func (s *Store) removeTask(id string) {
	if t := s.tasks[id]; t != nil {
		s.leaveEnded(t)
		s.removeFromConversation(t)
		delete(s.tasks, id)
		s.countShare(t.share, -len(t.Doc)-overhead, -1)
	}
}

// CreateTask adds a task.
func (s *Store) CreateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) (err error) {
	defer func() { s.cfg.Calls.Wrote("create_task", len(t.Doc), err) }()
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, err := s.liveTask(id); err == nil {
		return store.ErrConflict
	}
	s.removeTask(id) // one that has expired
	t.Version, t.Cancel = 1, false
	t.Created = t.Created.Truncate(time.Millisecond)
	return s.setTask(id, t, ttl)
}

// Task returns a task.
func (s *Store) Task(ctx context.Context, id string) (store.Task, error) {
	if err := s.lockStore(ctx); err != nil {
		return store.Task{}, err
	}
	defer s.mu.Unlock()
	t, err := s.liveTask(id)
	if err != nil {
		return store.Task{}, err
	}
	return t.Task, nil
}

// UpdateTask replaces a task.
func (s *Store) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) (err error) {
	defer func() { s.cfg.Calls.Wrote("update_task", len(t.Doc), err) }()
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	before, err := s.liveTask(id)
	if err != nil {
		return err
	}
	return s.replaceTask(id, before, t, ttl)
}

// replaceTask changes a task of the version that the caller saw. Fields that never change are
// copied from before.
func (s *Store) replaceTask(id string, before *task, t store.Task, ttl time.Duration) error {
	if before.Version != t.Version {
		return store.ErrConflict
	}
	t.Version++
	if t.Turn == before.Turn {
		t.Turn = before.Turn // one text for both
	}
	t.Tenant, t.User, t.Conversation, t.Created, t.Cancel = before.Tenant, before.User, before.Conversation, before.Created, before.Cancel
	return s.setTask(id, t, ttl)
}

// CancelTask asks for a task's end.
func (s *Store) CancelTask(ctx context.Context, id string) (store.Task, error) {
	if err := s.lockStore(ctx); err != nil {
		return store.Task{}, err
	}
	defer s.mu.Unlock()
	t, err := s.liveTask(id)
	if err != nil {
		return store.Task{}, err
	}
	t.Cancel = true
	s.hub.Signal(store.CancelTopic(t.Owner))
	return t.Task, nil
}

// DeleteTask removes a task.
func (s *Store) DeleteTask(ctx context.Context, id string) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.removeTask(id)
	return nil
}

// matchesQuery reports whether a query asks for a task.
func (t *task) matchesQuery(q store.Query) bool {
	return t.Tenant == q.Tenant && (t.User == q.User || q.User == store.AllUsers && store.IsOfAll(t.User)) && (q.Conversation == "" || t.Conversation == q.Conversation) && (q.State == "" || t.State == q.State)
}

// Tasks lists tasks.
func (s *Store) Tasks(ctx context.Context, q store.Query) (store.Page, error) {
	last, err := store.ReadCursor(q.Cursor)
	if err != nil {
		return store.Page{}, err
	}
	if err := s.lockStore(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.mu.Unlock()
	var found []store.Member
	for t := range s.candidatesOf(q) {
		m := store.Member{ID: t.id, Score: t.Created.UnixMilli()}
		if t.matchesQuery(q) && !t.until.hasPassed(s.now) && compareMembers(m, last) < 0 {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b store.Member) int { return compareMembers(b, a) })
	var page store.Page
	for n, bytes := 0, 0; n < len(found); n++ {
		if n == q.Limit || bytes >= store.MaxPageBytes {
			page.Next = store.NewCursor(page.IDs[n-1], page.Tasks[n-1].Created)
			break
		}
		t := s.tasks[found[n].ID].Task
		if q.Bare {
			t.Doc = nil
		}
		bytes += len(t.Doc)
		page.IDs, page.Tasks = append(page.IDs, found[n].ID), append(page.Tasks, t)
	}
	return page, nil
}

// compareMembers is the order of indexes.
func compareMembers(a, b store.Member) int {
	return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.ID, b.ID))
}

// Orphans returns tasks whose holder lacks a lease.
func (s *Store) Orphans(ctx context.Context, limit int) (ids []string, err error) {
	if err := s.lockStore(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	for id, t := range s.tasks {
		if len(ids) < limit && t.Owner != "" && !s.hasLease(t.Holder) && !t.until.hasPassed(s.now) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// CloseTask ends an orphan.
func (s *Store) CloseTask(ctx context.Context, id string, c store.Closing) (err error) {
	defer func() { s.cfg.Calls.Wrote("close_task", len(c.Doc), err) }()
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	before, err := s.liveTask(id)
	if err != nil {
		return err
	}
	if before.Version != c.Version || s.hasLease(before.Holder) {
		return store.ErrConflict
	}
	if c.LogOf != "" {
		c.Log.Task = ""
		if err := s.appendEntry(c.LogOf, c.Log); err != nil {
			return err
		}
	}
	return s.replaceTask(id, before, c.Task, c.TTL)
}
