package web_test

import (
	"encoding/json"
	"errors"
	"testing"

	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/turn/chat"
)

// The schema accepts each ChatKit request that the server accepts, and the server refuses each
// that the schema refuses. What a type of request needs is written in words only.
func TestChatKitRequestsMatchTheirSchema(t *testing.T) {
	t.Parallel()
	schema := strict(t)("ChatKitRequest")
	server := chatkit.New(chatkit.Config{})
	const text = `{"type":"input_text","text":"a"}`
	create := func(input string) string {
		return `{"type":"threads.create","params":{"input":{` + input + `}}}`
	}
	add := func(params string) string { return `{"type":"threads.add_user_message","params":` + params + `}` }
	for body, want := range map[string]bool{
		create(`"content":[` + text + `],"attachments":[],"inference_options":{}`):                                    true,
		create(`"content":[` + text + `],"attachments":null,"quoted_text":null,"inference_options":{"model":null}`):   true,
		create(`"content":[{"type":"input_tag","text":"a","id":"b","data":{"c":1},"group":null,"interactive":true}]`): true,
		create(`"content":[]`):                                                                           false,
		create(`"content":[{"type":"input_image","text":"a"}]`):                                          false,
		create(`"content":[{"type":"input_text"}]`):                                                      false,
		create(`"content":[` + text + `],"attachments":["x"]`):                                           false,
		create(`"content":[` + text + `],"inference_options":{"model":"m"}`):                             false,
		create(`"content":[` + text + `],"inference_options":{"tool_choice":{}}`):                        false,
		add(`{"thread_id":"conv_1","input":{"content":[` + text + `]}}`):                                 true,
		add(`{"thread_id":"thr_1","input":{"content":[` + text + `]}}`):                                  false,
		`{"type":"threads.list"}`:                                                                        true,
		`{"type":"threads.list","params":null,"metadata":null}`:                                          true,
		`{"type":"threads.list","params":{"limit":null,"order":null,"after":null}}`:                      true,
		`{"type":"threads.list","params":{"limit":1000,"order":"asc","after":"x"}}`:                      true,
		`{"type":"threads.list","params":{"limit":-1}}`:                                                  false,
		`{"type":"threads.list","params":{"order":"up"}}`:                                                false,
		`{"type":"threads.list","metadata":{"user_id":"u","timezone":"UTC","x":1}}`:                      true,
		`{"type":"threads.list","metadata":{"user_id":1}}`:                                               false,
		`{"type":"threads.custom_action","params":{}}`:                                                   false,
		`{"type":"items.feedback","params":{"thread_id":"conv_1","item_ids":["a"],"kind":"positive"}}`:   true,
		`{"type":"items.feedback","params":{"thread_id":"conv_1","item_ids":["a b"],"kind":"positive"}}`: false,
		`{"type":"items.feedback","params":{"thread_id":"conv_1","item_ids":["a"],"kind":"so-so"}}`:      false,
		`{}`: false,
		`[]`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		_, serverErr := server.Open(t.Context(), []byte(body))
		_, invalid := errors.AsType[*chat.ValidationError](serverErr)
		if schemaErr := schema.Validate(v); (schemaErr == nil) != want || invalid == want {
			t.Errorf("%s: want %v; the server says %v, the schema %v", body, want, serverErr, schemaErr)
		}
	}
}
