package remote_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/engine/agent/remote"
	"sluice/internal/engine/run"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// keeping is a chat.Saver that writes down what it is asked, and the texts that come between.
type keeping struct {
	mu    sync.Mutex // guards the fields below
	notes []string
	state []byte
	left  bool
	err   error // of Confirm
	// leaves, if it is set, says with which Confirm the turn turns out to be another process's.
	leaves, confirms int
}

func (k *keeping) note(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notes = append(k.notes, what)
}

func (k *keeping) Save(part string, state []byte) {
	k.note("save " + part)
	k.state = state
}

func (k *keeping) Confirm() error {
	k.note("confirm")
	k.confirms++
	k.left = k.left || k.confirms == k.leaves
	return k.err
}

func (k *keeping) Begin() func() {
	k.note("begin")
	return func() { k.note("end") }
}

func (*keeping) Together(f func())    { f() }
func (k *keeping) IsHandedOver() bool { return k.left }

func (k *keeping) Emit(ev stream.Event) error {
	if d, ok := ev.(*stream.Delta); ok {
		k.note(d.Text)
	}
	return nil
}

func (*keeping) Flush() error { return nil }

// saves returns a request that is saved as a part of its turn.
func (k *keeping) saves() *chat.Request {
	return &chat.Request{Input: "Hello", Facts: chat.Facts{Saving: &chat.Saving{Saver: k, Part: "far"}}}
}

// takenUp returns a request that goes on with what was saved.
func takenUp(by string, state []byte) *chat.Request {
	return &chat.Request{Input: "Hello", Resumed: &chat.Resumed{By: by, State: state, TakenOver: true}}
}

// stateOf returns a state of a kind.
func stateOf(t *testing.T, kind string, state any) []byte {
	t.Helper()
	p, err := run.Pause(kind, state)
	if err != nil {
		t.Fatal(err)
	}
	return p.Encode()
}

// The task is in the store before anything of its answer is shown, and until it is known the
// message counts as under way. A store that is unavailable changes nothing for the client.
func TestTaskIsKept(t *testing.T) {
	t.Parallel()
	named := func(id string) string {
		return strings.ReplaceAll(strings.Join([]string{task, first, completed}, "\n"), `"t"`, `"`+id+`"`)
	}
	kept := []string{"begin", "save far", "confirm", "end", "One "}
	for name, tt := range map[string]struct {
		replies map[string][]string
		err     error // of the store
		whole   bool  // it is asked for whole answers
		want    []string
	}{
		"a task":                  {map[string][]string{streaming: {named("t")}}, nil, false, kept},
		"an artifact comes first": {map[string][]string{streaming: {first + "\n" + completed}}, nil, false, kept},
		"the store is not there":  {map[string][]string{streaming: {named("t")}}, errors.New("unavailable"), false, kept},
		"the longest name":        {map[string][]string{streaming: {named(strings.Repeat("t", 1024))}}, nil, false, kept},
		"a name that is too long": {map[string][]string{streaming: {named(strings.Repeat("t", 1025))}}, nil, false, []string{"begin", "end", "One "}},
		"a message without a task": {map[string][]string{streaming: {`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Hi"}]}}`}}, nil, false,
			[]string{"begin", "Hi", "end"}},
		"refused": {map[string][]string{streaming: {"status 401"}}, nil, false, []string{"begin", "end"}},
		"a task that is asked for again": {map[string][]string{"SendMessage": {`{"result":` + task + `}`}, "GetTask": {whole}}, nil, true,
			[]string{"begin", "save far", "confirm", "end", "One two."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := start(t, &far{card: goodCard, replies: tt.replies}, func(c *remote.Config) { c.NoStreaming = tt.whole })
				k := &keeping{err: tt.err}
				_, err := a.Run(t.Context(), k.saves(), k)
				if (err != nil) != (name == "refused") {
					t.Error(err)
				}
				if diff := cmp.Diff(tt.want, k.notes); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if want := stateOf(t, chat.PausedRemote, map[string]string{"task": "t"}); name == "a task" && !bytes.Equal(k.state, want) {
					t.Errorf("it saves %s, want %s", k.state, want)
				}
			})
		})
	}
}

