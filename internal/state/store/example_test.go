package store_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
)

// A log takes an entry only behind the last one, so two writers cannot both append.
func ExampleLogs() {
	ctx, engine := context.Background(), memory.New(memory.Config{})
	defer func() { _ = engine.Close() }()
	var logs store.Logs = engine
	first := store.Append{Entry: store.Entry{N: 2, Data: []byte("start, delta")}, TTL: time.Hour}
	fmt.Println(logs.AppendLog(ctx, "turn_1", first))
	end, ok := errors.AsType[*store.EndError](logs.AppendLog(ctx, "turn_1", first))
	fmt.Println(ok, end.End)
	entries, err := logs.ReadLog(ctx, "turn_1", 0, 10)
	fmt.Println(len(entries), string(entries[0].Data), err)
	// Output:
	// <nil>
	// true 2
	// 1 start, delta <nil>
}

// A value is replaced only by a caller who has seen its last version.
func ExampleValues() {
	ctx, engine := context.Background(), memory.New(memory.Config{})
	defer func() { _ = engine.Close() }()
	var values store.Values = engine
	made, err := values.PutValue(ctx, "memory:ann", store.Value{Data: []byte("tea")}, time.Hour)
	fmt.Println(made.Version, err)
	there, err := values.PutValue(ctx, "memory:ann", store.Value{Data: []byte("coffee")}, time.Hour)
	fmt.Println(string(there.Data), errors.Is(err, store.ErrConflict))
	there.Data = []byte("coffee")
	there, err = values.PutValue(ctx, "memory:ann", there, time.Hour)
	fmt.Println(there.Version, err)
	// Output:
	// 1 <nil>
	// tea true
	// 2 <nil>
}

// A process keeps its turns as long as it renews its lease. A later process of the same name has a
// greater epoch, and the earlier one cannot renew.
func ExampleLeases() {
	ctx, engine := context.Background(), memory.New(memory.Config{})
	defer func() { _ = engine.Close() }()
	var leases store.Leases = engine
	before, after := store.Holder{Owner: "gateway-1", Epoch: 1}, store.Holder{Owner: "gateway-1", Epoch: 2}
	fmt.Println(leases.RenewLease(ctx, before, time.Minute), leases.RenewLease(ctx, after, time.Minute))
	fmt.Println(errors.Is(leases.RenewLease(ctx, before, time.Minute), store.ErrConflict))
	alive, err := leases.LeasesAlive(ctx, before, after)
	fmt.Println(alive, err)
	// Output:
	// <nil> <nil>
	// true
	// [false true] <nil>
}

// Tasks are listed by tenant and user, newest first.
func ExampleTasks() {
	ctx, engine := context.Background(), memory.New(memory.Config{})
	defer func() { _ = engine.Close() }()
	var tasks store.Tasks = engine
	for i, id := range []string{"task_1", "task_2"} {
		task := store.Task{Doc: []byte(`{}`), Meta: store.Meta{User: "ann", State: "completed", Created: time.UnixMilli(int64(i))}}
		if err := tasks.CreateTask(ctx, id, task, time.Hour); err != nil {
			fmt.Println(err)
		}
	}
	page, err := tasks.Tasks(ctx, store.Query{User: "ann", Limit: 10})
	fmt.Println(page.IDs, err)
	// Output: [task_2 task_1] <nil>
}

// A signal wakes every process that watches its topic.
func ExampleSignals() {
	engine := memory.New(memory.Config{})
	defer func() { _ = engine.Close() }()
	var signals store.Signals = engine
	watch := signals.Watch("log:turn_1")
	defer watch.Stop()
	<-watch.C // the watch stands
	fmt.Println(signals.Signal(context.Background(), "log:turn_1"))
	<-watch.C
	fmt.Println("read the log again")
	// Output:
	// <nil>
	// read the log again
}
