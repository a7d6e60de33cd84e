package stack_test

import (
	"encoding/json"
	"runtime"
	"sync"
	"testing"

	"sluice/internal/base/stack"
)

// What is made room for is there: the stacks of goroutines that wait have it.
func TestReserve(t *testing.T) {
	const goroutines = 200
	begin := func(reserve bool) int {
		var ready, ended sync.WaitGroup
		end := make(chan struct{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range goroutines {
			ready.Add(1)
			ended.Go(func() {
				if reserve {
					stack.Reserve()
				}
				ready.Done()
				<-end
			})
		}
		ready.Wait()
		runtime.ReadMemStats(&after)
		close(end)
		ended.Wait()
		return int(after.StackInuse-before.StackInuse) / goroutines
	}
	if got, least := begin(true), 7<<10; got < least {
		t.Errorf("a stack has %d bytes, want at least %d", got, least)
	}
}

// BenchmarkReserve is a goroutine that encodes JSON from some way down, with and without
// room made for it.
func BenchmarkReserve(b *testing.B) {
	value := map[string]any{"name": "create_todo", "arguments": map[string]any{"title": "review", "tags": []any{"a", 1, true}}}
	for _, reserve := range []bool{true, false} {
		b.Run(map[bool]string{true: "reserved", false: "grown"}[reserve], func(b *testing.B) {
			for b.Loop() {
				var ended sync.WaitGroup
				ended.Go(func() {
					if reserve {
						stack.Reserve()
					}
					deep(b, 12, value)
				})
				ended.Wait()
			}
		})
	}
}

//go:noinline
func deep(b *testing.B, calls int, value any) byte {
	var frame [128]byte
	if calls > 0 {
		frame[calls] = deep(b, calls-1, value)
		return frame[calls]
	}
	if _, err := json.Marshal(value); err != nil {
		b.Error(err)
	}
	return frame[0]
}
