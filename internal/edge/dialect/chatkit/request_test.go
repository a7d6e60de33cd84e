package chatkit_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/turn/chat"
)

// refused returns the faults of a body as "pointer code".
func refused(t *testing.T, body string) []string {
	t.Helper()
	x, err := chatkit.New(chatkit.Config{}).Open(context.Background(), []byte(body))
	if err == nil {
		t.Fatalf("%.200s is taken: %v", body, x.Reply)
	}
	v, ok := errors.AsType[*chat.ValidationError](err)
	if !ok {
		t.Fatalf("%.200s: %v", body, err)
	}
	var list []string
	for _, f := range v.Fields {
		list = append(list, f.Field+" "+f.Code)
		if strings.Contains(f.Message, "CANARY") || strings.Contains(f.Field, "CANARY") {
			t.Errorf("the rejected value is repeated: %v", f)
		}
	}
	return list
}

const hello = `"input":{"content":[{"type":"input_text","text":"hello"}],"attachments":[],"inference_options":{}}`

// add returns an add_user_message with params, followed by metadata.
func add(params, metadata string) string {
	return `{"type":"threads.add_user_message","params":{` + params + `},"metadata":{` + metadata + `}}`
}

func said(content string) string {
	return `{"type":"threads.create","params":{"input":{"content":[` + content + `]}}}`
}

