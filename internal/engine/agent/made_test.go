package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// silent takes all events.
type silent struct{}

func (silent) Emit(stream.Event) error { return nil }
func (silent) Flush() error            { return nil }

// What an agent did is reported to the part that remembers it, with the origin of each message:
// that of the agent, unless another model stood in for its own. Nothing else receives it. The
// third step is the last: its note is no part of the conversation.
func TestMade(t *testing.T) {
	t.Parallel()
	origin := agent.Origin("a", "k", "m")
	for _, record := range []bool{true, false} {
		rec := &recorder{t: t, out: new(outcome)}
		m := &model{t: t, rec: rec, answers: []answer{
			chunks(chat.Chunk{Maker: "k/m", Parts: []chat.Part{{Text: "I look."}, reads("1", "sig", "")}}, end(chat.FinishStop)),
			chunks(chat.Chunk{Maker: "other/m", Parts: []chat.Part{reads("2", "", "")}}, end(chat.FinishStop)),
			says("done"),
		}}
		a := agent.New(agent.Config{Model: m, Tools: &tools{t: t, rec: rec}, Origin: origin, MaxSteps: 3})
		result, err := a.Run(t.Context(), &chat.Request{Input: "hi", Record: record, Past: chat.Past{
			History: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "before"}}}, {Role: chat.RoleModel, Parts: []chat.Part{{Text: "yes"}}}},
		}}, silent{})
		if err != nil {
			t.Fatal(err)
		}
		var want []chat.TurnMessages
		if record {
			ok := func(id string) []chat.Part {
				return []chat.Part{{Result: &tool.Result{ID: id, Name: "read", Text: "ok"}}}
			}
			want = []chat.TurnMessages{{Messages: []chat.Message{
				{Role: chat.RoleModel, Maker: "k/m", Origin: origin, Parts: []chat.Part{{Text: "I look."}, reads("1", "sig", "")}},
				{Role: chat.RoleUser, Parts: ok("1")},
				{Role: chat.RoleModel, Maker: "other/m", Origin: origin + " other/m", Parts: []chat.Part{reads("2", "", "")}},
				{Role: chat.RoleUser, Parts: ok("2")},
			}}}
		}
		if diff := cmp.Diff(want, result.TurnMessages); diff != "" {
			t.Errorf("record %v (-want +got):\n%s", record, diff)
		}
	}
}
