package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// shelf is a store of responses.
type shelf struct{ kept map[string]string }

func (s shelf) Response(_ context.Context, turn string) ([]byte, int64, error) {
	if turn == "turn_00000000000000000000000000" {
		return nil, 0, &fault.Error{Type: fault.StoreUnavailable}
	}
	if text, ok := s.kept[turn]; ok {
		return []byte(text), 1, nil
	}
	return nil, 0, nil
}
func (s shelf) KeepResponse(_ context.Context, _, turn string, data []byte, _ int64) {
	s.kept[turn] = string(data)
}
func (shelf) DropResponse(context.Context, string) error                           { return nil }
func (shelf) ResponseLog(context.Context, string) (Log, error)                     { return nil, nil }
func (shelf) CancelResponse(context.Context, chat.Principal, string, string) error { return nil }

// storing is served with a store, in which there is a response of ann's, and one that has called a
// client's tool.
func storing(rules dialect.Rules) *Server {
	s := served(rules)
	s.cfg.Rules.Stored = true
	s.cfg.Turns = shelf{map[string]string{keptTurn: `{"owner":"ann","conversation":"conv_1","task":"task_1","turn":"` + keptTurn + `","echo":{"model":"sluice"},
		"input":[{"role":"user","content":"before"}],"response":{"output":[{"id":"rs_` + keptSeed + `_0","type":"reasoning"},{"id":"msg_` + keptSeed + `_1","type":"message","role":"assistant","content":[{"type":"output_text","text":"said"}]}]}}`,
		"turn_zzzzzzzzzzzzzzzzzzzzzzzzzz": `{"task":"task_2","turn":"turn_zzzzzzzzzzzzzzzzzzzzzzzzzz","echo":{"model":"sluice"},
		"input":[{"role":"user","content":"first"}],"response":{"output":[{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"}]}}`}}
	return s
}

// createBody opens a request for a response.
func createBody(s *Server, body string) (*dialect.Exchange, error) {
	r := httptest.NewRequestWithContext(chat.WithRequestID(context.Background(), "req_1"), http.MethodPost, "/v1/responses", strings.NewReader(body))
	return s.openResponse(r, []byte(body))
}

