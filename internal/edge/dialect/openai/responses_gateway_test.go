package openai_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/sim/geminisim"
)

const respond = "POST /v1/responses\nContent-Type: application/json\n\n"

// output is an item of a response, as tests look at it.
type output struct {
	ID, Type, Status, Name, Arguments, Output string
	Call                                      string `json:"call_id"`
	Label                                     string `json:"server_label"`
	Question                                  string `json:"approval_request_id"`
	Content, Summary                          []struct{ Text string }
	Error                                     json.RawMessage
}

// response is a response, as tests look at it.
type response struct {
	ID, Status, Model string
	Previous          string `json:"previous_response_id"`
	Store             bool
	Error             *struct{ Code, Message string }
	Details           *struct{ Reason string } `json:"incomplete_details"`
	Metadata          map[string]string
	Output            []output
	Usage             *struct {
		Total int `json:"total_tokens"`
	}
	Conversation *struct{ ID string }
}

// said is a response in one line.
func (r response) said() string {
	words := []string{r.Status}
	for _, item := range r.Output {
		word := item.Type + " " + item.Status
		for _, part := range append(item.Content, item.Summary...) {
			word += " " + part.Text
		}
		words = append(words, strings.TrimSpace(word+" "+item.Name+" "+item.Arguments+" "+item.Output))
	}
	return strings.Join(words, "; ")
}

// read reads a response, or the last event of a stream.
func read(t *testing.T, body string) (r response) {
	t.Helper()
	text := body
	if strings.HasPrefix(body, "event: ") {
		_, text, _ = strings.Cut(body[strings.LastIndex(body, "\ndata: "):], `"response":`)
		text = strings.TrimSuffix(strings.TrimSpace(text), "}")
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return r
}

// eventsOf returns the events of a stream, whose numbers must count from one on.
func eventsOf(t *testing.T, body string, from int) (names []string) {
	t.Helper()
	for i, found := range regexp.MustCompile(`(?m)^event: response\.(\S+)\ndata: {"type":"response\.(\S+)","sequence_number":(\d+)`).FindAllStringSubmatch(body, -1) {
		if found[1] != found[2] || found[3] != strconv.Itoa(from+i) {
			t.Errorf("event %d is %q", i, found)
		}
		names = append(names, found[1])
	}
	return names
}

// scripted makes the fleet's model one that follows a script.
func scripted(f *wholetest.Fleet, script string) {
	f.T.Helper()
	parsed, err := geminisim.ParseScript(script)
	if err != nil {
		f.T.Fatal(err)
	}
	sim := geminisim.New(geminisim.Config{RequireKey: wholetest.Key, Script: parsed, Foreign: true})
	f.Gemini = sim
	f.T.Cleanup(func() {
		for _, failure := range sim.Failures() {
			f.T.Errorf("the model was sent what it does not expect: %s", failure)
		}
	})
}

// ask asks for a response.
func ask(t *testing.T, p wholetest.Peer, body string) (r response) {
	t.Helper()
	status, text := p.Ask(t, http.MethodPost, "/v1/responses", body)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", body, status, text)
	}
	return read(t, text)
}

