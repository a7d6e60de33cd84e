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
	if got := Of[struct{ other int }](&c); got.other != 0 {
		t.Errorf("got %+v of a type that nobody bound", got)
	}
}
