//go:build unix

package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/engine/workflow/records"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/state/store/redis"
	"sluice/internal/state/store/redis/redistest"
	"sluice/internal/state/store/sqlite"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// chainOf is a workflow of tool nodes in a row, each of which calls s/echo.
func chainOf(tb testing.TB, n int) *graph.Workflow {
	tb.Helper()
	var nodes, edges []string
	for i := range n {
		nodes = append(nodes, fmt.Sprintf(`{"id":"n%d","type":"tool","tool":"s/echo"}`, i))
		if i > 0 {
			edges = append(edges, fmt.Sprintf(`{"from":"n%d","to":"n%d"}`, i-1, i))
		}
	}
	w, err := graph.Read([]byte(`{"name":"chain","entry_point":"n0","max_iterations":1000,"timeout":600000000000,"nodes":[`+
		strings.Join(nodes, ",")+`],"edges":[`+strings.Join(edges, ",")+`]}`), engine.Kinds())
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// echoing answers every call with the same text.
type echoing struct{ text string }

func (e echoing) Tools(context.Context) *tool.Set {
	return &tool.Set{Specs: []tool.Spec{{Name: "echo", Server: "s", Annotations: tool.Annotations{ReadOnly: true}}}}
}

func (e echoing) Call(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{ID: c.ID, Name: c.Name, Text: e.text}, nil
}

func (echoing) Named(context.Context, string, string) string { return "echo" }

// benchStores are the stores of the benchmarks.
func benchStores(b *testing.B) map[string]store.Store {
	b.Helper()
	file, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "s.db")})
	if err != nil {
		b.Fatal(err)
	}
	server := redistest.Start(b, "redis-server", os.Getenv("SLUICE_REQUIRE_PEERS") != "")
	all := map[string]store.Store{"memory": memory.New(memory.Config{}), "sqlite": file, "redis": redis.New(redis.Config{Location: server.Location(), Prefix: "b:"})}
	b.Cleanup(func() {
		for _, s := range all {
			_ = s.Close()
		}
	})
	return all
}

// gaps measures the time from the end of each node to the first event of the next one.
type gaps struct {
	ended time.Time
	all   []time.Duration
}

func (g *gaps) Emit(ev stream.Event) error {
	if e, ok := ev.(*stream.NodeRun); ok && e.Status == stream.NodeStarted && !g.ended.IsZero() {
		g.all = append(g.all, time.Since(g.ended))
	}
	return nil
}

func (*gaps) Flush() error { return nil }

// timed notes when a tool, and with it its node, is done.
type timed struct {
	echoing
	g *gaps
}

func (t timed) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	defer func() { t.g.ended = time.Now() }()
	return t.echoing.Call(ctx, c)
}

// BenchmarkNodeToNode is a row of 100 nodes: the delay from the end of a node's work to the
// first event of the next one, with its checkpoint between them.
func BenchmarkNodeToNode(b *testing.B) {
	for name, in := range benchStores(b) {
		b.Run(name, func(b *testing.B) {
			g, w := new(gaps), chainOf(b, 100)
			rs := records.NewRunStore(records.RunStoreConfig{Store: in, Wait: time.Hour})
			r := engine.New(engine.Config{Workflow: w, Tools: timed{echoing{"ok"}, g}, Records: rs.Records})
			n := 0
			for b.Loop() {
				n++
				g.ended = time.Time{}
				if _, err := r.Run(b.Context(), &chat.Request{Input: "x", Keeping: chat.Keeping{Task: name + strconv.Itoa(n)}}, g); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(percentile(g.all, 50).Microseconds()), "p50-µs")
			b.ReportMetric(float64(percentile(g.all, 99).Microseconds()), "p99-µs")
		})
	}
}

func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)*p/100]
}

// BenchmarkStoredBytes is a run of 100 nodes with messages of 10 KiB: what the store holds
// at its end, as a multiple of the messages, and what was written to come there.
func BenchmarkStoredBytes(b *testing.B) {
	const size = 10 << 10
	w, text := chainOf(b, 100), strings.Repeat("x", size)
	for b.Loop() {
		in := &weighed{Store: memory.New(memory.Config{})}
		rs := records.NewRunStore(records.RunStoreConfig{Store: in, Wait: time.Hour})
		r := engine.New(engine.Config{Workflow: w, Tools: echoing{text}, Records: rs.Records})
		if _, err := r.Run(b.Context(), &chat.Request{Input: "x", Keeping: chat.Keeping{Task: "task_1"}}, new(gaps)); err != nil {
			b.Fatal(err)
		}
		held := 0
		for _, key := range []string{store.CheckpointsKey("task_1"), store.MessagesKey("task_1")} {
			items, err := in.List(b.Context(), key, 0, 0)
			if err != nil {
				b.Fatal(err)
			}
			for _, item := range items {
				held += len(item)
			}
		}
		run, err := in.Value(b.Context(), store.RunKey("task_1"))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(held+len(run.Data))/(100*size), "held/messages")
		b.ReportMetric(float64(in.written.Load())/(100*size), "written/messages")
	}
}

// weighed counts what is written.
type weighed struct {
	store.Store
	written atomic.Int64
}

func (w *weighed) PutValue(ctx context.Context, key string, v store.Value, ttl time.Duration) (store.Value, error) {
	w.written.Add(int64(len(v.Data)))
	return w.Store.PutValue(ctx, key, v, ttl)
}

func (w *weighed) PushList(ctx context.Context, key string, item []byte, bounds store.Bounds, ttl time.Duration) error {
	w.written.Add(int64(len(item)))
	return w.Store.PushList(ctx, key, item, bounds, ttl)
}

// BenchmarkWaiting is 10,000 runs that wait, in SQLite: goroutines and memory of the
// gateway for each, and how often it asks the store whether a wait is over.
func BenchmarkWaiting(b *testing.B) {
	const waiting = 10_000
	file := "agents: {a: {description: x}}\nworkflows: {ask: {nodes: {h: {type: human, prompt: q}}}}\n"
	for b.Loop() {
		db, err := sqlite.Open(b.Context(), sqlite.Config{Path: filepath.Join(b.TempDir(), "s.db")})
		if err != nil {
			b.Fatal(err)
		}
		in := &counting{Store: db}
		cfg, read := wholetest.Configured(b, file, nil)
		g, err := gateway.New(b.Context(), settings.Config{Config: cfg, File: read, Version: "test"}, zerolog.Nop(), gateway.Seams{Store: in})
		if err != nil {
			b.Fatal(err)
		}
		flow := g.BareFlow("ask")
		began, routines := held(), runtime.NumGoroutine()
		for i := range waiting {
			req := &chat.Request{Input: "x", Keeping: chat.Keeping{Task: chat.TaskPrefix + strconv.Itoa(i)}, UserID: strconv.Itoa(i)}
			req.Facts.Ask = func(*chat.Paused) string { return "" }
			if _, err := flow.Run(b.Context(), req, new(gaps)); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(held()-began)/waiting, "B/waiting")
		b.ReportMetric(float64(runtime.NumGoroutine()-routines), "goroutines")
		before := in.due.Load()
		time.Sleep(10 * time.Second)
		b.ReportMetric(float64(in.due.Load()-before)/2, "queries/5s")
		g.Close()
		_ = db.Close()
	}
}

// counting counts the queries of what is due.
type counting struct {
	store.Store
	due atomic.Int64
}

func (a *counting) Index(ctx context.Context, name string, r store.Range) ([]store.Member, error) {
	if name == store.DueIndex {
		a.due.Add(1)
	}
	return a.Store.Index(ctx, name, r)
}

// held returns the bytes in use.
func held() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