// A response as a stream and as a document.
func TestResponse(t *testing.T) {
	t.Parallel()
	replies := play(t, `
-- request --
`+respond+`{"model":"sluice","stream":true,"input":"Look"}
---
`+respond+`{"model":"sluice","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}],"metadata":{"a":"b"}}
-- gemini --
thought Hm.
text Let me see.
call look {} id=s1
finish STOP
---
text Done.
finish STOP
---
text One.
finish STOP
-- mcp --
[{"name": "look", "readOnly": true, "result": "seen"}]
`)
	text := []string{"output_item.added", "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done"}
	want := []string{"created", "in_progress", "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta", "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done"}
	want = append(want, text...)
	want = append(want, "output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done", "mcp_call.completed", "output_item.done")
	want = append(want, text[:3]...)
	want = append(append(want, text[2:]...), "completed") // in two pieces
	if diff := gocmp.Diff(want, eventsOf(t, replies[0].Body, 0)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	r := read(t, replies[0].Body)
	if got := r.said(); got != "completed; reasoning completed Hm.; message completed Let me see.; mcp_call completed look {} seen; message completed \n\nDone." {
		t.Errorf("the stream is %q", got)
	}
	r = read(t, replies[1].Body)
	if r.said() != "completed; message completed One." || r.Store || r.Model != "sluice" || r.Metadata["a"] != "b" || r.Usage.Total != 15 {
		t.Errorf("the document is %+v", r)
	}
}

// What is said to a kept response continues it, on another gateway and in branches, and is
// nobody else's.
func TestPreviousResponse(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		scripted(f, `
text One.
finish STOP
---
expect /contents/0/parts/0/text first
expect /contents/1/parts/0/text One.
expect /contents/2/parts/0/text "second"
expect-contains /contents/2/parts/1/text "(UTC+00:00)."
text Two.
finish STOP
---
expect /contents/1/parts/0/text One.
expect /contents/2/parts/0/text "other"
expect-contains /contents/2/parts/1/text "(UTC+00:00)."
expect-absent /contents/3
text Three.
finish STOP
---
expect /contents/3/parts/0/text Two.
expect /contents/4/parts/0/text "third"
expect-contains /contents/4/parts/1/text "(UTC+00:00)."
expect-absent /contents/5
text Four.
finish STOP
`)
		one, other := f.Gateway(nil), f.Gateway(nil)
		const who = `{"model":"sluice","safety_identifier":"ann",`
		first := ask(t, one, who+`"conversation":"c1","input":"first"}`)
		second := ask(t, other, who+`"previous_response_id":"`+first.ID+`","input":"second","stream":true}`)
		if third := ask(t, other, who+`"previous_response_id":"`+first.ID+`","input":"other"}`); third.said() != "completed; message completed Three." || third.Previous != first.ID {
			t.Errorf("the branch is %+v", third)
		}
		if fourth := ask(t, one, who+`"previous_response_id":"`+second.ID+`","input":"third"}`); !fourth.Store || fourth.said() != "completed; message completed Four." {
			t.Errorf("the fourth is %+v", fourth)
		}
		for body, want := range map[string]string{
			`{"model":"sluice","user":"bob","previous_response_id":"` + first.ID + `","input":"x"}`:                                               `"param":"previous_response_id","code":"previous_response_not_found"`,
			who + `"previous_response_id":"resp_00000000000000000000000000","input":"x"}`:                                                         `"code":"previous_response_not_found"`,
			who + `"previous_response_id":"` + first.ID + `_0","input":"x"}`:                                                                      `"code":"previous_response_not_found"`,
			who + `"previous_response_id":"\n","input":"x"}`:                                                                                      `"code":"previous_response_not_found"`,
			who + `"input":[{"type":"item_reference","id":"msg_` + first.ID[5:] + `_7"},{"role":"user","content":"x"}]}`:                          `"param":"input.0.id","code":"previous_response_not_found"`,
			`{"model":"sluice","user":"bob","input":[{"type":"item_reference","id":"` + first.Output[0].ID + `"},{"role":"user","content":"x"}]}`: `"code":"previous_response_not_found"`,
		} {
			if status, text := one.Ask(t, http.MethodPost, "/v1/responses", body); status != 400 || !strings.Contains(text, want) {
				t.Errorf("%s: %d %s", body, status, text)
			}
		}
		for _, path := range []string{"/v1/responses/" + first.ID + "?user_id=bob", "/v1/responses/resp_1", "/v1/responses/" + first.Output[0].ID} {
			if status, text := one.Ask(t, http.MethodGet, path, ""); status != 404 || !strings.HasPrefix(text, `{"error":`) {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
	})
}

// A client that names items of responses in place of sending them gets the same conversation.
func TestItemReference(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		scripted(f, `
thought Hm.
text One.
finish STOP
---
expect /contents/0/parts/0/text first
expect /contents/1/parts/0/text One.
expect /contents/2/parts/0/text "second"
expect-contains /contents/2/parts/1/text "(UTC+00:00)."
expect-absent /contents/3
text Two.
finish STOP
`)
		p := f.Gateway(nil)
		first := ask(t, p, `{"model":"sluice","input":"first"}`)
		ask(t, p, `{"model":"sluice","input":[{"role":"user","content":"first"},{"type":"item_reference","id":"`+first.Output[0].ID+`"},{"type":"item_reference","id":"`+first.Output[1].ID+`"},{"role":"user","content":"second"}]}`)
	})
}

