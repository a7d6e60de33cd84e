package memory_test

import (
	"testing"

	"sluice/store"
	"sluice/store/memory"
	"sluice/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return memory.New(memory.Config{}) })
}

func BenchmarkStore(b *testing.B) { storetest.Bench(b, memory.New(memory.Config{})) }