// repeat returns n times a text, with commas between.
func repeat(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

func TestRefusedResponses(t *testing.T) {
	t.Parallel()
	const own = `{"model":"sluice","input":`
	long := strings.Repeat("x", chat.DefaultLine+1)
	var pairs []string
	for i := range maxMetadata + 1 {
		pairs = append(pairs, `"k`+strconv.Itoa(i)+`":"v"`)
	}
	const weatherTool = `"tools":[{"type":"function","name":"weather"}],`
	for body, want := range map[string]string{
		`{"input":"a"}`:                               "400 required model false",
		`{"model":"gpt-9","input":"a"}`:               "404 model_not_found model false",
		`{"model":"","input":"a"}`:                    "400 blank model false",
		`{"model":"sluice/../light","input":"a"}`:     "404 model_not_found model false",
		`{"model":"sluice"}`:                          "400 required input false",
		own + `null}`:                                 "400 required input false",
		own + `5}`:                                    "400 wrong_type input false",
		own + `" "}`:                                  "400 blank input false",
		own + `"` + long + `"}`:                       "400 string_above_max_length input false",
		own + `[]}`:                                   "400 required input false",
		own + `["a"]}`:                                "400 wrong_type input.0 false",
		own + `[{}]}`:                                 "400 required input.0.type false",
		own + `[{"type":"x"}]}`:                       "400 required input false",
		own + `[{"role":"tool","content":"a"}]}`:      "400 unsupported_value input.0.role false",
		own + `[{"type":"message","content":"a"}]}`:   "400 required input.0.role false",
		own + `[{"role":"system","content":"a"}]}`:    "400 required input false",
		own + `[{"role":"assistant","content":"a"}]}`: "400 required input false",
		own + `[{"role":"user","content":null}]}`:     "400 blank input.0 false",
		own + `[{"role":"user","content":[{"type":"input_image"}]}]}`:                                   "400 unsupported_value input.0.content.0 false",
		own + `[{"role":"user","content":[{"type":"input_text"}]}]}`:                                    "400 required input.0.content.0.text false",
		own + `[` + repeat(`{"role":"user","content":"a"}`, 1001) + `]}`:                                "400 string_above_max_length input false",
		own + `[{"role":"user","content":"` + strings.Repeat("x", 1<<20) + `"}]}`:                       "400 string_above_max_length input.0 false",
		own + `[{"role":"user","content":[{"type":"input_file"}]},{"role":"developer","content":"x"}]}`: "400 unsupported_value input.0.content.0 false",
		// calls
		own + `[{"role":"user","content":"a"},{"type":"function_call","name":"weather"}]}`:                                                                                                                                      "400 required input.1.call_id false",
		own + `[{"role":"user","content":"a"},{"type":"function_call_output","output":"x"}]}`:                                                                                                                                   "400 required input.1.call_id false",
		own + `[{"role":"user","content":"a"},{"type":"function_call_output","call_id":"c","output":"x"}]}`:                                                                                                                     "400 unknown_value input.1 false",
		own + `[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"weather","arguments":5}]}`:                                                                                                          "400 wrong_type input.1.arguments false",
		`{"model":"sluice",` + weatherTool + `"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"weather","arguments":"{}"}]}`:                                                                "400 required input.1 false",
		`{"model":"sluice",` + weatherTool + `"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"weather"},` + repeat(`{"type":"function_call_output","call_id":"c","output":"x"}`, 2) + `]}`: "400 unknown_value input.3 false",
		own + `[{"role":"user","content":"a"},{"type":"mcp_call","name":"look","arguments":"{}","output":"x"}]}`:                                                                                                                "400 required input false",
		// approvals
		own + `[{"type":"mcp_approval_response","approve":true}]}`:                              "400 required input.0.approval_request_id false",
		own + `[{"type":"mcp_approval_response","approval_request_id":"x","approve":true}]}`:    "400 unknown_value input.0.approval_request_id false",
		own + `[{"type":"mcp_approval_response","approval_request_id":"t~c"}]}`:                 "400 required input.0.approve false",
		own + `[{"type":"mcp_approval_response","approval_request_id":"t~c","approve":"yes"}]}`: "400 wrong_type input.0.approve false",
		// what is not served
		own + `"a","prompt":{"id":"p"}}`:           "400 unsupported_parameter prompt false",
		own + `"a","n":2}`:                         "400 unsupported_parameter n false",
		own + `"a","tools":{}}`:                    "400 wrong_type tools false",
		own + `"a","tools":[{"type":"function"}]}`: "400 required tools.0.name false",
		own + `"a","tools":[{"type":"function","name":"x","parameters":{"$ref":"http://x"}}]}`: "400 invalid_format tools.0.parameters false",
		own + `"a","tool_choice":{"type":"allowed_tools"}}`:                                    "400 unsupported_value tool_choice false",
		own + `"a","tool_choice":"any"}`:                                                       "400 unsupported_value tool_choice false",
		own + `"a","text":{"format":{"type":"grammar"}}}`:                                      "400 unsupported_value text.format false",
		own + `"a","text":{"format":{"type":"json_schema","schema":{}}}}`:                      "400 required text.format.name false",
		own + `"a","text":{"format":{"type":"json_schema","name":"x","schema":[]}}}`:           "400 wrong_type text.format.schema false",
		own + `"a","text":"x"}`:                                                                "400 wrong_type text false",
		// flags and bounds
		own + `"a","stream":"yes"}`:                                       "400 wrong_type stream false",
		own + `"a","store":1}`:                                            "400 wrong_type store false",
		own + `"a","background":"x"}`:                                     "400 wrong_type background false",
		own + `"a","background":true,"store":false}`:                      "400 unsupported_parameter background false",
		own + `"a","max_output_tokens":0}`:                                "400 invalid_format max_output_tokens false",
		own + `"a","instructions":5}`:                                     "400 wrong_type instructions false",
		own + `"a","instructions":"` + strings.Repeat("x", 64_001) + `"}`: "400 string_above_max_length input false",
		own + `"a","metadata":{` + strings.Join(pairs, ",") + `}}`:        "400 string_above_max_length metadata false",
		own + `"a","metadata":{"a":"b","c~/d":5}}`:                        "400 wrong_type metadata.c~/d false",
		own + `"a","metadata":[]}`:                                        "400 wrong_type metadata false",
		own + `"a","metadata":{"timezone":"Mars"}}`:                       "400 invalid_format metadata.timezone false",
		own + `"a","conversation":5}`:                                     "400 wrong_type conversation false",
		own + `"a","conversation":{}}`:                                    "400 required conversation.id false",
		own + `"a","conversation":"` + strings.Repeat("x", 513) + `"}`:    "400 string_above_max_length conversation false",
		own + `"a","input":"b"}`:                                          "400 duplicate_key input false",
		own + `[{"role":"user","content":"\ud800"}]}`:                     "400 invalid_utf8 input.0.content false",
		own + `"a"}{}`: "400 trailing_data - false",
		`[`:            "400 invalid_json - false",
		// what is kept
		own + `"a","previous_response_id":5}`:                                        "400 wrong_type previous_response_id false",
		own + `"a","previous_response_id":"resp_1"}`:                                 "400 previous_response_not_found previous_response_id false",
		own + `"a","previous_response_id":"msg_` + keptSeed + `"}`:                   "400 previous_response_not_found previous_response_id false",
		own + `"a","user":"bob","previous_response_id":"resp_` + keptSeed + `"}`:     "400 previous_response_not_found previous_response_id false",
		own + `"a","previous_response_id":"resp_00000000000000000000000000"}`:        "503 store_unavailable - true",
		own + `[{"type":"item_reference"}]}`:                                         "400 required input.0.id false",
		own + `[{"type":"item_reference","id":"msg_1"}]}`:                            "400 previous_response_not_found input.0.id false",
		own + `[{"type":"item_reference","id":"msg_00000000000000000000000000_1"}]}`: "503 store_unavailable - true",
		own + `[{"type":"item_reference","id":"msg_` + keptSeed + `_2"}]}`:           "400 previous_response_not_found input.0.id false",
		own + `[{"type":"item_reference","id":"msg_` + keptSeed + `_1"}]}`:           "400 required input false",
	} {
		_, err := createBody(storing(dialect.Rules{}), body)
		status := refusal(err)
		if f := fault.From(err); f != nil && f.Type == fault.StoreUnavailable {
			reply := refuse(dialect.Refusal{Fault: f, Status: 503})
			status = "503 store_unavailable - " + reply.Header.Get("X-Should-Retry")
		}
		if status != want {
			t.Errorf("%.200s: %s, want %s", body, status, want)
		}
	}
}

// Without a store nothing of one is served, and it is said what to do.
func TestResponsesWithoutAStore(t *testing.T) {
	t.Parallel()
	s := served(dialect.Rules{})
	const own = `{"model":"sluice","input":`
	for body, want := range map[string]string{
		own + `"a","background":true}`:                                                                                                         "400 unsupported_parameter background false",
		own + `"a","previous_response_id":"resp_` + keptSeed + `"}`:                                                                            "400 unsupported_parameter previous_response_id false",
		own + `[{"type":"item_reference","id":"msg_` + keptSeed + `_1"},{"role":"user","content":"a"}]}`:                                       "400 unsupported_value input.0.id false",
		own + `[{"type":"item_reference","id":"rs_` + keptSeed + `_1"},{"type":"item_reference","id":"tok~c"},{"role":"user","content":"a"}]}`: "",
		own + `"a","background":false,"previous_response_id":null,"store":true}`:                                                               "",
		own + `"a","metadata":{"on_disconnect":"continue"}}`:                                                                                   "400 not_configured metadata.on_disconnect false",
	} {
		_, err := createBody(s, body)
		if got := refusal(err); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
		if v, ok := errors.AsType[*chat.ValidationError](err); ok && (len(v.Fields) != 1 || strings.Contains(body, "msg_") && !strings.Contains(v.Fields[0].Message, "store: false")) {
			t.Errorf("%s: %+v", body, v.Fields)
		}
	}
	for _, open := range []func(*http.Request, []byte) (*dialect.Exchange, error){s.getResponse, s.deleteResponse, s.cancelResponse} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/responses/x", nil)
		r.SetPathValue("id", "resp_"+keptSeed)
		if _, err := open(r, nil); fault.From(err) == nil || fault.From(err).Type != fault.NotFound {
			t.Errorf("the error is %v", err)
		}
	}
}