// A client's tool is called, and its result continues the response that the gateway has.
func TestFunctionCall(t *testing.T) {
	const tools = `"tools":[{"type":"function","name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}},{"type":"function","name":"alarm"}],`
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		scripted(f, `
text Let me see.
call weather {"city":"Oslo"} id=c1 sig=c2lnbmVk
call alarm {} id=c2
finish STOP
---
expect /contents/0/parts/0/text "Cold?"
expect-contains /contents/0/parts/1/text "(UTC+00:00)."
expect /contents/1/parts/1/functionCall/name weather
expect /contents/1/parts/1/thoughtSignature c2lnbmVk
expect /contents/2/parts/0/functionResponse/response/output minus 5
expect-count /contents/2/parts 2
text Yes.
finish STOP
---
expect /contents/3/parts/0/text Yes.
expect /contents/4/parts/0/text "Thanks"
expect-contains /contents/4/parts/1/text "(UTC+00:00)."
text Bye.
finish STOP
`)
		one, other := f.Gateway(nil), f.Gateway(nil)
		asked := ask(t, one, `{"model":"sluice",`+tools+`"input":"Cold?","stream":true}`)
		if got := asked.said(); got != `completed; message completed Let me see.; function_call completed weather {"city": "Oslo"}; function_call completed alarm {}` {
			t.Fatalf("the call is %q", got)
		}
		if asked.Output[1].Call != "c1" || asked.Output[2].Call != "c2" {
			t.Errorf("the calls are %+v", asked.Output)
		}
		answered := ask(t, other, `{"model":"sluice",`+tools+`"previous_response_id":"`+asked.ID+`","input":[{"type":"function_call_output","call_id":"c1","output":"minus 5"},{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"set"}]}]}`)
		if answered.said() != "completed; message completed Yes." {
			t.Errorf("the answer is %+v", answered)
		}
		ask(t, one, `{"model":"sluice",`+tools+`"previous_response_id":"`+answered.ID+`","input":"Thanks"}`)
		status, text := one.Ask(t, http.MethodPost, "/v1/responses", `{"model":"sluice",`+tools+`"previous_response_id":"`+asked.ID+`","input":[{"type":"function_call_output","call_id":"c1","output":"x"}]}`)
		if status != 400 || !strings.Contains(text, `"code":"required"`) {
			t.Errorf("a result is missing: %d %s", status, text)
		}
	})
}

