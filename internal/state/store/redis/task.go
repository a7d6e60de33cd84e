package redis

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sluice/internal/state/store"
)

// CreateTask adds a task.
func (s *Store) CreateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	keys := []string{store.TaskKey(id), store.MetaKey(id), store.TasksKey(t.Tenant, t.User, "")}
	args := []any{s.prefix, id, t.Doc, milliseconds(ttl), t.Owner, t.Epoch, t.Created.UnixMilli(), s.listKey(t.Side), flagText(t.Side.Drop), itemOf(t.Side),
		"tenant", t.Tenant, "user", t.User, "conversation", t.Conversation, "turn", t.Turn, "state", t.State}
	if t.Conversation != "" {
		key := store.TasksKey(t.Tenant, t.User, t.Conversation)
		keys, args = append(keys, key), append(args, "conversation_index", s.prefix+key)
	}
	if store.IsOfAll(t.User) {
		key := store.TasksKey(t.Tenant, store.AllUsers, "")
		keys, args = append(keys, key), append(args, "tenant_index", s.prefix+key)
	}
	return s.runWriteScript(ctx, "create_task", createTask, nil, keys, args...)
}

// Task returns a task.
func (s *Store) Task(ctx context.Context, id string) (t store.Task, err error) {
	err = s.runScript(ctx, "task", readTask, decodeTask(&t), []string{store.TaskKey(id), store.MetaKey(id)})
	return t, err
}

// changeArgs returns the arguments of scripts that replace a task.
func (s *Store) changeArgs(id string, t store.Task, ttl time.Duration) []any {
	return []any{s.prefix, id, t.Doc, milliseconds(ttl), t.Owner, t.Epoch, t.Turn, t.State, t.Version, s.listKey(t.Side), flagText(t.Side.Drop), itemOf(t.Side)}
}

// listKey returns the key of a list for scripts, or "".
func (s *Store) listKey(b store.Side) string {
	if b.Key == "" {
		return ""
	}
	return s.prefix + b.Key
}

// itemOf returns the item that is added to a list, for scripts, or "".
func itemOf(b store.Side) any {
	if b.Item == nil {
		return ""
	}
	return b.Item
}

// UpdateTask replaces a task.
func (s *Store) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return s.runWriteScript(ctx, "update_task", updateTask, nil, []string{store.TaskKey(id), store.MetaKey(id)}, s.changeArgs(id, t, ttl)...)
}

// EndTurn implements store.Ender.
func (s *Store) EndTurn(ctx context.Context, e store.End) error {
	args := append(s.changeArgs(e.TaskID, e.Task, e.TTL), e.Log.At, e.Log.N, e.Log.Data, milliseconds(e.Log.TTL), store.MaxLog, s.signals.channelOf(store.LogTopic(e.Turn)),
		e.Log.Holder.Owner, e.Log.Holder.Epoch, e.Trace, e.Bounds.Items, e.Bounds.Bytes)
	keys := []string{store.TaskKey(e.TaskID), store.MetaKey(e.TaskID), store.LogKey(e.Turn), store.TraceKey(e.TaskID)}
	return s.runWriteScript(ctx, "end_turn", endTurn, decodeLogEnd, keys, args...)
}

// CancelTask asks for a task's end.
func (s *Store) CancelTask(ctx context.Context, id string) (t store.Task, err error) {
	err = s.runScript(ctx, "cancel_task", cancelTask, decodeTask(&t), []string{store.TaskKey(id), store.MetaKey(id)},
		s.prefix, s.signals.channelOf(store.CancelTopic("")))
	return t, err
}

// DeleteTask removes a task.
func (s *Store) DeleteTask(ctx context.Context, id string) error {
	return s.runScript(ctx, "delete_task", deleteTask, nil, []string{store.TaskKey(id), store.MetaKey(id)}, s.prefix, id)
}