// conversation returns what a turn is shown: who says what, in short.
func conversation(req *chat.Request) (lines []string) {
	add := func(m chat.Message) {
		line := string(m.Role)
		for _, p := range m.Parts {
			switch {
			case p.Call != nil:
				line += " call " + p.Call.ID + " " + p.Call.Name + string(p.Call.Arguments)
			case p.Result != nil:
				line += " result " + p.Result.ID + " " + p.Result.Text + strings.Repeat(" failed", map[bool]int{true: 1}[p.Result.IsError])
			default:
				line += " " + p.Text
			}
		}
		lines = append(lines, line)
	}
	for _, m := range req.History {
		add(m)
	}
	lines = append(lines, "> "+req.Input)
	if req.App != nil {
		for _, m := range req.App.Continues {
			add(m)
		}
	}
	return lines
}

func TestItems(t *testing.T) {
	t.Parallel()
	const user = `{"role":"user","content":"go"}`
	for name, tt := range map[string]struct {
		input string
		want  []string
	}{
		"a text": {`"go"`, []string{"> go"}},
		"messages in every form": {
			`[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image"}]},{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"b","annotations":[]},{"type":"refusal","refusal":"c"}]},` + user + `]`,
			[]string{"user a\n[attachment left out]", "model b\nc", "> go"},
		},
		"thoughts and lists are left out": {
			`[{"role":"user","content":"a"},{"type":"reasoning","id":"rs_1","summary":[]},{"type":"mcp_list_tools"},{"role":"assistant","content":"b"},{"type":"item_reference","id":"rs_1"},` + user + `]`,
			[]string{"user a", "model b", "> go"},
		},
		"calls of the gateway": {
			`[{"role":"user","content":"a"},{"type":"mcp_call","id":"mcp_1","name":"look","arguments":"{\"x\":1}","output":"seen"},{"type":"mcp_call","name":"look","arguments":"","error":{"type":"mcp_tool_execution_error","content":[{"type":"text","text":"gone"}]}},{"type":"mcp_call","name":"look","arguments":"{}","error":"why"},{"type":"mcp_call","name":"look","arguments":"{}","error":{"message":"so"}},` + user + `]`,
			[]string{"user a", `model call  look{"x":1}`, "user result  seen", "model call  look{}", "user result  gone failed", "model call  look{}", "user result  why failed", "model call  look{}", "user result  so failed", "> go"},
		},
		"calls of the client, answered": {
			`[` + user + `,{"role":"assistant","content":"Hm."},{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},{"type":"function_call","call_id":"c2","name":"weather","arguments":"{}"},{"type":"function_call_output","call_id":"c2","output":"two"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"one"}]}]`,
			[]string{"> go", "model Hm. call c1 weather{} call c2 weather{}", "user result c1 one result c2 two"},
		},
		"in two steps": {
			`[` + user + `,{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"one"},{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"two"}]`,
			[]string{"> go", "model call c1 weather{}", "user result c1 one", "model call c1 weather{}", "user result c1 two"},
		},
		"of an earlier exchange, without a result": {
			`[{"role":"user","content":"a"},{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},` + user + `]`,
			[]string{"user a\n\ngo"}, // replaced below: one role in a row is joined for the model alone
		},
		"of a response that is kept": {
			`[{"role":"user","content":"before"},{"type":"item_reference","id":"msg_` + keptSeed + `_1"},{"type":"item_reference","id":"rs_` + keptSeed + `_0"},` + user + `]`,
			[]string{"user before", "model said", "> go"},
		},
	} {
		if name == "of an earlier exchange, without a result" {
			tt.want = []string{"user a", "> go"}
		}
		x, err := createBody(storing(dialect.Rules{}), `{"model":"sluice","tools":[{"type":"function","name":"weather"}],"input":`+tt.input+`}`)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, conversation(&x.Request)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A turn that continues a response has its history, also an empty one; one that begins has none,
// so that a memory counts.
func TestHistoryOfAResponse(t *testing.T) {
	t.Parallel()
	const own, previous = `{"model":"sluice","input":`, `"previous_response_id":"resp_` + keptSeed + `"`
	for body, want := range map[string]string{
		own + `"a"}`: "false  0",
		own + `[{"role":"user","content":"b"},{"role":"assistant","content":"c"},{"role":"user","content":"a"}]}`:                                                                                                        "true  2",
		`{"model":"sluice","tools":[{"type":"function","name":"f"}],"previous_response_id":"resp_zzzzzzzzzzzzzzzzzzzzzzzzzz","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`:                      "true  0",
		`{"model":"sluice","previous_response_id":"resp_zzzzzzzzzzzzzzzzzzzzzzzzzz","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`:                                                               "true  0",
		`{"model":"sluice","tools":[{"type":"function","name":"g"}],"tool_choice":"none","previous_response_id":"resp_zzzzzzzzzzzzzzzzzzzzzzzzzz","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`: "true  0",
		own + `"a",` + previous + `}`:                                 "true conv_1 2",
		own + `"a","conversation":"x","user":"ann",` + previous + `}`: "true conv_x 2",
	} {
		for source, want := range map[chat.HistorySource]string{chat.HistoryOfRequest: want, chat.HistoryOfStore: "false" + want[strings.Index(want, " "):len(want)-1] + "0"} {
			x, err := createBody(storing(dialect.Rules{History: chat.HistoryRules{Source: source}}), body)
			if err != nil {
				t.Fatal(err)
			}
			if got := strconv.FormatBool(x.Request.HasHistory) + " " + x.Request.ConversationID + " " + strconv.Itoa(len(x.Request.History)); got != want {
				t.Errorf("%s with %q: %s, want %s", body, source, got, want)
			}
		}
	}
}

// The response repeats what was asked for, with all that the protocol requires.
func TestEcho(t *testing.T) {
	t.Parallel()
	x, err := createBody(storing(dialect.Rules{}), `{"model":"gpt-5","input":"a","instructions":"Be\nbrief.","max_output_tokens":50,"metadata":{"a":"b"},"conversation":{"id":"c 1"},"user":"ann",
		"previous_response_id":"resp_`+keptSeed+`","background":true,"text":{"format":{"type":"json_schema","name":"n",
		"schema":{"type":"object"}}},"tools":[{"type":"function","name":"f"},{"type":"function","name":"g","parameters":{"type":"object"},"strict":false}],"tool_choice":{"type":"function","name":"g"},"temperature":1,"include":["x"]}`)
	if err != nil {
		t.Fatal(err)
	}
	got := encodeAll(x.Encoder, &stream.Start{TurnID: keptTurn})
	const want = `,"model":"gpt-5","instructions":"Be\nbrief.","previous_response_id":"resp_` + keptSeed + `","max_output_tokens":50,"metadata":{"a":"b"},"parallel_tool_calls":true,"temperature":null,"top_p":null,"truncation":"disabled",` +
		`"reasoning":{"effort":null,"summary":null},"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}},"tool_choice":{"type":"function","name":"g"},` +
		`"tools":[{"type":"function","name":"f","parameters":null,"strict":true},{"type":"function","name":"g","parameters":{"type":"object"},"strict":false}],"background":true,"conversation":{"id":"c 1"},"store":true,`
	if !strings.Contains(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
	if x.Mode != dialect.Early || x.Form != dialect.Document || x.Header.Get("X-Sluice-Ignored") != "temperature, include" || x.Request.App.MaxTokens != 50 || x.Request.Answer == nil || x.Request.Mute {
		t.Errorf("%+v with %v", x, x.Header)
	}
}

// What becomes of a response whose client leaves, and of one in the background.
func TestModeOfAResponse(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]dialect.Mode{
		`{"model":"sluice","input":"a"}`:                                             dialect.Attached,
		`{"model":"sluice","input":"a","stream":true,"background":true}`:             dialect.Detached,
		`{"model":"sluice","input":"a","background":true}`:                           dialect.Early,
		`{"model":"sluice","input":"a","metadata":{"on_disconnect":"continue"}}`:     dialect.Detached,
		`{"model":"sluice/order","input":"a"}`:                                       dialect.Detached,
		`{"model":"sluice/order","input":"a","metadata":{"on_disconnect":"cancel"}}`: dialect.Attached,
	} {
		x, err := createBody(storing(dialect.Rules{}), body)
		if err != nil || x.Mode != want {
			t.Errorf("%s: %v %v", body, x, err)
		}
	}
	x, err := openBody(served(dialect.Rules{}), `{"model":"sluice/order",`+hi+`}`)
	if err != nil || x.Mode != dialect.Detached {
		t.Errorf("a run by Chat Completions: %v %v", x, err)
	}
	const answered = `{"model":"sluice","input":[{"type":"mcp_approval_response","approval_request_id":"t~c","approve":true}]`
	for more, want := range map[string]bool{`}`: true, `,"metadata":{"on_disconnect":"cancel"}}`: false} {
		if x, err = createBody(storing(dialect.Rules{}), answered+more); err != nil || x.Mode != dialect.Attached || x.RunsOn != want {
			t.Errorf("a run that continues with an answer: %v %v", x, err)
		}
	}
}

// All answers of a request are to one question; those before what was said since count for
// nothing.
func TestAnswersOfAPerson(t *testing.T) {
	t.Parallel()
	const old = `{"type":"mcp_approval_response","approval_request_id":"old~c","approve":true}`
	x, err := createBody(storing(dialect.Rules{}), `{"model":"sluice","input":[{"role":"user","content":"go"},`+old+`,{"type":"mcp_call","name":"x","arguments":"{}","output":"y"},{"type":"mcp_approval_request","id":"token~c1"},
		{"type":"mcp_approval_response","approval_request_id":"token~c1","approve":true,"reason":"r"},{"type":"mcp_approval_response","approval_request_id":"ap~c2","approve":false,"reason":"no"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := &chat.Answer{Token: "token", At: "/input", Calls: []chat.CallAnswer{{CallID: "c1", Action: chat.Approve}, {CallID: "c2", Action: chat.Reject, Message: "no"}}}
	if diff := cmp.Diff(want, x.Approval); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if x, err = createBody(storing(dialect.Rules{}), `{"model":"sluice","input":[`+old+`,{"role":"user","content":"go"}]}`); err != nil || x.Approval != nil {
		t.Errorf("an old answer: %+v %v", x, err)
	}
}

// What is kept of a response is what the next one is shown: in items, whose reading gives the
// same conversation.
func TestRecordIsReadBack(t *testing.T) {
	t.Parallel()
	s := storing(dialect.Rules{})
	const input = `[{"role":"user","content":"a"},{"type":"mcp_call","name":"look","arguments":"{\"x\":1}","output":"seen"},{"type":"function_call","call_id":"c0","name":"weather","arguments":"{}"},{"type":"function_call_output","call_id":"c0","output":"cold"},{"role":"assistant","content":"b"},
		{"role":"user","content":"go"},{"role":"assistant","content":"Hm."},{"type":"function_call","call_id":"c1","name":"weather","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"one"}]`
	const tools = `"tools":[{"type":"function","name":"weather"}],`
	x, err := createBody(s, `{"model":"sluice",`+tools+`"user":"ann","input":`+input+`}`)
	if err != nil {
		t.Fatal(err)
	}
	k := newRecord(t.Context(), &x.Request, smallFacts())
	k.Turn = keptTurn
	var first, second record
	if err := json.Unmarshal(k.encodeRecord(), &first); err != nil {
		t.Fatal(err)
	}
	again, err := createBody(s, `{"model":"sluice",`+tools+`"input":`+string(first.Input)+`}`)
	if err != nil {
		t.Fatalf("%v in %s", err, first.Input)
	}
	if diff := cmp.Diff(conversation(&x.Request), conversation(&again.Request)); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	if second = *newRecord(t.Context(), &again.Request, smallFacts()); string(second.Input) != string(first.Input) || first.Owner != "ann" {
		t.Errorf("%s, then %s", first.Input, second.Input)
	}
	alone := chat.Request{Input: "go"}
	alone.History = []chat.Message{{Role: chat.RoleModel, Parts: []chat.Part{{Text: "a"}, {Call: &tool.Call{ID: "c", Name: "f"}}}}}
	if got := string(itemsOf(&alone)); got != `[{"role":"assistant","content":"a"},{"role":"user","content":"go"}]` {
		t.Errorf("a call without a result: %s", got)
	}
	k.Input = jsontext.Value(`["` + strings.Repeat("x", maxRecord) + `"]`)
	if k.encodeRecord() != nil {
		t.Error("it is too long")
	}
}

// Whatever is sent: it is refused with its faults, or it is a turn within the rules of an input,
// whose frames the SDKs can follow, and of which a record can be read back.
func FuzzCreate(f *testing.F) {
	for _, body := range []string{
		`{"model":"sluice","input":"a"}`, `{"model":"sluice","stream":true,"input":[{"role":"user","content":[{"type":"input_text","text":"a\u2028"}]}],"metadata":{"a":"b"}}`,
		`{"model":"light","previous_response_id":"resp_` + keptSeed + `","input":[{"type":"item_reference","id":"msg_` + keptSeed + `_1"},{"role":"user","content":"a"}],"tools":[{"type":"function","name":"f"}],"tool_choice":"required"}`,
		`{"model":"sluice","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":"{"},{"type":"function_call_output","call_id":"c","output":"x"}],"tools":[{"type":"function","name":"f"}]}`,
		`{"model":"sluice","input":[{"type":"mcp_approval_response","approval_request_id":"t~c","approve":true}],"background":true}`,
		`{"model":"sluice","input":[{"type":"mcp_call","name":"n","arguments":"{}","error":{"content":[5,{"text":6}]}},{"role":"user","content":"a"}],"conversation":{"id":"x"},"text":{"format":{"type":"json_object"}}}`,
		`{"model":"sluice","input":"a","tools":[5],"tool_choice":"\n"}`, "{", "null", `{"a":"\ud800"}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := createBody(storing(dialect.Rules{}), string(body))
		if v, ok := errors.AsType[*chat.ValidationError](err); ok && len(v.Fields) == 0 || ok && len(v.Fields) > 32 {
			t.Fatalf("%d faults", len(v.Fields))
		}
		if err != nil {
			return
		}
		if !jsontext.Value(body).IsValid() || x.Approval == nil && strings.TrimSpace(x.Request.Input) == "" {
			t.Fatalf("%+v", x.Request)
		}
		at := dialect.StoredTurn{TurnID: keptTurn, RequestID: "req_1", Began: began}
		if x.Form == dialect.Streamed {
			frames := encodeAll(x.RepeatEncoder(at), &stream.Start{TurnID: keptTurn}, &stream.Delta{Text: "a"}, &stream.Done{Reason: stream.Stop})
			if err := new(listener).read(frames); err != nil {
				t.Fatalf("%v\n%s", err, frames)
			}
		}
		if x.Begun == nil {
			return
		}
		x.Request.Task, x.Request.Turn = "task_1", keptTurn
		s := storing(dialect.Rules{})
		k := newRecord(t.Context(), &x.Request, smallFacts())
		r := items{reader: &reader{e: new(chat.ValidationError), flat: true}, refer: func(string, string) jsontext.Value { t.Fatal("a reference is kept"); return nil }}
		if r.readItems("/x", k.Input); len(r.e.Fields) > 0 || !k.Input.IsValid() || s == nil {
			t.Fatalf("%v in %s", r.e.Fields, k.Input)
		}
	})
}

// A response is its owner's. To a sender who names no user the id is the key, among the responses
// of that sender.
func TestOwnerOfAResponse(t *testing.T) {
	t.Parallel()
	s := storing(dialect.Rules{})
	for _, tt := range []struct {
		who  chat.Principal
		user string
		want bool
	}{
		{chat.Principal{}, "", true}, {chat.Principal{}, "ann", true}, {chat.Principal{}, "bob", false},
		{chat.Principal{ID: "ann"}, "", false}, {chat.Principal{ID: "an"}, "", false}, {chat.Principal{ID: "bob"}, "ann", false},
		{chat.Principal{Tenant: "t"}, "ann", false}, {chat.Principal{Tenant: "t"}, "", false},
	} {
		k, err := s.findRecord(chat.WithTurn(t.Context(), chat.Turn{Principal: tt.who}), keptTurn, tt.user)
		if err != nil || (k != nil) != tt.want {
			t.Errorf("%+v as %q: %v %v, want %v", tt.who, tt.user, k, err, tt.want)
		}
	}
	known := storing(dialect.Rules{})
	kept := known.cfg.Turns.(shelf).kept
	kept[keptTurn] = strings.Replace(kept[keptTurn], `"owner":"ann"`, `"owner":"\u0000ann"`, 1)
	for _, tt := range []struct {
		who, user string
		want      bool
	}{{"ann", "ann", true}, {"ann", "", true}, {"ann", "a label", true}, {"an", "", false}, {"other", "ann", false}, {"", "", false}, {"", "ann", false}} {
		if k, _ := known.findRecord(chat.WithTurn(t.Context(), chat.Turn{Principal: chat.Principal{ID: tt.who}}), keptTurn, tt.user); (k != nil) != tt.want {
			t.Errorf("%+v: %v", tt, k)
		}
	}
	for _, foreign := range []string{"", "{", `{"owner":"ann","turn":"turn_1"}`, `{"owner":"ann","turn":"` + keptTurn + `","echo":5,"input":[]}`, `{"owner":"ann","turn":"` + keptTurn + `","echo":{},"input":{}}`} {
		s.cfg.Turns = shelf{map[string]string{keptTurn: foreign}}
		if k, err := s.findRecord(t.Context(), keptTurn, "ann"); k != nil || err != nil {
			t.Errorf("%s: %v %v", foreign, k, err)
		}
	}
}

// Results at the end of a request are data: they count with their calls, whatever tools the request
// offers, and so do earlier pairs.
func TestResultsAreData(t *testing.T) {
	t.Parallel()
	const (
		earlier  = `{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"z","type":"function","function":{"name":"old","arguments":"{}"}}]},{"role":"tool","tool_call_id":"z","content":"0"},{"role":"assistant","content":"b"},`
		calls    = `{"role":"user","content":"look"},{"role":"assistant","tool_calls":[{"id":"x","type":"function","function":{"name":"shot","arguments":"{}"}},{"id":"y","type":"function","function":{"name":"sun","arguments":"{}"}}]},`
		results  = `{"role":"tool","tool_call_id":"x","content":"1"},{"role":"tool","tool_call_id":"y","content":"2"}`
		earlierI = `{"role":"user","content":"a"},{"type":"function_call","call_id":"z","name":"old","arguments":"{}"},{"type":"function_call_output","call_id":"z","output":"0"},{"role":"assistant","content":"b"},`
		callsI   = `{"role":"user","content":"look"},{"type":"function_call","call_id":"x","name":"shot","arguments":"{}"},{"type":"function_call","call_id":"y","name":"sun","arguments":"{}"},`
		resultsI = `{"type":"function_call_output","call_id":"x","output":"1"},{"type":"function_call_output","call_id":"y","output":"2"}`
	)
	want := []string{"user a", "model call z old{}", "user result z 0", "model b", "> look", "model call x shot{} call y sun{}", "user result x 1 result y 2"}
	for tools, flat := range map[string]string{
		``: ``, `,"tools":[]`: `,"tools":[]`, `,"tools":[],"tool_choice":"none"`: `,"tools":[],"tool_choice":"none"`,
		`,"tools":[{"type":"function","function":{"name":"other"}}]`:                        `,"tools":[{"type":"function","name":"other"}]`,
		`,"tools":[{"type":"function","function":{"name":"sun"}}]`:                          `,"tools":[{"type":"function","name":"sun"}]`,
		`,"tools":[{"type":"function","function":{"name":"shot"}}],"tool_choice":"none"`:    `,"tools":[{"type":"function","name":"shot"}],"tool_choice":"none"`,
		`,"tools":[{"type":"function","function":{"name":"sun"}}],"tool_choice":"required"`: `,"tools":[{"type":"function","name":"sun"}],"tool_choice":"required"`,
	} {
		for _, rules := range []dialect.Rules{{}, {ClientTools: dialect.Ignore}} {
			x, err := openBody(served(rules), `{"model":"sluice","messages":[`+earlier+calls+results+`]`+tools+`}`)
			if err != nil {
				t.Fatalf("%s: %v", tools, err)
			}
			if diff := cmp.Diff(want, conversation(&x.Request)); diff != "" {
				t.Errorf("Chat Completions with %s (-want +got):\n%s", tools, diff)
			}
			none := strings.Contains(tools, "none")
			if off := x.Request.Tools == chat.ToolsOff; off != none {
				t.Errorf("Chat Completions with %s: no tool at all: %v", tools, off)
			}
			if x, err = createBody(storing(rules), `{"model":"sluice","input":[`+earlierI+callsI+resultsI+`]`+flat+`}`); err != nil {
				t.Fatalf("%s: %v", flat, err)
			}
			if diff := cmp.Diff(want, conversation(&x.Request)); diff != "" || (x.Request.Tools == chat.ToolsOff) != none {
				t.Errorf("Responses with %s (-want +got):\n%s", flat, diff)
			}
		}
	}
	if _, err := openBody(served(dialect.Rules{}), `{"model":"sluice","messages":[`+calls+`{"role":"tool","tool_call_id":"x","content":"1"}]}`); refusal(err) != "400 required messages.1 false" {
		t.Errorf("a result is missing: %v", err)
	}
	x, err := openBody(served(dialect.Rules{}), `{"model":"sluice/order","tool_choice":"none",`+hi+`}`)
	if err != nil || x.Request.Tools != chat.ToolsAll {
		t.Errorf("the tools of a workflow are not on offer, but part of it: %v, %v", x, err)
	}
}

// Tools and items of types that are not served are left out and named.
func TestOtherTypesAreLeftOut(t *testing.T) {
	t.Parallel()
	x, err := createBody(storing(dialect.Rules{}), `{"model":"sluice","tools":[{"type":"web_search"},{"type":"function","name":"shell"},{"type":"custom","name":"apply_patch"}],
		"input":[{"role":"user","content":"a"},{"type":"web_search_call","id":"ws_1"},{"type":"custom_tool_call_output","call_id":"c","output":"x"},{"role":"assistant","content":"b"},{"role":"user","content":"go"},{"type":"web_search_call"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := x.Header.Get(dialect.IgnoredHeader); got != "web_search_call, custom_tool_call_output, web_search, custom" {
		t.Errorf("the reply names %q", got)
	}
	if diff := cmp.Diff([]string{"user a", "model b", "> go"}, conversation(&x.Request)); diff != "" || len(x.Request.App.Tools) != 1 {
		t.Errorf("%d tools (-want +got):\n%s", len(x.Request.App.Tools), diff)
	}
	if got := encodeAll(x.Encoder, &stream.Start{TurnID: keptTurn}, &stream.Done{Reason: stream.Stop}); !strings.Contains(got, `"tools":[{"type":"function","name":"shell","parameters":null,"strict":true}]`) {
		t.Errorf("the response repeats other tools: %s", got)
	}
}
