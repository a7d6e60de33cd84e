package handlers

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Readers of turns have places besides those of turns: four of each turn, a tenth of all.
// Those beyond them are like turns.
func TestReadersHavePlacesOfTheirOwn(t *testing.T) {
	t.Parallel()
	g := newGate(100, nil)
	var leave []func()
	for i := range 100 {
		in, err := g.admitStream(t.Context())
		if err != nil {
			t.Fatal(i, err)
		}
		leave = append(leave, in.leave)
	}
	read := func(turn string) bool {
		in, err := g.admitReader(t.Context(), turn)
		if err == nil {
			leave = append(leave, in.leave)
		}
		return err == nil
	}
	admitted := ""
	for range 6 {
		for turn := range 4 {
			if read(fmt.Sprint("turn_", turn)) {
				admitted += fmt.Sprint(turn)
			}
		}
	}
	if admitted != "0123012301" {
		t.Errorf("admitted were readers of %q", admitted)
	}
	if _, err := g.admitStream(t.Context()); err == nil {
		t.Error("readers have made room for a turn")
	}
	for _, left := range leave[1:] {
		left()
	}
	leave = leave[:1]
	for range 6 {
		if !read("turn_0") {
			t.Error("a reader was refused")
		}
	}
	if g.countActive() != 7 || g.reading != 4 || len(g.byTurn) != 1 {
		t.Errorf("%d streams, %d readers of %v", g.countActive(), g.reading, g.byTurn)
	}
}

// Under overload readers are admitted while turns are refused, and count for nothing in what
// admission goes by.
func TestReadersUnderOverload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate(10_000, func() time.Duration { return time.Second })
		turns, refused := 0, 0
		for range 1000 {
			time.Sleep(lookEvery / 10)
			if _, err := g.admitStream(t.Context()); err != nil {
				refused++
			} else {
				turns++
			}
			in, err := g.admitReader(t.Context(), "turn_1")
			if err != nil {
				t.Fatal("a reader was refused")
			}
			in.leave()
		}
		if refused == 0 || g.countActive() != turns || g.adaptive.ended != 0 {
			t.Errorf("%d turns refused, %d streams, %d ended", refused, g.countActive(), g.adaptive.ended)
		}
	})
}