// A response goes on without its client. Any gateway reports it, from any event on, byte for byte;
// ends it, and removes it.
func TestKeptResponse(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, other := f.Gateway(nil), f.Gateway(nil)
		const body = `{"model":"sluice","stream":true,"background":true,"input":"go","metadata":{"a":"b"},"instructions":"Be brief."}`
		ctx, leave := context.WithCancel(t.Context())
		resp := one.Send(t, ctx, http.MethodPost, "/v1/responses", body)
		var head strings.Builder
		r := bufio.NewReader(resp.Body)
		for !strings.Contains(head.String(), "output_text.delta") || !strings.HasSuffix(head.String(), "\n\n") {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatal(err, head.String())
			}
			head.WriteString(line)
		}
		leave()
		id := regexp.MustCompile(`resp_\w+`).FindString(head.String())
		path := "/v1/responses/" + id
		if _, text := other.Ask(t, http.MethodGet, path, ""); read(t, text).Status != "in_progress" {
			t.Errorf("under way it is %s", text)
		}
		if status, text := other.Ask(t, http.MethodPost, "/v1/responses", `{"model":"sluice","previous_response_id":"`+id+`","input":"x"}`); status != 400 {
			t.Errorf("it was continued under way: %d %s", status, text)
		}
		_, all := other.Ask(t, http.MethodGet, path+"?stream=true", "")
		if !strings.HasPrefix(all, head.String()) || read(t, all).said() != "completed; message completed word word word word word" {
			t.Fatalf("the client had\n%s\nand the reader gets\n%s", head.String(), all)
		}
		n := len(eventsOf(t, all, 0))
		for _, after := range []int{0, 1, 2, 5, n - 2, n - 1} {
			_, rest := one.Ask(t, http.MethodGet, path+"?stream=true&starting_after="+strconv.Itoa(after), "")
			if names := eventsOf(t, rest, after+1); !strings.HasSuffix(all, rest) || len(names) != n-1-after {
				t.Errorf("behind %d: %q", after, rest)
			}
		}
		_, document := one.Ask(t, http.MethodGet, path, "")
		if diff := gocmp.Diff(read(t, all), read(t, document)); diff != "" || !strings.Contains(all, document) {
			t.Errorf("the document is another one: %s", diff)
		}
		for _, after := range []string{"x", "-1", "1.5"} {
			if status, _ := one.Ask(t, http.MethodGet, path+"?stream=true&starting_after="+after, ""); status != 400 {
				t.Errorf("behind event %s: %d", after, status)
			}
		}
		time.Sleep(2 * time.Hour) // the log is gone
		if _, text := other.Ask(t, http.MethodGet, path, ""); text != document {
			t.Errorf("later it is %s", text)
		}
		if status, _ := other.Ask(t, http.MethodGet, path+"?stream=true", ""); status != 404 {
			t.Errorf("its events: %d", status)
		}
		if status, text := other.Ask(t, http.MethodDelete, path, ""); status != 200 || text != `{"id":"`+id+`","object":"response","deleted":true}` {
			t.Errorf("DELETE: %d %s", status, text)
		}
		if status, _ := one.Ask(t, http.MethodGet, path, ""); status != 404 {
			t.Errorf("it was removed: %d", status)
		}
	})
}

// In the background a document is there at once, and comes by itself.
func TestBackground(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, other := f.Gateway(nil), f.Gateway(nil)
		begun := ask(t, one, `{"model":"sluice","background":true,"input":"go"}`)
		if begun.Status != "in_progress" || begun.ID == "" {
			t.Errorf("it begins as %+v", begun)
		}
		time.Sleep(10 * time.Second)
		if _, text := other.Ask(t, http.MethodGet, "/v1/responses/"+begun.ID, ""); read(t, text).said() != "completed; message completed word word word word word" {
			t.Errorf("it ends as %s", text)
		}
		begun = ask(t, one, `{"model":"sluice","background":true,"input":"go"}`)
		time.Sleep(1500 * time.Millisecond)
		_, text := other.Ask(t, http.MethodPost, "/v1/responses/"+begun.ID+"/cancel", "")
		if got := read(t, text); got.said() != "cancelled; message incomplete word word" || got.Error == nil || got.Error.Code != "server_error" {
			t.Errorf("it was cancelled as %s", text)
		}
		if _, again := one.Ask(t, http.MethodGet, "/v1/responses/"+begun.ID, ""); again != text {
			t.Errorf("then it is %s", again)
		}
		if status, text := one.Ask(t, http.MethodPost, "/v1/responses", `{"model":"sluice","background":true,"store":false,"input":"go"}`); status != 400 || !strings.Contains(text, `"param":"background"`) {
			t.Errorf("without store: %d %s", status, text)
		}
	})
}