// CloseTask ends an orphan.
func (s *Store) CloseTask(ctx context.Context, id string, c store.Closing) error {
	log := ""
	if c.LogOf != "" {
		log = s.prefix + store.LogKey(c.LogOf)
	}
	args := append(s.changeArgs(id, c.Task, c.TTL),
		log, c.Log.At, c.Log.N, c.Log.Data, milliseconds(c.Log.TTL), store.MaxLog, s.signals.channelOf(store.LogTopic(c.LogOf)))
	return s.runWriteScript(ctx, "close_task", closeTask, decodeLogEnd, []string{store.TaskKey(id), store.MetaKey(id)}, args...)
}

// Orphans returns tasks whose holder lacks a lease.
func (s *Store) Orphans(ctx context.Context, limit int) (ids []string, err error) {
	err = s.runScript(ctx, "orphans", orphanTasks, func(reply any) error {
		list, _ := reply.([]any)
		for _, id := range list {
			ids = append(ids, replyText(id))
		}
		return nil
	}, []string{"sluice:tasks:holders"}, s.prefix, limit)
	return ids, err
}

// Tasks lists tasks.
func (s *Store) Tasks(ctx context.Context, q store.Query) (page store.Page, err error) {
	last, err := store.ReadCursor(q.Cursor)
	if err != nil {
		return page, err
	}
	err = s.runScript(ctx, "tasks", listTasks, func(reply any) error { return decodePage(reply, &page) },
		[]string{store.TasksKey(q.Tenant, q.User, q.Conversation)}, s.prefix, last.Score, last.ID, q.State, q.Limit, store.MaxPageBytes, flagText(q.Bare))
	return page, err
}

// flagText returns a truth as scripts take it.
func flagText(b bool) string {
	if b {
		return "1"
	}
	return ""
}

// decodePage reads a page of tasks. A reply that no script writes is damaged.
func decodePage(reply any, page *store.Page) error {
	parts, ok := replyList(reply, 3)
	last, okLast := replyList(replyPart(parts, 1), 2)
	found, okFound := replyPart(parts, 2).([]any)
	if !ok || !okLast || !okFound {
		return store.ErrDamaged
	}
	for _, one := range found {
		fields, ok := replyList(one, 4)
		if !ok {
			return store.ErrDamaged
		}
		var t store.Task
		if err := decodeTask(&t)(fields[2:]); err != nil {
			return err
		}
		page.IDs, page.Tasks = append(page.IDs, replyText(fields[0])), append(page.Tasks, t)
	}
	if replyText(parts[0]) != "" {
		page.Next = store.NewCursor(replyText(last[0]), time.UnixMilli(replyNumber(last[1])))
	}
	return nil
}

// decodeTask reads the result of the scripts' function read. Fields that another program has
// written in another form are zero.
func decodeTask(t *store.Task) func(any) error {
	return func(reply any) error {
		parts, ok := replyList(reply, 2)
		m, okMeta := replyList(replyPart(parts, 1), 10)
		if !ok || !okMeta {
			return store.ErrDamaged
		}
		*t = store.Task{Doc: []byte(replyText(parts[0])), Meta: store.Meta{
			Holder: store.Holder{Owner: replyText(m[0]), Epoch: replyNumber(m[1])},
			Tenant: replyText(m[2]), User: replyText(m[3]), Conversation: replyText(m[4]), Turn: replyText(m[5]), State: replyText(m[6]),
			Version: replyNumber(m[7]), Cancel: replyText(m[8]) == "1",
		}}
		if m[9] != nil {
			t.Created = time.UnixMilli(replyNumber(m[9]))
		}
		return nil
	}
}

// decodeLogEnd reads the reply of a script that found another end of the log.
func decodeLogEnd(reply any) error {
	if parts, ok := replyList(reply, 2); ok {
		return &store.EndError{End: int(replyNumber(parts[1]))}
	}
	return nil
}

// replyList returns a reply that has n parts.
func replyList(reply any, n int) ([]any, bool) {
	parts, ok := reply.([]any)
	return parts, ok && len(parts) == n
}

// replyPart returns an element of a reply, or nil.
func replyPart(parts []any, i int) any {
	if i < len(parts) {
		return parts[i]
	}
	return nil
}

// replyText returns a reply that is a text, or "".
func replyText(reply any) string {
	s, _ := reply.(string)
	return s
}

