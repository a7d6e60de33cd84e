package task

import (
	"context"
	"sync"
	"time"

	"sluice/internal/state/store"
)

// forgetful is a store that does what it is asked to, and loses answers. It has every method of
// store.Store itself, so that a new one cannot be left out.
type forgetful struct {
	in store.Store

	mu     sync.Mutex     // guards the fields below
	armed  bool           // calls are counted, and lost
	calls  map[string]int // by method
	method string         // whose answer is lost; empty: no answer is
	nth    int            // which one
	stall  time.Duration  // for so long all later answers are lost too
	until  time.Time
}

var _ store.Store = (*forgetful)(nil)

// lost returns err, or that the store is unavailable if the answer of a method is lost now.
func (f *forgetful) lost(method string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return err
	}
	f.calls[method]++
	now := time.Now()
	if method == f.method && f.calls[method] == f.nth {
		f.until = now.Add(f.stall)
		return store.ErrUnavailable
	}
	if now.Before(f.until) {
		return store.ErrUnavailable
	}
	return err
}

// arm has the store lose answers from now on.
func (f *forgetful) arm(armed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = armed
}

func (f *forgetful) CreateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return f.lost("CreateTask", f.in.CreateTask(ctx, id, t, ttl))
}

func (f *forgetful) Task(ctx context.Context, id string) (store.Task, error) {
	t, err := f.in.Task(ctx, id)
	return t, f.lost("Task", err)
}

func (f *forgetful) UpdateTask(ctx context.Context, id string, t store.Task, ttl time.Duration) error {
	return f.lost("UpdateTask", f.in.UpdateTask(ctx, id, t, ttl))
}

func (f *forgetful) CancelTask(ctx context.Context, id string) (store.Task, error) {
	t, err := f.in.CancelTask(ctx, id)
	return t, f.lost("CancelTask", err)
}

func (f *forgetful) DeleteTask(ctx context.Context, id string) error {
	return f.lost("DeleteTask", f.in.DeleteTask(ctx, id))
}

func (f *forgetful) Tasks(ctx context.Context, q store.Query) (store.Page, error) {
	p, err := f.in.Tasks(ctx, q)
	return p, f.lost("Tasks", err)
}

func (f *forgetful) Orphans(ctx context.Context, limit int) ([]string, error) {
	ids, err := f.in.Orphans(ctx, limit)
	return ids, f.lost("Orphans", err)
}

func (f *forgetful) CloseTask(ctx context.Context, id string, c store.Closing) error {
	return f.lost("CloseTask", f.in.CloseTask(ctx, id, c))
}

func (f *forgetful) AppendLog(ctx context.Context, turn string, a store.Append) error {
	return f.lost("AppendLog", f.in.AppendLog(ctx, turn, a))
}

func (f *forgetful) ReadLog(ctx context.Context, turn string, after, limit int) ([]store.Entry, error) {
	all, err := f.in.ReadLog(ctx, turn, after, limit)
	return all, f.lost("ReadLog", err)
}

func (f *forgetful) LogLeft(ctx context.Context, turn string) (time.Duration, error) {
	left, err := f.in.LogLeft(ctx, turn)
	return left, f.lost("LogLeft", err)
}

func (f *forgetful) DropLog(ctx context.Context, turn string) error {
	return f.lost("DropLog", f.in.DropLog(ctx, turn))
}

func (f *forgetful) RenewLease(ctx context.Context, h store.Holder, ttl time.Duration) error {
	return f.lost("RenewLease", f.in.RenewLease(ctx, h, ttl))
}

func (f *forgetful) ReleaseLease(ctx context.Context, h store.Holder) error {
	return f.lost("ReleaseLease", f.in.ReleaseLease(ctx, h))
}

func (f *forgetful) LeasesAlive(ctx context.Context, holders ...store.Holder) ([]bool, error) {
	alive, err := f.in.LeasesAlive(ctx, holders...)
	return alive, f.lost("LeasesAlive", err)
}

func (f *forgetful) Value(ctx context.Context, key string) (store.Value, error) {
	v, err := f.in.Value(ctx, key)
	return v, f.lost("Value", err)
}

func (f *forgetful) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	there, err := f.in.PutValue(ctx, key, v, ttl)
	return there, f.lost("PutValue", err)
}

func (f *forgetful) KeepValue(ctx context.Context, key string, ttl time.Duration) error {
	return f.lost("KeepValue", f.in.KeepValue(ctx, key, ttl))
}

func (f *forgetful) DeleteValue(ctx context.Context, key string) error {
	return f.lost("DeleteValue", f.in.DeleteValue(ctx, key))
}

func (f *forgetful) PushList(ctx context.Context, key string, item []byte, b store.Bounds, ttl time.Duration) error {
	return f.lost("PushList", f.in.PushList(ctx, key, item, b, ttl))
}

func (f *forgetful) KeepList(ctx context.Context, key string, ttl time.Duration) error {
	return f.lost("KeepList", f.in.KeepList(ctx, key, ttl))
}

func (f *forgetful) List(ctx context.Context, key string, from, limit int) ([][]byte, error) {
	items, err := f.in.List(ctx, key, from, limit)
	return items, f.lost("List", err)
}

func (f *forgetful) CutList(ctx context.Context, key string, length int) error {
	return f.lost("CutList", f.in.CutList(ctx, key, length))
}

func (f *forgetful) DeleteList(ctx context.Context, key string) error {
	return f.lost("DeleteList", f.in.DeleteList(ctx, key))
}

func (f *forgetful) PutIndex(ctx context.Context, name string, m store.Member, ttl time.Duration) error {
	return f.lost("PutIndex", f.in.PutIndex(ctx, name, m, ttl))
}

func (f *forgetful) RemoveIndex(ctx context.Context, name, id string) error {
	return f.lost("RemoveIndex", f.in.RemoveIndex(ctx, name, id))
}

func (f *forgetful) Index(ctx context.Context, name string, r store.Range) ([]store.Member, error) {
	found, err := f.in.Index(ctx, name, r)
	return found, f.lost("Index", err)
}

func (f *forgetful) CountIndex(ctx context.Context, name string) (int64, error) {
	n, err := f.in.CountIndex(ctx, name)
	return n, f.lost("CountIndex", err)
}

func (f *forgetful) AddCounter(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	n, err := f.in.AddCounter(ctx, key, delta, ttl)
	return n, f.lost("AddCounter", err)
}

func (f *forgetful) Counter(ctx context.Context, key string) (int64, error) {
	n, err := f.in.Counter(ctx, key)
	return n, f.lost("Counter", err)
}

func (f *forgetful) Signal(ctx context.Context, topic string) error {
	return f.lost("Signal", f.in.Signal(ctx, topic))
}

func (f *forgetful) Watch(topic string) *store.Watch { return f.in.Watch(topic) }

// Close does nothing: the engine outlives the store.
func (f *forgetful) Close() error { return nil }

// forgetfulEnder is forgetful around an engine that is a store.Ender.
type forgetfulEnder struct{ *forgetful }

// EndTurn implements store.Ender.
func (f forgetfulEnder) EndTurn(ctx context.Context, e store.End) error {
	return f.lost("EndTurn", f.in.(store.Ender).EndTurn(ctx, e))
}

func (f *forgetful) ChargeRates(ctx context.Context, c store.Charge) (store.Charged, error) {
	charged, err := f.in.ChargeRates(ctx, c)
	return charged, f.lost("ChargeRates", err)
}
