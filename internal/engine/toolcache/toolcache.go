// Package toolcache caches results of tools that change nothing, so that a repeated call need not
// run.
//
// A cached result belongs to a user, unless the operator lets all share it, and to a generation of
// its server. A call that may change something begins a new generation before it runs and after.
// Then earlier results, and those read meanwhile, are not found any more.
//
// A cache that cannot be reached is as good as an empty one: the tool runs. Results of failed calls
// and results above a bound are not cached.
package toolcache

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

const (
	// maxResult is the longest text that is kept.
	maxResult = 32 << 10
	// generationLives is how long a generation is remembered, from its beginning. A new generation
	// follows a forgotten one.
	generationLives = time.Hour
	// maxRaise bounds the steps from one generation to the next. They are random, so that a
	// forgotten generation does not come again.
	maxRaise = 1 << 20
)

// Outcomes of a lookup, in the metric.
const (
	hit    = "hit"
	miss   = "miss"
	failed = "error" // the keeper could not be asked
)

// Source runs the tools.
type Source interface {
	// Tools returns the tools that can be called now.
	Tools(ctx context.Context) *tool.Set
	// Call runs one tool.
	Call(ctx context.Context, call tool.Call) (tool.Result, error)
	// KnownTool returns the tool that a model knows by name, or nil. It waits for nothing.
	KnownTool(name string) *tool.Info
}

// Keeper caches results as values, and counts the generations of each server. Package store
// describes the methods.
type Keeper interface {
	Value(ctx context.Context, key string) (store.Value, error)
	PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error)
	AddCounter(ctx context.Context, key string, delta int64, ttl time.Duration) (int64, error)
	Counter(ctx context.Context, key string) (int64, error)
}

// Cache is what all sources of a process share. It is safe for concurrent use. Use New.
type Cache struct {
	keeper  Keeper
	lookups metrics.Counter

	mu sync.Mutex // guards the field below
	// unsettled are servers whose generation could not be raised. Lookups for them stop until a
	// raise has succeeded.
	unsettled map[string]bool
}

// New returns a Cache. Without a keeper it caches in this process; m may be nil.
func New(keeper Keeper, m *metrics.Registry) *Cache {
	if keeper == nil {
		keeper = newLocal()
	}
	return &Cache{
		keeper:    keeper,
		lookups:   m.Counter("tool_cache_total", "Calls of tools whose results are kept, by what became of the lookup.", "server", "outcome"),
		unsettled: map[string]bool{},
	}
}

// Tools are those of a Source, some of them with their results kept.
type Tools struct {
	Source
	cache *Cache
}

// Around returns the tools of a source, with cached results.
func (c *Cache) Around(s Source) *Tools { return &Tools{s, c} }

// Call returns the cached result of a tool that changes nothing, marked as Cached, or else runs the
// tool. If the keeper is unavailable, the call still gets its result.
func (t *Tools) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	known := t.KnownTool(call.Name)
	if known == nil || len(known.Policy.Cache) == 0 {
		return t.Source.Call(ctx, call)
	}
	if !known.Annotations.ReadOnly {
		return t.runChanging(ctx, known.Server, call)
	}
	ttl := known.Policy.Cache[known.Name]
	e, may := entryOf(ctx, known, call)
	if ttl == 0 || !may {
		return t.Source.Call(ctx, call)
	}
	return t.readOrRun(ctx, e, ttl, call)
}

// runChanging runs a tool that may change something.
func (t *Tools) runChanging(ctx context.Context, server string, call tool.Call) (tool.Result, error) {
	kept := context.WithoutCancel(ctx) // the keeper has a time limit of its own
	t.cache.raiseGeneration(kept, server)
	defer t.cache.raiseGeneration(kept, server)
	return t.Source.Call(ctx, call)
}

// readOrRun returns the cached result of a call, or runs the tool and caches its result.
func (t *Tools) readOrRun(ctx context.Context, e entry, ttl time.Duration, call tool.Call) (tool.Result, error) {
	c := t.cache
	generation, err := c.currentGeneration(ctx, e.server)
	if err != nil {
		c.lookups.Inc(e.server, failed)
		return t.Source.Call(ctx, call)
	}
	key := e.cacheKey(generation)
	v, err := c.keeper.Value(ctx, key)
	if err == nil {
		c.lookups.Inc(e.server, hit)
		return tool.Result{ID: call.ID, Name: call.Name, Text: string(v.Data), Cached: true}, nil
	}
	outcome := failed
	if errors.Is(err, store.ErrNotFound) {
		outcome = miss
	}
	c.lookups.Inc(e.server, outcome)
	result, err := t.Source.Call(ctx, call)
	if err == nil && outcome == miss && isKept(&result) {
		// Somebody else may have kept the same meanwhile, or nothing can be kept now: in
		// either case the next call finds out.
		_, _ = c.keeper.PutValue(ctx, key, store.Value{Data: []byte(result.Text)}, ttl)
	}
	return result, err
}

func isKept(r *tool.Result) bool { return !r.IsError && len(r.Text) <= maxResult }

// currentGeneration returns a server's generation; it is never 0.
func (c *Cache) currentGeneration(ctx context.Context, server string) (int64, error) {
	c.mu.Lock()
	unsettled := c.unsettled[server]
	c.mu.Unlock()
	if unsettled {
		return c.raiseGeneration(ctx, server)
	}
	n, err := c.keeper.Counter(ctx, store.GenerationKey(server))
	if err != nil || n != 0 {
		return n, err
	}
	return c.raiseGeneration(ctx, server)
}

// raiseGeneration begins a new generation of a server.
func (c *Cache) raiseGeneration(ctx context.Context, server string) (int64, error) {
	n, err := c.keeper.AddCounter(ctx, store.GenerationKey(server), 1+rand.Int64N(maxRaise), generationLives)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.unsettled[server] = true
	} else {
		delete(c.unsettled, server)
	}
	return n, err
}

// entry names the cached result of a call, in any generation.
type entry struct{ tenant, user, server, tool, arguments string }

// cacheKey is where a result is kept. It has everything that a result may depend on;
// the generation grows when a server's results may have changed.
func (e entry) cacheKey(generation int64) string {
	return store.CacheKey(e.tenant, e.user, e.server, e.tool, e.arguments, generation)
}

// entryOf returns the entry of a call. A call without a user lacks an entry, unless all share the
// results. So does a call whose arguments are not JSON. Integers stay as they are written: as
// floating-point numbers, ids beyond 2^53 would become equal.
func entryOf(ctx context.Context, known *tool.Info, call tool.Call) (e entry, may bool) {
	who := chat.TurnOf(ctx).Caller
	e = entry{tenant: who.Tenant, user: who.Key, server: known.Server, tool: known.Name}
	if known.Policy.CacheShared {
		e.user = ""
	} else if e.user == "" {
		return entry{}, false
	}
	arguments := call.Arguments.Clone()
	if arguments.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		return entry{}, false
	}
	e.arguments = string(arguments)
	return e, true
}
