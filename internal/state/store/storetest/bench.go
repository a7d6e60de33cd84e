// This file measures engines with the same work, so that their figures can be compared. It
// is called from the benchmarks of each engine.

package storetest

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"sluice/internal/state/store"
)

// flushes is how many appends a usual turn has, and entryBytes the size of each: some deltas, as
// events are stored.
const (
	flushes    = 20
	entryBytes = 300
)

// Bench measures an engine: an append, and all commands of a whole turn.
func Bench(b *testing.B, s store.Store) {
	b.Run("append", func(b *testing.B) {
		data := bytes.Repeat([]byte("x"), entryBytes)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			n, turn := i%1000+1, "a"+strconv.Itoa(i/1000)
			fatalOn(b, s.AppendLog(b.Context(), turn, store.Append{Entry: store.Entry{N: n, Data: data}, At: n - 1, TTL: time.Minute}))
		}
	})
	b.Run("turn", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			Turn(b, s, strconv.Itoa(i))
		}
	})
	b.Run("read of 2000", func(b *testing.B) {
		for n := 1; n <= 2000; n++ {
			fatalOn(b, s.AppendLog(b.Context(), "r", store.Append{Entry: store.Entry{N: n, Data: make([]byte, entryBytes)}, At: n - 1, TTL: time.Minute}))
		}
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for e, err := range store.Follow(b.Context(), s, "r", 0) {
				fatalOn(b, err)
				if n++; e.N == 2000 {
					break
				}
			}
		}
	})
}

// fatalOn ends a benchmark at an error: the figures of one that fails mean nothing.
func fatalOn(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// Turn runs the commands of a turn with an idempotency key and memory.
//
// id must be new for each call, since values and logs are created.
func Turn(b *testing.B, s store.Store, id string) {
	ctx, doc, data := b.Context(), bytes.Repeat([]byte("d"), 2000), bytes.Repeat([]byte("x"), entryBytes)
	_, err := s.PutValue(ctx, store.IdempotencyKey("", "u", id), store.Value{Data: data[:64]}, time.Minute)
	fatalOn(b, err)
	holder := store.Holder{Owner: "g", Epoch: 1}
	fatalOn(b, s.CreateTask(ctx, id, store.Task{Doc: doc, Meta: store.Meta{Holder: holder, User: "u", Conversation: id, Turn: id, State: "working", Created: time.Now()}}, time.Minute))
	_, err = s.List(ctx, store.MemoryKey("", "u", id), 0, 0)
	fatalOn(b, err)
	for n := 1; n <= flushes; n++ {
		fatalOn(b, s.AppendLog(ctx, id, store.Append{Entry: store.Entry{N: n, Data: data}, At: n - 1, TTL: time.Minute}))
	}
	fatalOn(b, s.UpdateTask(ctx, id, store.Task{Doc: doc, Meta: store.Meta{Version: 1, Turn: id, State: "completed"}}, time.Minute))
	fatalOn(b, s.PushList(ctx, store.MemoryKey("", "u", id), doc, store.Bounds{Items: 50}, time.Minute))
	fatalOn(b, s.KeepValue(ctx, store.IdempotencyKey("", "u", id), time.Minute))
}
