package task

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
)

// The log has the states of a task from the first on: a request is submitted, then worked on.
func TestSubmittedTaskIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := New(Config{Store: memory.New(memory.Config{})})
	defer s.Close()
	turn, err := s.Begin(zerolog.New(&log).WithContext(t.Context()), Request{Chat: &chat.Request{Input: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	if got := log.String(); strings.Count(got, `"task_id":"`+turn.Task()+`","old_state":"submitted","new_state":"working"`) != 1 {
		t.Errorf("the log is %s", got)
	}
}
