package records

import (
	"testing"

	"sluice/internal/engine/workflow/engine"
)

// Only before the first node, or behind an answer, nothing can have been reported.
func TestUnseen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status, last string
		checkpoints  int
		want         bool
	}{
		"it has just begun":      {engine.StatusRunning, engine.CheckpointCreated, 1, true},
		"a node has ended":       {engine.StatusRunning, engine.CheckpointCreated, 2, false},
		"it was just gone on":    {engine.StatusRunning, engine.CheckpointResumed, 7, true},
		"somebody is asked":      {engine.StatusWaiting, engine.CheckpointCreated, 7, true},
		"nodes have ended since": {engine.StatusRunning, engine.CheckpointCreated, 8, false},
	} {
		at := &readAs{last: tt.last, record: storedRun{Checkpoints: tt.checkpoints}}
		if got := new(RunStore).Unseen(&engine.Run{Progress: engine.Progress{Status: tt.status}, Origin: at}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