// A response of a client that leaves is not wanted any more. What is not to be stored is not.
func TestLeftAndUnstored(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		p := f.Gateway(nil)
		r := ask(t, p, `{"model":"sluice","input":"go","store":false}`)
		if status, _ := p.Ask(t, http.MethodGet, "/v1/responses/"+r.ID, ""); status != 404 || r.Store {
			t.Errorf("%d: it was stored: %+v", status, r)
		}
		ctx, leave := context.WithCancel(t.Context())
		resp := p.Send(t, ctx, http.MethodPost, "/v1/responses", `{"model":"sluice","stream":true,"input":"go"}`)
		head := make([]byte, 2000)
		n, _ := io.ReadAtLeast(resp.Body, head, 500)
		leave()
		time.Sleep(time.Minute)
		id := regexp.MustCompile(`resp_\w+`).FindString(string(head[:n]))
		if _, text := p.Ask(t, http.MethodGet, "/v1/responses/"+id, ""); read(t, text).Status != "cancelled" {
			t.Errorf("it is %s", text)
		}
	})
}

// A repeated key gets the same bytes.
func TestRepeatedResponse(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		one, other := f.Gateway(nil), f.Gateway(nil)
		for _, body := range []string{`{"model":"sluice","input":"go"}`, `{"model":"sluice","stream":true,"input":"go","instructions":"` + strings.Repeat("long ", 2000) + `"}`} {
			key := "key-" + strconv.Itoa(len(body)) + "-0123456789"
			_, first := one.Ask(t, http.MethodPost, "/v1/responses", body, "Idempotency-Key", key)
			time.Sleep(3 * time.Second) // another second begins
			_, again := other.Ask(t, http.MethodPost, "/v1/responses", body, "Idempotency-Key", key)
			if first != again || read(t, first).Status != "completed" {
				t.Errorf("first\n%s\nthen\n%s", first, again)
			}
			time.Sleep(2 * time.Hour) // the log is gone
			if _, kept := other.Ask(t, http.MethodGet, "/v1/responses/"+read(t, first).ID, ""); !strings.Contains(first, kept) || read(t, kept).Status != "completed" {
				t.Errorf("first\n%s\nand kept\n%s", first, kept)
			}
		}
		if f.Runs != 2 {
			t.Errorf("%d turns", f.Runs)
		}
	})
}

// A conversation that is forgotten leaves no response behind.
func TestForgottenResponses(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		p := f.Gateway(nil)
		r := ask(t, p, `{"model":"sluice","user":"ann","conversation":{"id":"conv_1"},"input":"go"}`)
		if r.Conversation == nil || r.Conversation.ID != "conv_1" {
			t.Errorf("the conversation is %+v", r.Conversation)
		}
		if status, text := p.Ask(t, http.MethodDelete, "/conversations/conv_1?user_id=ann", ""); status != 204 {
			t.Fatalf("%d %s", status, text)
		}
		if status, _ := p.Ask(t, http.MethodGet, "/v1/responses/"+r.ID, ""); status != 404 {
			t.Errorf("it is still there: %d", status)
		}
	})
}

