package gateway_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/app/gateway"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/app/settings"
	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// reads is a store that counts what it is asked for.
type reads struct {
	store.Store
	mu sync.Mutex // guards by
	by map[string]int
}

func (r *reads) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by[what]++
}

// since returns what was asked for since it was asked last.
func (r *reads) since() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	by := r.by
	r.by = map[string]int{}
	return by
}

func (r *reads) Task(ctx context.Context, id string) (store.Task, error) {
	r.count("task")
	return r.Store.Task(ctx, id)
}

func (r *reads) Value(ctx context.Context, key string) (store.Value, error) {
	r.count("value")
	return r.Store.Value(ctx, key)
}

func (r *reads) ReadLog(ctx context.Context, turn string, after, limit int) ([]store.Entry, error) {
	r.count("log")
	return r.Store.ReadLog(ctx, turn, after, limit)
}

func (r *reads) List(ctx context.Context, key string, from, limit int) ([][]byte, error) {
	r.count("list")
	return r.Store.List(ctx, key, from, limit)
}

func (r *reads) Index(ctx context.Context, name string, of store.Range) ([]store.Member, error) {
	r.count("index")
	return r.Store.Index(ctx, name, of)
}

// allocated returns how many bytes the process has allocated.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// median returns the one in the middle.
func median[T ~int64 | ~uint64](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

// What is another's costs what does not exist costs: the same commands to the store, about as much memory,
// and a time that shows nothing. What is there is large, so that reading it would be seen.
func TestAnothersIsAsFastAsUnknown(t *testing.T) {
	cfg, file := wholetest.Configured(t, "a2a: {enabled: true}\nmemory: {enabled: true}\n", map[string]string{"SLUICE_CONFIRM": "writes"})
	asked := &reads{Store: memory.New(memory.Config{}), by: map[string]int{}}
	g, err := gateway.New(t.Context(), settings.Config{Config: cfg, File: file, Version: "test"}, zerolog.New(io.Discard), gateway.Seams{Store: asked, Door: wholetest.Door{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	long := strings.Repeat("All work and no play. ", 1000)
	var b belongings
	turn := askWith(g, "POST", "/chat/stream", "t/ann", `{"input":"`+long[:4900]+`","accumulated":false}`).body
	b.task, b.turn = member(turn, "task_id"), member(turn, "turn_id")
	b.waits = b.task
	var items strings.Builder
	for i := range 20 {
		fmt.Fprintf(&items, `{"role":"%s","content":"%s"},`, []string{"user", "assistant"}[i%2], long)
	}
	b.response = member(askWith(g, "POST", "/v1/responses", "t/ann", `{"model":"sluice","input":[`+items.String()+`{"role":"user","content":"`+long[:4900]+`"}]}`).body, "id")
	b.thread = member(askWith(g, "POST", "/chatkit", "t/ann", `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"`+long[:4900]+`"}],"attachments":[],"inference_options":{}}}}`).body, "id")
	if b.task == "" || b.response == "" || b.thread == "" {
		t.Fatalf("%+v: %.300s", b, turn)
	}
	b.event = b.turn + ":1"
	none := func(id string) string { return id[:len(id)-4] + "zzzz" }
	nobody := belongings{task: none(b.task), turn: none(b.turn), waits: none(b.waits), response: none(b.response), thread: none(b.thread), event: none(b.turn) + ":1"}
	for i, w := range b.ways() {
		ghost := nobody.ways()[i]
		for _, who := range []string{"u/eve", "t/eve"} {
			t.Run(who+" "+w.method+" "+w.path, func(t *testing.T) {
				var memory [2][]uint64
				var times [2][]time.Duration
				var commands [2]map[string]int
				for range 60 {
					for j, way := range []way{w, ghost} {
						asked.since()
						before, began := allocated(), time.Now()
						_ = askWith(g, way.method, way.path, who, way.body, headers(way.header)...)
						times[j] = append(times[j], time.Since(began))
						memory[j] = append(memory[j], allocated()-before)
						commands[j] = asked.since()
					}
				}
				const slack = 32 << 10 // what the runtime hands out at a time is counted as a whole
				if !maps.Equal(commands[0], commands[1]) || median(memory[0]) > median(memory[1])+slack {
					t.Errorf("another's costs %v and %d bytes, what does not exist %v and %d", commands[0], median(memory[0]), commands[1], median(memory[1]))
				}
				if a, b := median(times[0]), median(times[1]); a > 20*b+time.Millisecond {
					t.Errorf("another's takes %v, what does not exist %v", a, b)
				}
				t.Logf("%v: %d and %d bytes, %v and %v", commands[0], median(memory[0]), median(memory[1]), median(times[0]), median(times[1]))
			})
		}
	}
}
