package workflow

import "testing"

// Only before the first node, or behind an answer, nothing can have been reported.
func TestUnseen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status, last string
		checkpoints  int
		want         bool
	}{
		"it has just begun":      {StatusRunning, CheckpointCreated, 1, true},
		"a node has ended":       {StatusRunning, CheckpointCreated, 2, false},
		"it was just gone on":    {StatusRunning, CheckpointResumed, 7, true},
		"somebody is asked":      {StatusWaiting, CheckpointCreated, 7, true},
		"nodes have ended since": {StatusRunning, CheckpointCreated, 8, false},
	} {
		at := &readAs{last: tt.last, record: storedRun{Checkpoints: tt.checkpoints}}
		if got := new(RunStore).Unseen(&Run{Progress: Progress{Status: tt.status}, Origin: at}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
