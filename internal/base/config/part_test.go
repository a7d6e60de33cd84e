package config

import "testing"

// A part is there once a section is bound to it, and is the zero value before.
func TestParts(t *testing.T) {
	t.Parallel()
	var c Config
	if got := Of[agentPart](&c); got.steps != 0 || c.Parts != nil {
		t.Errorf("got %+v and %v before anything is bound", got, c.Parts)
	}
	first, second := Bind[agentPart](&c), Bind[agentPart](&c)
	first.steps = 7
	copied := c
	if second.steps != 7 || Of[agentPart](&copied).steps != 7 {
		t.Errorf("got %d and %d, want 7 twice", second.steps, Of[agentPart](&copied).steps)
	}
	Change(&copied, func(p *agentPart) { p.steps++ })
	if got, was := Of[agentPart](&copied).steps, Of[agentPart](&c).steps; got != 8 || was != 7 {
		t.Errorf("got %d, and %d of what it was copied from, want 8 and 7", got, was)
	}
	var none Config
	if Change(&none, func(p *agentPart) { p.steps = 1 }); Of[agentPart](&none).steps != 1 {
		t.Error("a part that nobody bound is not changed")
	}
	if got := Of[struct{ other int }](&c); got.other != 0 {
		t.Errorf("got %+v of a type that nobody bound", got)
	}
}
