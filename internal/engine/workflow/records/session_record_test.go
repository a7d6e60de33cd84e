package records

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/state/store"
	"sluice/internal/state/store/memory"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// The record of a session stays with its task: until that is removed where retention says
// so, and of a plain turn for a time from the end of the turn.
func TestSessionRecordsHaveATime(t *testing.T) {
	t.Parallel()
	const id, day = "task_00000000000000000000000000", 24 * time.Hour
	for name, tt := range map[string]struct {
		durable, ends bool
		days          []bool // is it there after an hour, 31 days, 33 days
	}{
		"retention":                    {true, true, []bool{true, true, true}},
		"a plain turn":                 {false, true, []bool{false, false, false}},
		"a plain turn that never ends": {false, false, []bool{true, true, false}},
	} {
		synctest.Test(t, func(t *testing.T) {
			kept := &Sessions{Store: memory.New(memory.Config{}), TTL: time.Hour}
			ctx, records := t.Context(), &SessionRecords{kept, tt.durable}
			records.Record(id).Begin(ctx, "one", "a", "go", false)
			if tt.ends {
				records.Finish(ctx, id)
			}
			began := time.Now()
			for i, after := range []time.Duration{time.Hour + time.Minute, 31 * day, 33 * day} {
				time.Sleep(time.Until(began.Add(after)))
				if _, err := kept.Get(ctx, "one"); (err == nil) != tt.days[i] {
					t.Errorf("%s, after %v: %v", name, after, err)
				}
			}
		})
	}
}

// A session is stored when it begins, waits and ends, with what its agent has said; one that
// continues begins where it was.
func TestSessionRecord(t *testing.T) {
	t.Parallel()
	const task = "task_00000000000000000000000000"
	sessions := &Sessions{Store: memory.New(memory.Config{})}
	records := &SessionRecords{sessions, true}
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(zerolog.New(&log).WithContext(t.Context()))
	stored := func(id string) (*SubAgentSession, string) {
		s, err := sessions.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range s.MessageHistory {
			texts = append(texts, m.Role+": "+m.Content)
		}
		return s, strings.Join(texts, ", ")
	}
	r := records.Record(task)
	r.Begin(ctx, "one", "a", "Find it", false)
	r.AddEvent(&stream.Delta{Text: "I look."})
	r.AddEvent(&stream.ToolStarted{Call: stream.Call{ID: "in"}})
	r.Seal(&chat.Question{Calls: []chat.PendingCall{{Within: "in"}}}, named{})
	r.End(ctx, "", true, true, 0)
	if s, texts := stored("one"); s.Status != SessionRunning || texts != "user: Find it, assistant: I look." || log.Len() > 0 {
		t.Errorf("it waits: %s, %s\n%s", s.Status, texts, log.String())
	}
	r = records.Record(task)
	r.Begin(ctx, "one", "a", "Find it", true)
	r.AddEvent(&stream.Delta{Text: "Found."})
	cancel() // the turn is being cancelled, and what has come is stored
	r.End(ctx, "Found.", true, false, 7)
	s, texts := stored("one")
	if s.Status != SessionCompleted || s.Summary != "Found." || s.AgentName != "a" || s.ParentTaskID != task || texts != "user: Find it, assistant: I look., assistant: Found." {
		t.Errorf("it has ended: %+v", s)
	}
	if !strings.Contains(log.String(), `:"session_completed"`) || strings.Contains(log.String(), "Found") {
		t.Errorf("the log:\n%s", log.String())
	}
	r = records.Record(task)
	r.Begin(ctx, "lost", "a", "Find it", true) // its record has expired
	r.End(ctx, "", false, false, 7)
	if s, texts := stored("lost"); s.Status != sessionFailed || texts != "user: Find it" {
		t.Errorf("it has failed: %+v", s)
	}
}

// Where nothing is stored the methods do nothing.
func TestNoSessionRecord(t *testing.T) {
	t.Parallel()
	var none *SessionRecords
	const task = "task_00000000000000000000000000"
	for _, r := range []*SessionRecord{none.Record(task), (&SessionRecords{}).Record("no task")} {
		if r != nil {
			t.Errorf("%+v", r)
		}
		r.Begin(t.Context(), "s", "a", "x", false)
		r.AddEvent(&stream.Delta{Text: "x"})
		r.Seal(nil, nil)
		r.End(t.Context(), "", true, false, 0)
	}
	none.Finish(t.Context(), task)
}

// broken are values that cannot be written.
type broken struct {
	store.Values
	store.Lists
	err error
}

func (b broken) Value(context.Context, string) (store.Value, error) { return store.Value{}, b.err }

// A record that cannot be written is logged once, unless the store logs that itself.
func TestSessionRecordThatIsLost(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{store.ErrDamaged: 1, store.ErrUnavailable: 0} {
		var log bytes.Buffer
		r := (&SessionRecords{Sessions: &Sessions{Store: broken{err: err}}}).Record("task_00000000000000000000000000")
		ctx := zerolog.New(&log).WithContext(t.Context())
		r.Begin(ctx, "one", "a", "x", false)
		r.End(ctx, "", true, true, 0)
		if got := strings.Count(log.String(), "session_not_kept"); got != want {
			t.Errorf("%v: logged %d times", err, got)
		}
	}
}
