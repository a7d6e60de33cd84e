package channel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sluice/internal/quality/channel"
)

// endsAfter is a context that ends when it was looked at so many times.
type endsAfter struct {
	context.Context
	looks, left int
}

func (c *endsAfter) Err() error {
	if c.looks++; c.looks > c.left {
		return context.Canceled
	}
	return nil
}

// A text whose reader has left is not worded to its end: not while it is parsed, nor while
// it is written, nor cut.
func TestWordingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"marks":     strings.Repeat("_a*", 10_000),
		"lines":     strings.Repeat("a\n", 1<<17),
		"items":     strings.Repeat("- **b** [a](http://b.c)\n", 1_500),
		"sentences": strings.Repeat("A sentence of words. ", 6_000),
		"emojis":    strings.Repeat("👍 ", 25_000),
		"cells":     strings.Repeat("|a|b|c|\n|-|-|-|\n|c|d|e|\n\n", 1_200),
	}
	for _, name := range []string{channel.SMS, channel.WhatsApp, channel.Teams, channel.Email, channel.Plain} {
		f := channel.New(builtin(name))
		for of, text := range texts {
			whole := &endsAfter{Context: t.Context(), left: 1 << 30}
			if _, err := f.Format(whole, channel.Input{Text: text}); err != nil {
				t.Fatal(err)
			}
			for _, left := range []int{0, 1, whole.looks / 4, whole.looks / 2, whole.looks - 1} {
				ctx := &endsAfter{Context: t.Context(), left: left}
				r, err := f.Format(ctx, channel.Input{Text: text})
				if err == nil || r != nil {
					t.Fatalf("%s, %s: goes on when its context has ended at look %d of %d", of, name, left, whole.looks)
				}
				if ctx.looks > left+10 {
					t.Errorf("%s, %s: looks %d times after the end at %d", of, name, ctx.looks-left, left)
				}
			}
		}
		if _, err := f.Format(t.Context(), channel.Input{Text: "a"}); err != nil {
			t.Errorf("%s: %v after texts that were given up", name, err)
		}
	}
}

// A client that leaves is the cause.
func TestWordingSaysWhyItEnded(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := channel.New(builtin(channel.SMS)).Format(ctx, channel.Input{Text: "*a*"}); !errors.Is(err, gone) {
		t.Errorf("the error is %v", err)
	}
}