// replyNumber returns a reply that is a number, or a text that is one; else 0.
func replyNumber(reply any) int64 {
	switch n := reply.(type) {
	case int64:
		return n
	case string:
		i, err := strconv.ParseInt(n, 10, 64)
		if err != nil { // a score
			f, _ := strconv.ParseFloat(n, 64)
			return int64(f)
		}
		return i
	}
	return 0
}

// RenewLease takes or prolongs a lease. All turns stand on it: it waits for no other command.
func (s *Store) RenewLease(ctx context.Context, h store.Holder, ttl time.Duration) error {
	err := s.runScript(ctx, "renew_lease", renewLease, nil, []string{store.LeaseKey(h.Owner)}, h.Epoch, milliseconds(ttl))
	s.calls.Wrote("renew_lease", 0, err)
	return err
}

// ReleaseLease gives a lease back.
func (s *Store) ReleaseLease(ctx context.Context, h store.Holder) error {
	return s.runScript(ctx, "release_lease", releaseLease, nil, []string{store.LeaseKey(h.Owner)}, h.Epoch)
}

// LeasesAlive reports for each holder whether it has its lease.
func (s *Store) LeasesAlive(ctx context.Context, holders ...store.Holder) (alive []bool, err error) {
	alive = make([]bool, len(holders))
	if len(holders) == 0 {
		return alive, nil
	}
	keys := make([]string, len(holders))
	for i, h := range holders {
		keys[i] = s.prefix + store.LeaseKey(h.Owner)
	}
	err = s.runCommand(ctx, "leases", func(ctx context.Context) error {
		epochs, err := s.client.MGet(ctx, keys...).Result()
		if err != nil {
			return err
		}
		for i, epoch := range epochs {
			alive[i] = epoch != nil && replyText(epoch) == strconv.FormatInt(holders[i].Epoch, 10)
		}
		return nil
	})
	return alive, err
}

// AppendLog adds to a log.
func (s *Store) AppendLog(ctx context.Context, turn string, a store.Append) error {
	keys := []string{store.LogKey(turn)}
	if a.Task != "" {
		keys = append(keys, store.MetaKey(a.Task))
	}
	args := []any{a.At, a.N, a.Data, milliseconds(a.TTL), store.MaxLog, s.signals.channelOf(store.LogTopic(turn)), a.Holder.Owner, a.Holder.Epoch}
	if a.Side.Key != "" {
		args = append(args, s.listKey(a.Side), flagText(a.Side.Drop), itemOf(a.Side))
	}
	return s.runWriteScript(ctx, "append_log", appendLog, decodeLogEnd, keys, args...)
}

// ReadLog returns entries.
func (s *Store) ReadLog(ctx context.Context, turn string, after, limit int) (entries []store.Entry, err error) {
	err = s.runScript(ctx, "read_log", readLog, func(reply any) error {
		found, _ := reply.([]any)
		for _, one := range found {
			fields, ok := replyList(one, 2)
			if !ok {
				return store.ErrDamaged
			}
			e := store.Entry{Data: []byte(replyText(fields[1]))}
			if _, err := fmt.Sscanf(replyText(fields[0]), "%d-0", &e.N); err != nil {
				return store.ErrDamaged
			}
			entries = append(entries, e)
		}
		return nil
	}, []string{store.LogKey(turn)}, after, limit)
	return entries, err
}

// LogLeft returns how long a log is kept.
func (s *Store) LogLeft(ctx context.Context, turn string) (left time.Duration, err error) {
	err = s.runCommand(ctx, "log_left", func(ctx context.Context) error {
		left, err = s.client.PTTL(ctx, s.prefix+store.LogKey(turn)).Result()
		switch {
		case err != nil:
			return err
		case left == -2:
			return store.ErrNotFound
		}
		left = max(0, left)
		return nil
	})
	return left, err
}

// DropLog removes a log.
func (s *Store) DropLog(ctx context.Context, turn string) error {
	return s.runScript(ctx, "drop_log", dropLog, nil, []string{store.LogKey(turn)}, s.signals.channelOf(store.LogTopic(turn)))
}
