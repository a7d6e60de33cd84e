// Package memory keeps state in one process, for as long as it lives.
//
// It is for one process and for tests: a restart forgets all. Tasks, logs and values count against
// one bound of bytes. At the bound, tasks that have ended make room with all their records. The
// store refuses a write rather than remove a record of a turn that runs or waits. One mutex guards
// everything, and is never held during a wait. Calls remove expired records, so the package needs
// no goroutine.
package memory

import (
	"context"
	"sync"
	"time"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
)

// Defaults of Config.
const (
	defaultTasks = 10_000
	defaultBytes = 64 << 20
)

// overhead is about the size of a record besides its bytes.
const overhead = 200

// purgeEvery is the time between two searches for expired records.
const purgeEvery = time.Minute

// Config bounds the records of a Store. Its zero value works: 0 means the default. At a bound, tasks that have
// ended go with their records: those of the tenant, or of the user without a tenant, that has
// most, oldest first. If that is not enough, the store is full.
type Config struct {
	Tasks, Bytes int
	// Calls learns of the writes that did not fit. nil: with defaults.
	Calls *store.Calls
}

// Store is an engine. Use New.
type Store struct {
	cfg Config
	hub store.Hub

	mu       sync.Mutex // guards the fields below
	bytes    int
	now      time.Time // when the call began that holds mu
	purged   time.Time
	tasks    map[string]*task
	logs     map[string]*log
	leases   map[string]lease
	values   map[string]*value
	lists    map[string]*list
	indexes  map[string]*index
	counters map[string]counter
	rates    map[string]rate
	newest   map[conversation]*task // the newest of each
	named    map[string]int         // tasks of each conversation id, of all users
	shares   map[shareKey]*share
	ended    largest // shares with a task that can make room
}

// expiry is when a record is gone; the zero value is never.
type expiry time.Time

// expiryAfter is when a time to live ends; 0 lives for good. The caller must hold mu.
func (s *Store) expiryAfter(ttl time.Duration) expiry {
	if ttl == 0 {
		return expiry{}
	}
	return expiry(s.now.Add(ttl))
}

// hasPassed reports whether the time is over. The zero expiry never is.
func (e expiry) hasPassed(now time.Time) bool {
	return !time.Time(e).IsZero() && !now.Before(time.Time(e))
}

// remaining returns the time until then; 0: without an end.
func (e expiry) remaining(now time.Time) time.Duration {
	if time.Time(e).IsZero() {
		return 0
	}
	return time.Time(e).Sub(now)
}

// lease says that a process lives, under an epoch that grows with each start.
type lease struct {
	epoch int64
	until expiry
}

// counter is a number with its time to live.
type counter struct {
	n     int64
	until expiry
}

// New returns an empty Store.
func New(cfg Config) *Store {
	if cfg.Tasks == 0 {
		cfg.Tasks = defaultTasks
	}
	if cfg.Bytes == 0 {
		cfg.Bytes = defaultBytes
	}
	if cfg.Calls == nil {
		cfg.Calls = store.NewCalls(store.CallsConfig{})
	}
	return &Store{
		cfg: cfg, purged: time.Now(),
		tasks: map[string]*task{}, logs: map[string]*log{}, leases: map[string]lease{}, values: map[string]*value{},
		lists: map[string]*list{}, indexes: map[string]*index{}, counters: map[string]counter{}, rates: map[string]rate{},
		newest: map[conversation]*task{}, named: map[string]int{}, shares: map[shareKey]*share{},
	}
}

var _ store.Store = (*Store)(nil)

// Size returns how many bytes are kept, as Config.Bytes bounds them.
func (s *Store) Size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Close does nothing: the garbage collector does it.
func (s *Store) Close() error { return nil }

// Check reports how the store is: it is always there, and may be full.
func (s *Store) Check() health.Status {
	return health.Store{Kind: string(store.Memory), State: s.cfg.Calls.State(), Warnings: []string{}}
}

// Signal wakes all who watch topic.
func (s *Store) Signal(_ context.Context, topic string) error {
	s.hub.Signal(topic)
	return nil
}

// Watch begins to watch a topic.
func (s *Store) Watch(topic string) *store.Watch { return s.hub.Watch(topic) }

// lockStore begins a method. ctx is asked once, as all methods are short.
func (s *Store) lockStore(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	s.now = time.Now()
	if s.now.Sub(s.purged) >= purgeEvery {
		s.purged = s.now
		s.purgeExpired(s.now)
	}
	return nil
}

// purgeExpired removes expired records.
func (s *Store) purgeExpired(now time.Time) {
	removeExpired(s.tasks, func(t *task) expiry { return t.until }, now, s.removeTask)
	removeExpired(s.logs, func(l *log) expiry { return l.until }, now, s.removeLog)
	removeExpired(s.values, func(v *value) expiry { return v.until }, now, s.removeValue)
	removeExpired(s.lists, func(l *list) expiry { return l.until }, now, s.removeList)
	removeExpired(s.indexes, func(x *index) expiry { return x.until }, now, s.removeIndex)
	removeExpired(s.leases, func(l lease) expiry { return l.until }, now, func(owner string) { delete(s.leases, owner) })
	removeExpired(s.counters, func(c counter) expiry { return c.until }, now, func(key string) { delete(s.counters, key) })
	removeExpired(s.rates, func(r rate) expiry { return r.until }, now, func(key string) { delete(s.rates, key) })
}

// removeExpired removes those records whose time is over.
func removeExpired[R any](records map[string]R, until func(R) expiry, now time.Time, remove func(key string)) {
	for key, r := range records {
		if until(r).hasPassed(now) {
			remove(key)
		}
	}
}

// RenewLease takes or prolongs a lease.
func (s *Store) RenewLease(ctx context.Context, h store.Holder, ttl time.Duration) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if l, ok := s.leases[h.Owner]; ok && l.epoch > h.Epoch && !l.until.hasPassed(s.now) {
		return store.ErrConflict
	}
	s.leases[h.Owner] = lease{h.Epoch, s.expiryAfter(ttl)}
	return nil
}

// ReleaseLease gives a lease back.
func (s *Store) ReleaseLease(ctx context.Context, h store.Holder) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.leases[h.Owner].epoch == h.Epoch {
		delete(s.leases, h.Owner)
	}
	return nil
}

// LeasesAlive reports for each holder whether it has its lease.
func (s *Store) LeasesAlive(ctx context.Context, holders ...store.Holder) ([]bool, error) {
	if err := s.lockStore(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	alive := make([]bool, len(holders))
	for i, h := range holders {
		alive[i] = s.hasLease(h)
	}
	return alive, nil
}

// hasLease reports whether a holder's lease is current.
func (s *Store) hasLease(h store.Holder) bool {
	l, ok := s.leases[h.Owner]
	return ok && l.epoch == h.Epoch && !l.until.hasPassed(s.now)
}

// AddCounter counts.
func (s *Store) AddCounter(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error) {
	if err := s.lockStore(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	c := s.counters[key]
	if c.until.hasPassed(s.now) {
		c = counter{}
	}
	c = counter{c.n + delta, s.expiryAfter(ttl)}
	s.counters[key] = c
	return c.n, nil
}

// Counter returns the sum.
func (s *Store) Counter(ctx context.Context, key string) (int64, error) {
	if err := s.lockStore(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if c := s.counters[key]; !c.until.hasPassed(s.now) {
		return c.n, nil
	}
	return 0, nil
}
