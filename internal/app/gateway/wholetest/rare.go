package wholetest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Research is a transcript of a run of a workflow whose agents call another one, that of the
// examples in a folder.
func Research(t *testing.T, examples string) Transcript {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(examples, "workflows/research.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	request := "POST /chat/stream\nContent-Type: application/json\n\n" + `{"input":"How do tides work?","workflow":"research"}`
	return Transcript{Archive: &txtar.Archive{Files: []txtar.File{
		{Name: "request", Data: []byte(request)}, {Name: "sluice.yaml", Data: file}, {Name: "gemini", Data: []byte("offline")}, {Name: "mcp", Data: []byte("todo")},
	}}}
}

// RareTurns are turns without a transcript. The grammar of events allows each.
func RareTurns(t *testing.T) map[string][]Recorded {
	t.Helper()
	turn := func(events ...stream.Event) []Recorded {
		var list recording
		guard := stream.NewGuard(&list)
		for _, ev := range append([]stream.Event{&stream.Start{Model: "m"}}, events...) {
			if err := guard.Emit(ev); err != nil {
				t.Errorf("%T: %v", ev, err)
			}
		}
		return list
	}
	call := func(id, tool string, by stream.Attribution) stream.Call {
		return stream.Call{Attribution: by, ID: id, Tool: tool, Server: "s", Arguments: []byte(`{"a": [1, "ü"]}`)}
	}
	of := func(agent, session string) stream.Attribution {
		return stream.Attribution{AgentID: agent, SessionID: session}
	}
	outer, inner := call("c1", "ask_helper", of("a", "")), call("c2", "look", of("helper", "sess_1"))
	return map[string][]Recorded{
		"client_tools": turn(
			&stream.Thinking{Content: "Both."}, &stream.Delta{Text: "One moment. "},
			&stream.ToolStarted{Call: call("c0", "look", stream.Attribution{})}, &stream.ToolCompleted{Call: call("c0", "look", stream.Attribution{}), Result: "dark"},
			&stream.ToolRequired{Call: call("c1", "pick", stream.Attribution{})}, &stream.ToolRequired{Call: call("c2", "pick", stream.Attribution{})},
			&stream.Done{Reason: stream.ClientTools},
		),
		"client_tools_alone": turn(&stream.ToolRequired{Call: call("c1", "pick", stream.Attribution{})}, &stream.Done{Reason: stream.ClientTools}),
		"session_within_a_call": turn(
			&stream.ToolStarted{Call: outer}, &stream.Delta{Attribution: of("helper", "sess_1"), Text: "I look. "},
			&stream.ToolStarted{Call: inner}, &stream.ToolUnknown{Call: inner, Message: "Nobody knows"},
			&stream.ToolFailed{Call: outer, Message: "It has failed"},
			&stream.Delta{Attribution: of("a", ""), Text: "No."}, &stream.Done{Reason: stream.Stop},
		),
		"cancelled": turn(&stream.Delta{Text: "Hm"}, &stream.Error{Type: fault.Cancelled, Message: "The turn was cancelled", Fatal: true}, &stream.Done{Reason: stream.Cancelled}),
		"question_to_a_person": turn(
			&stream.Approval{ID: "appr_1", Token: "slap1.x", Kind: chat.AskHuman, Prompt: "Which one?", Schema: []byte(`{"type":"object"}`), ExpiresAt: "2026-01-01T00:05:00Z"},
			&stream.Done{Reason: stream.ApprovalRequired},
		),
	}
}

// recording is a Sink that numbers and keeps its events.
type recording []Recorded

func (r *recording) Emit(ev stream.Event) error {
	*r = append(*r, Recorded{stream.Stamp{N: len(*r) + 1, At: time.Duration(len(*r)) * time.Millisecond}, ev})
	return nil
}

func (*recording) Flush() error { return nil }