// A call that a person must allow is asked for, answered on another gateway, and then made; what
// follows continues that response.
func TestResponseWithApproval(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		scripted(f, `
text Let me.
call create_todo {"title":"milk"} id=c1
call create_todo {"title":"eggs"} id=c2
finish STOP
---
expect /contents/1/parts/1/functionCall/name create_todo
text Half done.
finish STOP
---
expect /contents/0/parts/0/text buy
text Fine.
finish STOP
`)
		env := map[string]string{"SLUICE_CONFIRM": "writes", "SLUICE_APPROVAL_KEY": wholetest.ApprovalKey}
		one, other := f.Gateway(env), f.Gateway(env)
		asked := ask(t, one, `{"model":"sluice","input":"buy","stream":true}`)
		if len(asked.Output) != 3 || asked.Output[1].Type != "mcp_approval_request" || asked.Output[2].Name != "create_todo" || asked.Output[1].Label == "" || asked.Status != "completed" {
			t.Fatalf("the question is %+v", asked)
		}
		answer := func(item output, approve bool) string {
			return `{"type":"mcp_approval_response","approval_request_id":"` + item.ID + `","approve":` + strconv.FormatBool(approve) + `}`
		}
		const previous = `{"model":"sluice","previous_response_id":"`
		if status, text := other.Ask(t, http.MethodPost, "/v1/responses", previous+asked.ID+`","input":[`+answer(asked.Output[1], true)+`]}`); status != 400 {
			t.Errorf("one answer of two: %d %s", status, text)
		}
		body := previous + asked.ID + `","input":[` + answer(asked.Output[1], true) + `,` + answer(asked.Output[2], false) + `]}`
		answered := ask(t, other, body)
		if answered.ID == asked.ID || !strings.Contains(answered.said(), "mcp_call completed create_todo") || !strings.Contains(answered.said(), "mcp_call failed create_todo") || !strings.Contains(answered.said(), "Half done.") {
			t.Errorf("then it is %q", answered.said())
		}
		if answered.Output[0].Question != asked.Output[1].ID || answered.Output[1].Question != asked.Output[2].ID {
			t.Errorf("the calls are of other questions: %+v", answered.Output)
		}
		_, later := one.Ask(t, http.MethodGet, "/v1/responses/"+answered.ID+"?stream=true", "")
		if diff := gocmp.Diff(answered, read(t, later)); diff != "" {
			t.Errorf("of the log it is another one: %s", diff)
		}
		if status, text := one.Ask(t, http.MethodPost, "/v1/responses", body); status != 409 || !strings.Contains(text, `"code":"approval_used"`) {
			t.Errorf("the same again: %d %s", status, text)
		}
		if last := ask(t, one, previous+answered.ID+`","input":"thanks"}`); last.said() != "completed; message completed Fine." {
			t.Errorf("the last is %+v", last)
		}
	})
}

// Without a store the client says again what was said, and the token has the turn that waits.
func TestResponseWithApprovalWithoutAStore(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.Store = nil
		scripted(f, `
call create_todo {"title":"milk"} id=c1
finish STOP
---
expect /contents/2/parts/0/functionResponse/name create_todo
text Done.
finish STOP
`)
		p := f.Gateway(map[string]string{"SLUICE_CONFIRM": "writes", "SLUICE_APPROVAL_KEY": wholetest.ApprovalKey})
		asked := ask(t, p, `{"model":"sluice","input":"buy"}`)
		if len(asked.Output) != 1 || asked.Output[0].Type != "mcp_approval_request" || asked.Store {
			t.Fatalf("the question is %+v", asked)
		}
		q := asked.Output[0]
		answered := ask(t, p, `{"model":"sluice","input":[{"role":"user","content":"buy"},{"type":"mcp_approval_request","id":"`+q.ID+`"},{"type":"mcp_approval_response","approval_request_id":"`+q.ID+`","approve":true}],"stream":true}`)
		if got := answered.said(); !strings.HasPrefix(got, "completed; mcp_call completed create_todo") || !strings.HasSuffix(got, "Done.") {
			t.Errorf("then it is %q", got)
		}
		status, text := p.Ask(t, http.MethodPost, "/v1/responses", `{"model":"sluice","input":[{"type":"mcp_approval_response","approval_request_id":"slap1.forged~c1","approve":true}]}`)
		if status != 403 || !strings.Contains(text, `"code":"approval_invalid"`) {
			t.Errorf("a forged one: %d %s", status, text)
		}
	})
}

// An answer may be an object, as in Chat Completions.
func TestResponseIsAnObject(t *testing.T) {
	t.Parallel()
	replies := play(t, `
-- request --
`+respond+`{"model":"sluice","stream":true,"input":"Where?","text":{"format":{"type":"json_schema","name":"place","strict":true,"schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}}
---
`+respond+`{"model":"sluice","input":"Where?","text":{"format":{"type":"json_schema","name":"place","schema":{"type":"string"}}}}
-- gemini --
text {"city":"Oslo"}
finish STOP
`)
	if got := read(t, replies[0].Body).said(); got != `completed; message completed {"city":"Oslo"}` {
		t.Errorf("the object is %q", got)
	}
	if r := replies[1]; r.Status != 400 || !strings.Contains(r.Body, `"param":"text.format.schema"`) {
		t.Errorf("a schema of a text: %d %s", r.Status, r.Body)
	}
}
