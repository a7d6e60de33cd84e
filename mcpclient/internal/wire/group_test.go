package wire

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

func TestGroupThatStoppedStartsNothing(t *testing.T) {
	t.Parallel()
	c := &Group{}
	ctx, cancel := context.WithCancel(t.Context())
	c.Run(func() { <-ctx.Done() })
	if c.Stop(0) {
		t.Error("a goroutine that runs was not waited for")
	}
	cancel()
	if !c.Stop(1 << 40) {
		t.Error("the group did not end")
	}
	if c.Run(func() {}) {
		t.Error("a group that stopped started another goroutine")
	}
}

func TestGroupContainsAPanic(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := NewGroup(zerolog.New(&log))
	c.Run(func() { panic("boom") })
	c.Stop(1 << 40)
	if !strings.Contains(log.String(), "panic_recovered") {
		t.Errorf("the log is %q", log.String())
	}
}
