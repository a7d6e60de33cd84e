package dialect_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// talk says hello with instructions and a tool.
func talk() dialect.Talk {
	return dialect.Talk{
		Root: "/messages",
		Messages: []chat.ClientMessage{
			{Speaker: chat.SpeakerApplication, Text: "Be kind.", At: "/messages/0"}, {Speaker: chat.SpeakerUser, Text: "a", At: "/messages/1"},
			{Speaker: chat.SpeakerAssistant, Text: "b", At: "/messages/2"}, {Speaker: chat.SpeakerUser, Text: "c", At: "/messages/3"},
		},
		Tools:  []chat.ClientTool{{Spec: tool.Spec{Name: "alarm"}, At: "/tools/0/name"}},
		Choice: chat.ToolChoice{Must: true},
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	type app struct {
		Instructions   string
		Tools, Ignored string
		Must           bool
		Max            int
	}
	for name, tt := range map[string]struct {
		rules  dialect.Rules
		change func(*dialect.Talk)
		want   *app
		faults string
	}{
		"as it is":                   {want: &app{Instructions: "Be kind.", Tools: "alarm", Must: true}},
		"instructions in front":      {change: func(t *dialect.Talk) { t.Instructions = "First." }, want: &app{Instructions: "First.\n\nBe kind.", Tools: "alarm", Must: true}},
		"no tool is to be called":    {change: func(t *dialect.Talk) { t.NoTools = true }, want: &app{Instructions: "Be kind."}},
		"a limit":                    {change: func(t *dialect.Talk) { t.MaxTokens = 9 }, want: &app{Instructions: "Be kind.", Tools: "alarm", Must: true, Max: 9}},
		"instructions are ignored":   {rules: dialect.Rules{Instructions: dialect.Ignore}, want: &app{Tools: "alarm", Must: true, Ignored: "instructions"}},
		"instructions are refused":   {rules: dialect.Rules{Instructions: dialect.Refuse}, faults: "/messages unsupported"},
		"tools are ignored":          {rules: dialect.Rules{ClientTools: dialect.Ignore}, want: &app{Instructions: "Be kind.", Must: true, Ignored: "tools"}},
		"tools are refused":          {rules: dialect.Rules{ClientTools: dialect.Refuse}, faults: "/tools unsupported"},
		"nothing of either":          {change: func(t *dialect.Talk) { t.Messages, t.Tools, t.Choice = t.Messages[1:], nil, chat.ToolChoice{} }},
		"nothing that is refused":    {rules: dialect.Rules{Instructions: dialect.Refuse, ClientTools: dialect.Refuse}, change: func(t *dialect.Talk) { t.Messages, t.Tools = t.Messages[1:], nil }},
		"an input that is too long":  {rules: dialect.Rules{MessageChars: 1}, change: func(t *dialect.Talk) { t.Messages[3].Text = "cc" }, faults: "/messages/3 too_long"},
		"an input as long as it may": {rules: dialect.Rules{MessageChars: 2}, change: func(t *dialect.Talk) { t.Messages[3].Text = "cc" }, want: &app{Instructions: "Be kind.", Tools: "alarm", Must: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given, e, req := talk(), new(chat.ValidationError), new(chat.Request)
			if tt.change != nil {
				tt.change(&given)
			}
			tt.rules.Compose(req, given, e)
			var faults []string
			for _, f := range e.Fields {
				faults = append(faults, f.Field+" "+f.Code)
			}
			if diff := cmp.Diff(tt.faults, strings.Join(faults, ", ")); diff != "" {
				t.Fatalf("faults (-want +got):\n%s", diff)
			}
			if tt.faults != "" {
				return
			}
			if !strings.HasPrefix(req.Input, "c") || len(req.History) != 2 || !req.HasHistory {
				t.Errorf("the request is %+v", req)
			}
			var got *app
			if a := req.App; a != nil {
				var names []string
				for _, c := range a.Tools {
					names = append(names, c.Name)
				}
				got = &app{a.Instructions, strings.Join(names, ","), strings.Join(a.Ignored, ","), a.Choice.Must, a.MaxTokens}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConversationID(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]string{
		"": "", "conv_a": "conv_a", "a-B_9": "conv_a-B_9", strings.Repeat("x", 64): "conv_" + strings.Repeat("x", 64),
		"a b": "conv_c8687a08aa5d6ed2044328fa6a697ab8",
	} {
		e := new(chat.ValidationError)
		if got := dialect.ConversationID(own, "/id", e); got != want || len(e.Fields) > 0 {
			t.Errorf("%q is %q, want %q", own, got, want)
		}
	}
	for _, own := range []string{strings.Repeat("x", 65), strings.Repeat("é", 256)} {
		e := new(chat.ValidationError)
		if got := dialect.ConversationID(own, "/id", e); len(got) != len("conv_")+32 || len(e.Fields) > 0 {
			t.Errorf("%q is %q", own, got)
		}
	}
	e := new(chat.ValidationError)
	if dialect.ConversationID(strings.Repeat("x", 513), "/id", e); len(e.Fields) != 1 || e.Fields[0].Field != "/id" {
		t.Errorf("of 513 bytes: %+v", e.Fields)
	}
}

func TestAddIgnored(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	if dialect.AddIgnored(h, nil); len(h) > 0 {
		t.Errorf("nothing is ignored: %v", h)
	}
	dialect.AddIgnored(h, []string{"seed", "a b", "", "seed", "evil\r\nX: y"})
	dialect.AddIgnored(h, []string{"tools", "seed"})
	if got := h.Get(dialect.IgnoredHeader); got != "seed, tools" {
		t.Errorf("the header is %q", got)
	}
}

func TestMaxBody(t *testing.T) {
	t.Parallel()
	if none, some := (&dialect.Rules{}).MaxBody(), (&dialect.Rules{Body: 5}).MaxBody(); none != 1<<20 || some != 5 {
		t.Errorf("%d and %d", none, some)
	}
}