// Who goes on with a turn reads the reply to the message that was sent, and sends none.
func TestTaskIsTakenUp(t *testing.T) {
	t.Parallel()
	script := func(events ...string) string { return strings.Join(events, "\n") }
	const stopped = "The gateway stopped while the agent was at work: what it has done is not known"
	const lost = "The connection to the agent was lost, and it is not known what it has done"
	mine := stateOf(t, chat.PausedRemote, map[string]string{"task": "t"})
	for name, tt := range map[string]struct {
		state   []byte
		replies map[string][]string
		whole   bool // it is asked for whole answers
		text    string
		reason  stream.FinishReason
		message string // of the failure, which is never one that is tried again
		calls   []string
	}{
		"at work":       {mine, map[string][]string{subscribe: {script(soFar, rest, last, completed)}}, false, "One two.", stream.Stop, "", []string{subscribe}},
		"no task first": {mine, map[string][]string{subscribe: {script(last, completed)}, "GetTask": {whole}}, false, "One two.", stream.Stop, "", []string{subscribe, "GetTask"}},
		"it has ended":  {mine, map[string][]string{subscribe: {`{"error":{"code":-32004,"message":"x"}}`}, "GetTask": {whole}}, false, "One two.", stream.Stop, "", []string{subscribe, "GetTask"}},
		"it asks":       {mine, map[string][]string{subscribe: {script(soFar, asks)}}, false, "One tw\n\nWhich one?", stream.InputRequired, "", []string{subscribe}},
		"whole answers": {mine, map[string][]string{"GetTask": {"status 502", `{"result":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`, whole}}, true,
			"One two.", stream.Stop, "", []string{"GetTask", "GetTask", "GetTask"}},
		"it has failed": {mine, map[string][]string{subscribe: {script(soFar, failed)}}, false, "One tw", "", "The agent could not answer", []string{subscribe}},
		"nobody knows it": {mine, map[string][]string{subscribe: {`{"error":{"code":-32001,"message":"x"}}`}, "GetTask": {`{"error":{"code":-32001,"message":"x"}}`}}, false, "", "", lost,
			[]string{subscribe, "GetTask", subscribe, "GetTask", subscribe, "GetTask"}},
		"another kind":    {stateOf(t, chat.PausedAgent, map[string]string{"task": "t"}), nil, false, "", "", stopped, nil},
		"without a task":  {stateOf(t, chat.PausedRemote, map[string]string{}), nil, false, "", "", stopped, nil},
		"no state":        {nil, nil, false, "", "", stopped, nil},
		"a state cut off": {mine[:len(mine)-3], nil, false, "", "", stopped, nil},
		"not an object":   {stateOf(t, chat.PausedRemote, []int{1}), nil, false, "", "", stopped, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &far{card: goodCard, replies: tt.replies}
				a := start(t, f, func(c *remote.Config) { c.NoStreaming = tt.whole })
				var h observed
				result, err := a.Run(t.Context(), takenUp(chat.PausedRemote, tt.state), &h)
				message := ""
				if err != nil {
					f := fault.From(err)
					if message = f.Message; !f.Unknown {
						t.Errorf("the outcome is known: %v", err)
					}
				}
				if h.text != tt.text || result.Reason != tt.reason || message != tt.message {
					t.Errorf("got %q, %q, %q; want %q, %q, %q", h.text, result.Reason, message, tt.text, tt.reason, tt.message)
				}
				f.mu.Lock()
				defer f.mu.Unlock()
				if diff := cmp.Diff(tt.calls, f.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A gateway that has just started may not have the card yet: it is waited for, but not for long.
func TestTaskWaitsForTheCard(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{500 * time.Millisecond: "One two.", time.Minute: ""} {
		synctest.Test(t, func(t *testing.T) {
			f := &far{card: "no", replies: map[string][]string{subscribe: {soFar + "\n" + rest + "\n" + last + "\n" + completed}}}
			a := start(t, f, nil)
			time.AfterFunc(after, func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.card = goodCard
			})
			var h observed
			began := time.Now()
			_, err := a.Run(t.Context(), takenUp(chat.PausedRemote, stateOf(t, chat.PausedRemote, map[string]string{"task": "t"})), &h)
			if h.text != want || (err == nil) != (want != "") || err != nil && !fault.From(err).Unknown || time.Since(began) > 5*time.Second {
				t.Errorf("the card comes after %s: %q after %s, %v", after, h.text, time.Since(began), err)
			}
		})
	}
}

// A task that another process follows by now is not cancelled by the one that had it, which the
// store says: a process that stood still for a while does not know of the other.
func TestTaskOfAnotherProcessIsNotCancelled(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		left    bool
		leaves  int
		err     error
		resumed bool
		cancels bool
	}{
		"ours":                       {cancels: true},
		"handed over":                {left: true},
		"the store knows of another": {leaves: 2},
		"the store does not say":     {err: errors.New("unavailable")},
		"taken up, and ours":         {resumed: true, cancels: true},
		"taken up, and handed over":  {left: true, resumed: true},
		"taken up, and nobody knows": {err: errors.New("unavailable"), resumed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &far{card: goodCard, replies: map[string][]string{streaming: {task + "\n" + first + "\n…"}, subscribe: {soFar + "\n…"}, "CancelTask": {whole}}}
				a, k := start(t, f, nil), &keeping{left: tt.left, leaves: tt.leaves, err: tt.err}
				req, want := k.saves(), []string{streaming}
				if tt.resumed {
					req.Resumed, want = takenUp(chat.PausedRemote, stateOf(t, chat.PausedRemote, map[string]string{"task": "t"})).Resumed, []string{subscribe}
				}
				if tt.cancels {
					want = append(want, "CancelTask")
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, _ = a.Run(ctx, req, k)
				synctest.Wait()
				f.mu.Lock()
				defer f.mu.Unlock()
				if diff := cmp.Diff(want, f.calls); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}
