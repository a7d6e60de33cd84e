package agent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/engine/agent"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// reads is a call for part of a message, with what goes back with it.
func reads(id, signature, kept string) chat.Part {
	return chat.Part{Call: &tool.Call{ID: id, Name: "read", Arguments: []byte(`{}`)}, Signature: signature, Kept: kept}
}

// What a model wants back stands in its place of the message that goes back, which
// names its maker; also when the turn was stored in between.
func TestWhatIsKeptGoesBackInItsPlace(t *testing.T) {
	t.Parallel()
	s := scene{answers: []answer{chunks(
		chat.Chunk{Maker: "openai/x", Parts: []chat.Part{{Kept: `{"r": 1}`}, {Text: "hm", Thought: true, Kept: `{"t":1}`}}},
		chat.Chunk{Maker: "openai/x", Parts: []chat.Part{{Text: "a"}, {Text: "b"}, {Text: "c", Kept: "[]"}, reads("1", "sig", `{"x":1}`)}},
		end(chat.FinishStop)), says("done")}}
	want := []chat.Message{
		{Role: chat.RoleUser, Parts: []chat.Part{{Text: begun + "hi"}}},
		{Role: chat.RoleModel, Maker: "openai/x", Parts: []chat.Part{
			{Kept: `{"r": 1}`}, {Kept: `{"t":1}`}, {Text: "ab"}, {Text: "c", Kept: "[]"}, reads("1", "sig", `{"x":1}`),
		}},
	}
	s.request.Input = "hi"
	for _, s.cut = range []bool{false, true} {
		got := play(t, s)
		if diff := cmp.Diff(want, got.requests[1].Messages[:2]); diff != "" {
			t.Errorf("cut %v: conversation (-want +got):\n%s", s.cut, diff)
		}
		got.want(t, "start m", "thinking hm", "delta a", "delta b", "delta c", "call 1 read@todo {}", "completed 1 0s ok", "delta \n\n", "delta done", "done stop")
	}
}

// Above the bounds an answer goes back as one that nobody of ours made. The bounds of
// a model without a key are those of its answers.
func TestTooMuchThatIsKept(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, maker string
		sizes       []int  // of what each step keeps
		want        string // maker of each message
	}{
		{"as much as there may be", "m", []int{256 << 10}, "m"},
		{"too much at once", "m", []int{256<<10 + 1, 10}, "-m"},
		{"too much in a turn", "m", []int{256 << 10, 256 << 10, 256 << 10, 256<<10 - 4, 5, 4, 1}, "mmmm-m-"},
		{"the only model", "", []int{300 << 10}, "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := scene{Config: agent.Config{MaxSteps: 20}}
			for i, n := range tt.sizes {
				s.answers = append(s.answers, chunks(
					chat.Chunk{Maker: tt.maker, Parts: []chat.Part{{Kept: strings.Repeat("k", n/2)}}},
					chat.Chunk{Maker: tt.maker, Parts: []chat.Part{{Text: "t"}, reads(string(rune('a'+i)), strings.Repeat("s", n-n/2), "")}},
					end(chat.FinishStop)))
			}
			s.answers = append(s.answers, says("done"))
			got := play(t, s)
			makers := ""
			for i, m := range got.requests[len(tt.sizes)].Messages {
				if m.Role != chat.RoleModel {
					continue
				}
				kept := 0
				for _, p := range m.Parts {
					kept += len(p.Kept) + len(p.Signature)
				}
				if want := tt.sizes[i/2]; m.Maker == "" && tt.maker != "" && kept > 0 || (m.Maker != "" || tt.maker == "") && kept != want {
					t.Errorf("message %d of %q keeps %d bytes", i, m.Maker, kept)
				}
				if len(m.Parts) < 2 || m.Parts[len(m.Parts)-2].Text != "t" {
					t.Errorf("message %d has lost its text", i)
				}
				makers += m.Maker
				if m.Maker == "" {
					makers += "-"
				}
			}
			if makers != tt.want {
				t.Errorf("makers %q, want %q", makers, tt.want)
			}
		})
	}
}

// Nothing of an answer that failed gets into the one that comes in its place, and the
// turn stays with the model that gave it.
func TestAnotherModelAnswers(t *testing.T) {
	t.Parallel()
	to := &chat.Switch{Key: "b", Model: "m-b", Previous: "a", Reason: "timeout"}
	usage := &chat.Usage{InputTokens: 3}
	s := scene{Config: agent.Config{Keyed: true}, answers: []answer{
		chunks(
			chat.Chunk{Maker: "A", Parts: []chat.Part{{Text: "hm", Thought: true}, {Kept: "a"}, reads("1", "", "")}, Usage: usage},
			chat.Chunk{Restarted: true},
			chat.Chunk{Maker: "A", Parts: []chat.Part{{Text: "hm", Thought: true}, {Kept: "b"}, reads("2", "", "")}},
			chat.Chunk{Restarted: true}, chat.Chunk{Switch: to, More: true},
			chat.Chunk{Maker: "B", Parts: []chat.Part{{Kept: "c"}, reads("3", "", "")}}, end(chat.FinishStop)),
		says("done"),
	}}
	for _, s.cut = range []bool{false, true} {
		got := play(t, s)
		got.want(t, "start m", "thinking hm", "thinking hm", "model 1 b m-b a timeout", "call 3 read@todo {}", "completed 3 0s ok", "delta done", "done stop")
		want := chat.Message{Role: chat.RoleModel, Maker: "B", Parts: []chat.Part{{Kept: "c"}, reads("3", "", "")}}
		if diff := cmp.Diff(want, got.requests[1].Messages[1]); diff != "" {
			t.Errorf("what goes back (-want +got):\n%s", diff)
		}
		if got.requests[0].Answered != "" || got.requests[1].Answered != "b" {
			t.Errorf("the requests are for %q and %q", got.requests[0].Answered, got.requests[1].Answered)
		}
		if diff := cmp.Diff([]string{"a", "b"}, got.done.Models); diff != "" && !s.cut {
			t.Errorf("models (-want +got):\n%s", diff)
		}
		if !s.cut && (!got.done.Keyed || got.done.Usage.InputTokens != 3) {
			t.Errorf("done %+v", got.done)
		}
	}
}

// A model that gave nothing is not reported as one that answered.
func TestModelsThatAnswered(t *testing.T) {
	t.Parallel()
	to := func(key, previous string) chat.Chunk {
		return chat.Chunk{Switch: &chat.Switch{Key: key, Model: key, Previous: previous, Reason: "unavailable"}}
	}
	text, stop := chat.Chunk{Parts: []chat.Part{{Text: "x"}}}, end(chat.FinishStop)
	call := chat.Chunk{Parts: []chat.Part{reads("1", "", "")}}
	for name, tt := range map[string]struct {
		answers []answer
		want    []string
	}{
		"one":                {[]answer{chunks(text, stop)}, nil},
		"the second alone":   {[]answer{chunks(to("b", "a"), text, stop)}, []string{"b"}},
		"after a step":       {[]answer{chunks(call, stop), chunks(to("b", "a"), text, stop)}, []string{"a", "b"}},
		"third in next step": {[]answer{chunks(to("b", "a"), call, stop), chunks(to("c", "b"), text, stop)}, []string{"b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := play(t, scene{answers: tt.answers})
			if diff := cmp.Diff(tt.want, got.done.Models); diff != "" || got.done.Reason != stream.Stop {
				t.Errorf("%s (-want +got):\n%s", got.done.Reason, diff)
			}
		})
	}
}
