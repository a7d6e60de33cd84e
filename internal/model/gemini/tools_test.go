package gemini

import (
	"testing"

	"sluice/internal/turn/tool"
)

// Sets that are in use at the same time are rendered once each, and those that are
// not asked for any more are let go.
func TestToolsAreRenderedOnce(t *testing.T) { // AllocsPerRun wants no others at the same time
	var c toolCache
	sets := make([]*tool.Set, 100)
	for i := range sets {
		sets[i] = &tool.Set{Specs: []tool.Spec{{Name: "a"}}}
		c.renderSet(sets[i])
	}
	latest := sets[len(sets)-maxRendered:]
	if n := testing.AllocsPerRun(10, func() {
		for _, set := range latest {
			c.renderSet(set)
		}
	}); n != 0 {
		t.Errorf("the last %d sets are rendered again: %v allocations", maxRendered, n)
	}
	if n := len(*c.staying.Load()); n != maxRendered {
		t.Errorf("%d sets are kept, want %d", n, maxRendered)
	}
	if c.renderSet(nil) != nil || c.renderSet(new(tool.Set)) != nil {
		t.Error("no tools are rendered as something")
	}
}

// Sets of single turns, as many as there may be, do not have those that stay rendered again.
func TestPassingSetsAreKeptApart(t *testing.T) { // AllocsPerRun wants no others at the same time
	var c toolCache
	staying := &tool.Set{Specs: []tool.Spec{{Name: "a"}, {Name: "é"}}}
	c.renderSet(staying)
	var passing *tool.Set
	for range 100 {
		passing = &tool.Set{Specs: []tool.Spec{{Name: "a"}, {Name: "ü"}}, Passing: true}
		c.renderSet(passing)
	}
	if n := testing.AllocsPerRun(10, func() { c.renderSet(staying); c.renderSet(passing) }); n != 0 {
		t.Errorf("a set is rendered again: %v allocations", n)
	}
	if n := len(*c.passing.Load()); n != maxRendered {
		t.Errorf("%d sets are kept, want %d", n, maxRendered)
	}
	for _, own := range []string{"é", "ü"} {
		if got := c.ourName(fitName(own)); got != own {
			t.Errorf("the name of %s is %s", own, got)
		}
	}
}