func TestFaults(t *testing.T) {
	t.Parallel()
	text := func(s string) string { return `{"type":"input_text","text":"` + s + `"}` }
	for _, tt := range []struct {
		name, body string
		want       []string
	}{
		{"empty", ``, []string{" invalid_json"}},
		{"broken", `{"type":`, []string{" invalid_json"}},
		{"no object", `[]`, []string{" wrong_type"}},
		{"trailing data", create("a") + `{}`, []string{" trailing_data"}},
		{"no type", `{}`, []string{"/type required"}},
		{"type of a wrong type", `{"type":7}`, []string{"/type wrong_type"}},
		{"unknown type", `{"type":"CANARY"}`, []string{"/type unsupported"}},
		{"type that is not served", `{"type":"threads.custom_action","params":7}`, []string{"/type unsupported"}},
		{"duplicate keys at several depths", `{"type":"threads.list","type":"threads.list","params":{"limit":1,"limit":2},"x":[{"a":1,"\u0061":2}]}`,
			[]string{"/type duplicate_key", "/params/limit duplicate_key", "/x/0/a duplicate_key"}},
		{"duplicate key and another fault", `{"type":"threads.list","params":{"limit":-1,"limit":-2}}`, []string{"/params/limit duplicate_key"}},
		{"invalid UTF-8", said(text("a\xff")), []string{"/params/input/content/0/text invalid_utf8"}},
		{"lone surrogate", said(text(`\ud800`)), []string{"/params/input/content/0/text invalid_utf8"}},
		{"a long pointer", `{"` + strings.Repeat("CANARY", 50) + `":{"a":1,"a":2}}`, []string{" duplicate_key", "/type required"}},
		{"no params", `{"type":"threads.create"}`, []string{"/params/input required"}},
		{"params of a wrong type", `{"type":"threads.list","params":[]}`, []string{"/params wrong_type"}},
		{"no content", `{"type":"threads.create","params":{"input":{}}}`, []string{"/params/input/content blank"}},
		{"blank", said(text(" ") + "," + text(`\n`)), []string{"/params/input/content blank"}},
		{"control characters only", said(text(`\u0000`)), []string{"/params/input/content/0/text blank"}},
		{"too long", said(text(strings.Repeat("é", 5001))), []string{"/params/input/content/0/text too_long"}},
		{"too long together", said(text(strings.Repeat("é", 2501)) + "," + text(strings.Repeat("é", 2500))), []string{"/params/input/content too_long"}},
		{"too long with what is quoted", `{"type":"threads.create","params":{"input":{"content":[` + text("a") + `],"quoted_text":"` + strings.Repeat("é", 5000) + `"}}}`,
			[]string{"/params/input/content/0/text too_long"}},
		{"a quote by itself", `{"type":"threads.create","params":{"input":{"content":[` + text(" ") + `],"quoted_text":"so"}}}`, []string{"/params/input/content/0/text blank"}},
		{"content of other types", said(`{"type":"CANARY","text":"a"},7,null,{"type":"input_text"},{"type":"input_tag","text":"a","data":[],"group":1,"interactive":"x"}`),
			[]string{"/params/input/content/0/type unsupported", "/params/input/content/1 wrong_type", "/params/input/content/2 wrong_type", "/params/input/content/3/text required",
				"/params/input/content/4/id required", "/params/input/content/4/interactive wrong_type", "/params/input/content/4/data wrong_type", "/params/input/content/4/group wrong_type"}},
		{"attachments and choices", `{"type":"threads.create","params":{"input":{"content":[` + text("a") + `],"attachments":["x"],"inference_options":{"model":"CANARY","tool_choice":{"id":"x"}}}}}`,
			[]string{"/params/input/attachments unsupported", "/params/input/inference_options/model unsupported", "/params/input/inference_options/tool_choice unsupported"}},
		{"every field", add(`"thread_id":"CANARY","input":{"content":7,"attachments":1,"quoted_text":2,"inference_options":3}`, `"user_id":7,"timezone":"Mars/CANARY"`),
			[]string{"/metadata/user_id wrong_type", "/metadata/timezone invalid_format", "/params/thread_id invalid_format", "/params/input/content wrong_type", "/params/input/quoted_text wrong_type",
				"/params/input/attachments wrong_type", "/params/input/inference_options wrong_type"}},
		{"faults of both, metadata and text", add(`"thread_id":"conv_1","input":{"content":[]}`, `"user_id":"`+strings.Repeat("u", 257)+`"`),
			[]string{"/metadata/user_id too_long", "/params/input/content blank"}},
		{"no thread", add(hello, ""), []string{"/params/thread_id required"}},
		{"retry", `{"type":"threads.retry_after_item","params":{"thread_id":7,"item_id":"a b"}}`, []string{"/params/thread_id wrong_type", "/params/item_id invalid_format"}},
		{"title", `{"type":"threads.update","params":{"thread_id":"conv_1","title":"` + strings.Repeat("t", 201) + `"}}`, []string{"/params/title too_long"}},
		{"blank title", `{"type":"threads.update","params":{"thread_id":"conv_1","title":"\n"}}`, []string{"/params/title blank"}},
		{"pages", `{"type":"threads.list","params":{"limit":-1,"order":"up","after":1}}`, []string{"/params/limit invalid_format", "/params/order invalid_format", "/params/after wrong_type"}},
		{"limits", `{"type":"items.list","params":{"thread_id":"conv_1","limit":1.5}}`, []string{"/params/limit wrong_type"}},
		{"feedback", `{"type":"items.feedback","params":{"thread_id":"conv_1","item_ids":["a",7,"é"],"kind":"CANARY"}}`,
			[]string{"/params/item_ids/1 wrong_type", "/params/item_ids/2 invalid_format", "/params/kind invalid_format"}},
		{"feedback on too much", `{"type":"items.feedback","params":{"thread_id":"conv_1","item_ids":[` + strings.Repeat(`"a",`, 100) + `"a"],"kind":"positive"}}`, []string{"/params/item_ids too_long"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, refused(t, tt.body)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"text", said(`{"type":"input_text","text":"a\u0000b\tc"}`), "ab\tc"},
		{"parts and a tag", said(`{"type":"input_text","text":"ask "},{"type":"input_tag","id":"u1","text":"Ann","data":{}},{"type":"input_text","text":" now"}`), "ask Ann now"},
		{"quote", `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"why?"}],"quoted_text":"one\ntwo\n"}}}`, "> one\n> two\n\nwhy?"},
		{"what is null", `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"a"}],"attachments":null,"quoted_text":null,` +
			`"inference_options":{"model":null,"tool_choice":null}}},"metadata":null}`, "a"},
		{"what is not known", `{"new":[{}],"type":"threads.create","params":{"new":1,"input":{"new":2,"content":[{"type":"input_text","text":"a","new":3}]}},"metadata":{"new":4}}`, "a"},
	} {
		if got := open(t, chatkit.New(chatkit.Config{}), tt.body).Request.Input; got != tt.want {
			t.Errorf("%s: the model is asked %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRequestOfATurn(t *testing.T) {
	t.Parallel()
	x := open(t, chatkit.New(chatkit.Config{}), add(`"thread_id":"conv_1",`+hello, `"user_id":"ann","timezone":"Europe/Berlin"`))
	got := x.Request
	if got.Input != "hello" || got.ConversationID != "conv_1" || got.UserID != "ann" || got.Location.String() != "Europe/Berlin" {
		t.Errorf("the request is %+v", got)
	}
	if x = open(t, chatkit.New(chatkit.Config{}), create("a")); x.Request.Location != nil || !strings.HasPrefix(x.Request.ConversationID, "conv_") {
		t.Errorf("the request is %+v", x.Request)
	}
	if _, wrong := chat.CheckConversationID(x.Request.ConversationID); wrong != nil {
		t.Errorf("the id of a new thread %s", wrong.Message)
	}
}

// A user's message comes back as it was sent, with an id.
func TestMessageIsEchoed(t *testing.T) {
	t.Parallel()
	const parts = `{"type":"input_text","text":"a\u0000 "},{"type":"input_tag","text":"Ann","id":"","data":{"n":1.50,"s":"\u2028"},"group":"People","interactive":true},{"type":"input_tag","text":"B","id":"b","data":{}}`
	frames, _ := ask(t, chatkit.New(chatkit.Config{}), `{"type":"threads.create","params":{"input":{"quoted_text":"q","content":[`+parts+`]}}}`, started)
	want := `"content":[` + parts + `],"attachments":[],"quoted_text":"q","inference_options":{}}}`
	if !strings.Contains(frames, want) {
		t.Errorf("no %s in\n%s", want, frames)
	}
}

func TestManyFaultsAreBounded(t *testing.T) {
	t.Parallel()
	faults := refused(t, said(strings.Repeat("7,", 20_000)+"7"))
	if len(faults) != 16 || !slices.Contains(faults, "/params/input/content/0 wrong_type") {
		t.Errorf("%d faults: %.500v", len(faults), faults)
	}
}
