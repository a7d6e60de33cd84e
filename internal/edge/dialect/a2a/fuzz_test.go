package a2a

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/internal/base/fault"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Whatever is sent, over either binding: it is refused, answered with JSON under the id
// that came, or a turn within the rules of an input.
func FuzzOpen(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"message/stream","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"},{"kind":"file","file":{"uri":"x"}}]}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"task_00000000000000000000000000","historyLength":-1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"contextId":"conv_1","pageSize":3,"status":"x","statusTimestampAfter":"2026-01-01T00:00:00Z"}}`,
		`{"jsonrpc":"2.0","id":null,"method":"tasks/resubscribe","params":{"id":"x"}}`, `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"a":[1]}},{"raw":"AA=="},{"url":"x"}]},"configuration":{"returnImmediately":true}}`,
		`{"request":{"message_id":"m","role":"ROLE_USER","content":[{"text":"hi"},{"file":{"file_with_uri":"x"}}]},"configuration":{"blocking":true,"history_length":0}}`,
		`[`, `[]`, `{"id":{}}`, "{\"jsonrpc\":\"\xff\"}", `{"id":"\u2028","jsonrpc":"2.0","method":""}`,
	} {
		f.Add([]byte(body), "message:send", "")
		f.Add([]byte(body), "v1/message:stream", "0.3")
	}
	f.Add([]byte(nil), "tasks/x:cancel", "1.0")
	f.Add([]byte(nil), "/../v1//", "\x00")
	f.Fuzz(func(t *testing.T, body []byte, path, version string) {
		s := New(Config{V03: true, Native: func(string) stream.Encoder { return nil }})
		open := func(rest bool) {
			r := httptest.NewRequest(http.MethodPost, "/a2a", nil)
			r.Header = http.Header{"Content-Type": {"application/json"}, "A2a-Version": {version}}
			read := s.openRPC
			if rest {
				r.SetPathValue("rest", path)
				read = s.openREST
			}
			x, err := read(r, body)
			if f, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || f.Type != fault.NotFound) {
				t.Fatalf("%v", err)
			}
			switch {
			case err != nil:
			case x.Reply != nil:
				if !json.Valid(x.Reply.Body) || !rest && !strings.HasPrefix(string(x.Reply.Body), `{"jsonrpc":"2.0"`) {
					t.Fatalf("the reply is %q", x.Reply.Body)
				}
			default:
				if clean, wrong := chat.CheckInput(x.Request.Input); wrong != nil || clean != x.Request.Input {
					t.Fatalf("the input is %q: %v", x.Request.Input, wrong)
				}
				if _, wrong := chat.CheckConversationID(x.Request.ConversationID); wrong != nil || len(x.Keyed) == 0 != (x.Key == "") {
					t.Fatalf("conversation %q, key %q", x.Request.ConversationID, x.Key)
				}
				frames := x.Encoder.Encode(nil, stream.Stamp{N: 1}, &stream.Start{})
				if frames = x.Encoder.Encode(frames, stream.Stamp{N: 2}, &stream.Done{Reason: stream.Stop}); len(frames) == 0 {
					t.Fatal("nothing is told")
				}
			}
		}
		open(false)
		open(true)
	})
}
