package chatkit_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/turn/chat"
)

// Whatever is sent: it is refused with its faults, answered with strict JSON, or a
// turn within the rules of an input that a client can follow.
func FuzzOpen(f *testing.F) {
	for _, body := range []string{
		create("hi"), add(`"thread_id":"conv_1",`+hello, `"user_id":"ann","timezone":"UTC"`), retry("conv_1", "msg_1", "ann"),
		request("threads.list", `"limit":3,"order":"asc","after":"x"`, ""), request("items.feedback", `"thread_id":"conv_1","item_ids":["a"],"kind":"positive"`, ""),
		request("threads.update", `"thread_id":"conv_1","title":"x"`, ""), `{"type":"threads.list","type":1}`, `{"a":"\ud800"}`, `[`, "{}x",
		said(`{"type":"input_tag","id":"a","text":"b","data":{"c":[1,{"d":"\u2028"}]},"group":"g","interactive":true}`),
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := chatkit.New(chatkit.Config{}).Open(context.Background(), body)
		if v, ok := errors.AsType[*chat.ValidationError](err); ok {
			if len(v.Fields) == 0 || len(v.Fields) > 20 {
				t.Fatalf("%d faults", len(v.Fields))
			}
			return
		}
		if err != nil {
			if fault.From(err).Type != fault.NotFound {
				t.Fatal(err)
			}
			return
		}
		if !jsontext.Value(body).IsValid() {
			t.Fatal("what is not strict is taken")
		}
		if x.Encoder == nil {
			if !jsontext.Value(x.Reply.Body).IsValid() {
				t.Fatalf("the reply is %q", x.Reply.Body)
			}
			return
		}
		if clean, wrong := chat.CheckInput(x.Request.Input); wrong != nil || clean != x.Request.Input {
			t.Fatalf("the input is %q: %v", x.Request.Input, wrong)
		}
		frames, _ := ask(t, chatkit.New(chatkit.Config{}), string(body), answered...)
		if _, err := follow(frames, bytes.Contains(body, []byte("retry_after_item"))); err != nil {
			t.Fatal(err)
		}
	})
}
