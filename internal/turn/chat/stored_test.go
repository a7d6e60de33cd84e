package chat_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

func full(t testing.TB) *chat.Request {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	days := 3
	return &chat.Request{
		Past: chat.Past{
			History: []chat.Message{{Role: chat.RoleModel, Origin: "a/b", Parts: []chat.Part{
				{Text: "hm", Thought: true, Signature: "c2ln", Kept: `{"k": 1}`},
				{Call: &tool.Call{ID: "1", Name: "pay", Arguments: []byte(`{"a":1}`)}},
				{Result: &tool.Result{ID: "1", Name: "pay", Text: "paid"}},
			}}},
			Pruning: chat.Pruning{Dropped: 2}, HasHistory: true, LastAgent: "a",
			Question: &chat.Clarification{Said: []chat.HistoryMessage{{Role: chat.RoleUser, Text: "which"}}, AgentID: "b", InARow: 1},
		},
		Input: "hello <&>\u2028", ConversationID: "conv_1", UserID: "u", Principal: chat.Principal{Tenant: "t", ID: "i", Scopes: 3, Class: "c"},
		Location: berlin, Agent: "a", Keeping: chat.Keeping{Task: "task_1", Turn: "turn_1", RetentionDays: &days},
		Context: []chat.ContextEntry{{Name: "n", Value: "v"}}, Additions: chat.Additions{Note: "n", Data: []chat.Quote{{About: "x", Text: "y"}}, Instruction: "i"},
		Record: true, Tools: chat.ToolsReadOnly, Mute: true, Hops: 2,
		App:       &chat.Application{Instructions: "be kind", Tools: []chat.ClientTool{{Spec: tool.Spec{Name: "look", InputSchema: []byte(`{"type":"object"}`)}, At: "/tools/0"}}},
		ReplyForm: chat.ReplyForm{Channel: "sms", UserName: "n", Answer: &chat.AnswerForm{Name: "f", Schema: []byte(`{}`)}},
		Resumed: &chat.Resumed{By: chat.PausedAgent, State: []byte(`{"a": 1}`), Usage: chat.Usage{InputTokens: 1}, Evidence: []byte("{}"),
			Decisions: []chat.Decision{{CallID: "c", Action: chat.Modify, Arguments: []byte(`{"a":2}`), Key: "k"}}},
	}
}

// A request that was stored is the one that it was, but for what the parts of its turn share.
func TestStoredRequest(t *testing.T) {
	t.Parallel()
	asked := full(t)
	asked.Facts = chat.Facts{Ask: func(*chat.Paused) string { return "" }, Saving: new(chat.Saving)}
	data, err := asked.Stored()
	if err != nil {
		t.Fatal(err)
	}
	got, err := chat.ReadStored(data)
	if err != nil {
		t.Fatal(err)
	}
	if got.Location.String() != "Europe/Berlin" {
		t.Errorf("the zone is %s", got.Location)
	}
	if diff := cmp.Diff(asked, got, cmpopts.IgnoreFields(chat.Request{}, "Facts", "Location"), cmpopts.IgnoreUnexported(tool.Spec{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Facts.Ask != nil || got.Facts.Saving != nil {
		t.Errorf("the facts are %+v", got.Facts)
	}
}

func FuzzStoredRequest(f *testing.F) {
	data, _ := full(f).Stored()
	for _, seed := range []string{string(data), string(data[:len(data)/2]), `{"version":2,"Input":"x"}`, `{"version":1}`, `{"version":1,"Input":"x","Location":"Mars/Base"}`, `null`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := chat.ReadStored(data)
		if err != nil {
			return
		}
		if r.Input == "" && r.Resumed == nil {
			t.Error("it asks nothing")
		}
		if _, err := r.Stored(); err != nil {
			t.Errorf("what was read cannot be stored: %v", err)
		}
	})
}
