package openai

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

const hi = `"messages":[{"role":"user","content":"hi"}]`

// served knows an agent, a workflow and names for them.
func served(rules dialect.Rules) *Server {
	rules.Models = map[string]string{"gpt-4o": "light", "gpt-5": "sluice", "gone": "nobody"}
	return New(Config{Rules: rules, Began: time.Unix(1_700_000_000, 0), Models: func(string) (agents, workflows []string) {
		return []string{"light", "team/a"}, []string{"order"}
	}})
}

// openBody opens a request for a completion.
func openBody(s *Server, body string) (*dialect.Exchange, error) {
	r := httptest.NewRequestWithContext(chat.WithRequestID(context.Background(), "req_1"), http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	return s.Routes()[0].Open(r, []byte(body))
}

// refusal returns how the request is refused, as status, code, param and whether an SDK may send
// it again; empty: it is not.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	r := dialect.Refusal{Fault: fault.From(err), Status: http.StatusNotFound}
	if v, ok := errors.AsType[*chat.ValidationError](err); ok {
		r.Fault, r.Fields, r.Status = &fault.Error{Type: fault.Validation}, v.Fields, http.StatusUnprocessableEntity
	}
	reply := refuse(r)
	code := between(string(reply.Body), `"code":"`, `"`)
	param := between(string(reply.Body), `"param":"`, `"`)
	return strings.TrimSpace(strconv.Itoa(reply.Status) + " " + code + " " + param + " " + reply.Header.Get("X-Should-Retry"))
}

// manyTools returns so many tools.
func manyTools(n int) string {
	var all []string
	for i := range n {
		all = append(all, `{"type":"function","function":{"name":"t`+strconv.Itoa(i)+`"}}`)
	}
	return strings.Join(all, ",")
}

func between(text, from, to string) string {
	_, rest, ok := strings.Cut(text, from)
	if !ok {
		return "-"
	}
	inner, _, _ := strings.Cut(rest, to)
	return inner
}

func TestRefusedBodies(t *testing.T) {
	t.Parallel()
	s := served(dialect.Rules{})
	long := strings.Repeat("x", chat.DefaultLine+1)
	for body, want := range map[string]string{
		// the model
		`{` + hi + `}`:                    "400 required model false",
		`{"model":null,` + hi + `}`:       "400 required model false",
		`{"model":5,` + hi + `}`:          "400 wrong_type model false",
		`{"model":"gpt-9",` + hi + `}`:    "404 model_not_found model false",
		`{"model":"sluice/x",` + hi + `}`: "404 model_not_found model false",
		`{"model":"sluice/",` + hi + `}`:  "404 model_not_found model false",
		`{"model":"gone",` + hi + `}`:     "404 model_not_found model false",
		`{"model":"light",` + hi + `}`:    "404 model_not_found model false",
		// JSON
		`{"model":"sluice",` + hi + `,"stream":true,"stream":false}`:         "400 duplicate_key stream false",
		`{"model":"sluice","messages":[{"role":"user","content":"\ud800"}]}`: "400 invalid_utf8 messages.0.content false",
		// what is not served
		`{"model":"sluice",` + hi + `,"n":2}`:                                      "400 unsupported_parameter n false",
		`{"model":"sluice",` + hi + `,"stop":["a","b","c","d","e"]}`:               "400 array_above_max_length stop false",
		`{"model":"sluice",` + hi + `,"stop":5}`:                                   "400 wrong_type stop false",
		`{"model":"sluice",` + hi + `,"stop":["a",5]}`:                             "400 wrong_type stop.1 false",
		`{"model":"sluice",` + hi + `,"stop":"` + strings.Repeat("x", 1001) + `"}`: "400 invalid_format stop false",
		`{"model":"sluice",` + hi + `,"logprobs":true}`:                            "400 unsupported_parameter logprobs false",
		`{"model":"sluice",` + hi + `,"modalities":["text","audio"]}`:              "400 unsupported_parameter modalities false",
		`{"model":"sluice",` + hi + `,"audio":{"voice":"x"}}`:                      "400 unsupported_parameter audio false",
		`{"model":"sluice",` + hi + `,"functions":[{"name":"x"}]}`:                 "400 unsupported_parameter functions false",
		`{"model":"sluice",` + hi + `,"function_call":{"name":"x"}}`:               "400 unsupported_parameter function_call false",
		`{"model":"sluice",` + hi + `,"web_search_options":{"x":1}}`:               "400 unsupported_parameter web_search_options false",
		`{"model":"sluice",` + hi + `,"response_format":{"type":"x"}}`:             "400 unsupported_value response_format false",
		`{"model":"sluice",` + hi + `,"response_format":"text"}`:                   "400 wrong_type response_format false",
		// flags and bounds
		`{"model":"sluice",` + hi + `,"stream":"yes"}`:                       "400 wrong_type stream false",
		`{"model":"sluice",` + hi + `,"stream_options":true}`:                "400 wrong_type stream_options false",
		`{"model":"sluice",` + hi + `,"stream_options":{"include_usage":1}}`: "400 wrong_type stream_options.include_usage false",
		`{"model":"sluice",` + hi + `,"max_tokens":0}`:                       "400 invalid_format max_tokens false",
		`{"model":"sluice",` + hi + `,"max_tokens":1000001}`:                 "400 invalid_format max_tokens false",
		`{"model":"sluice",` + hi + `,"max_completion_tokens":-1}`:           "400 invalid_format max_completion_tokens false",
		`{"model":"sluice",` + hi + `,"max_tokens":99999999999999999999}`:    "400 invalid_format max_tokens false",
		`{"model":"sluice",` + hi + `,"max_tokens":1.5}`:                     "400 wrong_type max_tokens false",
		`{"model":"sluice",` + hi + `,"max_tokens":"1"}`:                     "400 wrong_type max_tokens false",
		// messages
		`{"model":"sluice"}`:                                                                                                           "400 required messages false",
		`{"model":"sluice","messages":[]}`:                                                                                             "400 required messages false",
		`{"model":"sluice","messages":"hi"}`:                                                                                           "400 wrong_type messages false",
		`{"model":"sluice","messages":["hi"]}`:                                                                                         "400 wrong_type messages.0 false",
		`{"model":"sluice","messages":[{}]}`:                                                                                           "400 required messages.0.role false",
		`{"model":"sluice","messages":[{"role":"function","content":"x"}]}`:                                                            "400 unsupported_value messages.0.role false",
		`{"model":"sluice","messages":[{"role":"user","content":"` + long + `"}]}`:                                                     "400 string_above_max_length messages.0 false",
		`{"model":"sluice","messages":[{"role":"user","content":" "}]}`:                                                                "400 blank messages.0 false",
		`{"model":"sluice","messages":[{"role":"user","content":5}]}`:                                                                  "400 wrong_type messages.0.content false",
		`{"model":"sluice","messages":[{"role":"user","content":["x"]}]}`:                                                              "400 wrong_type messages.0.content.0 false",
		`{"model":"sluice","messages":[{"role":"user","content":[{"text":"x"}]}]}`:                                                     "400 required messages.0.content.0.type false",
		`{"model":"sluice","messages":[{"role":"user","content":[{"type":"text"}]}]}`:                                                  "400 required messages.0.content.0.text false",
		`{"model":"sluice","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}]}`:                  "400 unsupported_value messages.0.content.1 false",
		`{"model":"sluice","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_use"}]}]}`:                   "400 unsupported_value messages.0.content.1 false",
		`{"model":"sluice","messages":[{"role":"user","content":[{"type":"file"}]},{"role":"system","content":"x"}]}`:                  "400 unsupported_value messages.0.content.0 false",
		`{"model":"sluice","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`:                             "400 required messages false",
		`{"model":"sluice","messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"custom"}]}]}`: "400 unsupported_value messages.1.tool_calls.0 false",
		`{"model":"sluice","messages":[{"role":"user","content":"a"},{"role":"tool","content":"b"}]}`:                                  "400 required messages.1.tool_call_id false",
		// tools
		`{"model":"sluice",` + hi + `,"tools":[5]}`:                                                                                               "400 wrong_type tools.0 false",
		`{"model":"sluice",` + hi + `,"tools":[{"type":"custom","custom":{"name":"x"}}]}`:                                                         "400 unsupported_value tools.0.type false",
		`{"model":"sluice",` + hi + `,"tools":[{"type":"function","function":{"name":"."}}]}`:                                                     "400 invalid_format tools.0.function.name false",
		`{"model":"sluice",` + hi + `,"tools":[` + manyTools(129) + `]}`:                                                                          "400 array_above_max_length tools false",
		`{"model":"sluice",` + hi + `,"tools":[{"type":"function","function":{"name":"a","description":"` + strings.Repeat("x", 16_001) + `"}}]}`: "400 string_above_max_length tools.0.function false",
		`{"model":"sluice",` + hi + `,"response_format":{"type":"json_schema","json_schema":{"name":"x"}}}`:                                       "400 required response_format.json_schema.schema false",
		`{"model":"sluice",` + hi + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":null}}}`:                         "400 required response_format.json_schema.schema false",
		`{"model":"sluice",` + hi + `,"tools":[{"type":"function","function":{"name":"a","parameters":5}}]}`:                                      "400 wrong_type tools.0.function.parameters false",
		`{"model":"sluice",` + hi + `,"tool_choice":"any"}`:                                                                                       "400 unsupported_value tool_choice false",
		`{"model":"sluice",` + hi + `,"tool_choice":{"type":"allowed_tools"}}`:                                                                    "400 unsupported_value tool_choice false",
		// whose it is
		`{"model":"sluice",` + hi + `,"user":5}`:                                                          "400 wrong_type user false",
		`{"model":"sluice",` + hi + `,"safety_identifier":"` + strings.Repeat("x", 257) + `"}`:            "400 string_above_max_length safety_identifier false",
		`{"model":"sluice",` + hi + `,"metadata":{"timezone":5}}`:                                         "400 wrong_type metadata.timezone false",
		`{"model":"sluice",` + hi + `,"metadata":{"conversation_id":["x"]}}`:                              "400 wrong_type metadata.conversation_id false",
		`{"model":"sluice",` + hi + `,"metadata":{"conversation_id":"` + strings.Repeat("x", 513) + `"}}`: "400 string_above_max_length metadata.conversation_id false",
		`{"model":"sluice",` + hi + `,"metadata":{"on_disconnect":"continue"}}`:                           "400 not_configured metadata.on_disconnect false",
	} {
		_, err := openBody(s, body)
		if got := refusal(err); got != want {
			t.Errorf("%s: %q, want %q", body[:min(len(body), 160)], got, want)
		}
	}
}

func TestAcceptedBodies(t *testing.T) {
	t.Parallel()
	s := served(dialect.Rules{Stored: true})
	for body, ignored := range map[string]string{
		`{"model":"sluice",` + hi + `}`: "",
		`{"model":"sluice",` + hi + `,"n":1,"stop":null,"logprobs":false,"modalities":[ "text" ],"audio":null,"functions":[],"function_call":"none","web_search_options":{}}`: "",
		`{"model":"sluice",` + hi + `,"stream":null,"stream_options":null,"tools":[],"tool_choice":null,"metadata":null,"response_format":{"type":"text"},"max_tokens":null}`: "",
		`{"model":"sluice",` + hi + `,"temperature":0.5,"top_p":1,"seed":3,"reasoning_effort":"low","parallel_tool_calls":false,"store":true}`:                                "temperature, top_p, seed, reasoning_effort, parallel_tool_calls, store",
		`{"model":"sluice",` + hi + `,"stop":"END"}`: "", `{"model":"sluice",` + hi + `,"stop":["a","","c","d"]}`: "",
		`{"model":"sluice",` + hi + `,"temperature":null,"logit_bias":{},"prompt_cache_key":""}`:                                                                              "",
		`{"model":"sluice",` + hi + `,"my_own":5,"metadata":{"colour":5,"agent":"nobody","timezone":"Europe/Oslo"}}`:                                                          "",
		`{"model":"sluice","messages":[{"role":"user","content":[{"type":"image_url"}]},{"role":"assistant","content":null,"tool_calls":[]},{"role":"user","content":"hi"}]}`: "",
	} {
		x, err := openBody(s, body)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if got := x.Header.Get(dialect.IgnoredHeader); got != ignored {
			t.Errorf("%s: ignored %q, want %q", body, got, ignored)
		}
	}
}

// What a body comes to.
func TestRead(t *testing.T) {
	t.Parallel()
	s := served(dialect.Rules{Stored: true})
	x, err := openBody(s, `{"model":"sluice/team/a","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":100,"max_tokens":5,
		"user":"bob","safety_identifier":"ann","metadata":{"conversation_id":"my chat","timezone":"Europe/Oslo","on_disconnect":"continue","channel":"sms","locale":"nb-NO"},
		"tools":[{"type":"function","function":{"name":"weather","description":"d","parameters":{"type":"object"},"strict":true}}],"tool_choice":{"type":"function","function":{"name":"weather"}},
		"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"refusal","refusal":"no"},{"type":"text","text":"b"}]},
			{"role":"developer","content":[{"type":"text","text":"Be short."}]},{"role":"user","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	req := x.Request
	type seen struct {
		Agent, Workflow, Input, User, Conversation, Zone, Channel, Locale, Instructions, Facts string
		Max, Tools                                                                             int
		Choice                                                                                 chat.ToolChoice
		Mode                                                                                   dialect.Mode
		Form                                                                                   dialect.Form
	}
	got := seen{req.Agent, req.Workflow, req.Input, req.UserID, req.ConversationID, req.Location.String(), req.Channel, req.Locale, req.App.Instructions, string(x.Facts),
		req.App.MaxTokens, len(req.App.Tools), req.App.Choice, x.Mode, x.Form}
	want := seen{"team/a", "", "c\nd", "ann", req.ConversationID, "Europe/Oslo", "sms", "nb-NO", "Be kind.\n\nBe short.", `{"model":"sluice/team/a","usage":true}`,
		100, 1, chat.ToolChoice{Must: true, Name: "weather"}, dialect.Detached, dialect.Streamed}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.HasPrefix(req.ConversationID, "conv_") {
		t.Errorf("the conversation is %q", req.ConversationID)
	}
	var earlier []string
	for _, m := range req.History {
		for _, p := range m.Parts {
			earlier = append(earlier, string(m.Role)+": "+p.Text)
		}
	}
	if diff := cmp.Diff([]string{"user: a", "model: no\nb"}, earlier); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
}

// A whole float is a whole number, wherever one is read.
func TestWholeFloats(t *testing.T) {
	t.Parallel()
	s := served(dialect.Rules{})
	for _, members := range []string{`"max_tokens":100.0`, `"max_tokens":1e2`, `"max_completion_tokens":1.0E+2,"n":1.0`, `"max_tokens":100.00,"n":1e0`} {
		x, err := openBody(s, `{"model":"sluice","messages":[{"role":"user","content":"a"}],`+members+`}`)
		if err != nil || x.Request.App.MaxTokens != 100 {
			t.Errorf("%s: %+v, %v", members, x, err)
		}
	}
	x, err := s.openResponse(httptest.NewRequest(http.MethodPost, "/v1/responses", nil), []byte(`{"model":"sluice","input":"a","stream":true,"max_output_tokens":1e2}`))
	if err != nil || x.Request.App.MaxTokens != 100 {
		t.Errorf("%+v, %v", x, err)
	} else if text := string(x.Encoder.Encode(nil, stream.Stamp{}, &stream.Start{})); !strings.Contains(text, `"max_output_tokens":100,`) {
		t.Errorf("the response repeats the bound as %s", text)
	}
}

// A half of a character in an earlier message closes no chat.
func TestLoneSurrogatesInEarlierMessages(t *testing.T) {
	t.Parallel()
	s := served(dialect.Rules{})
	x, err := openBody(s, `{"model":"sluice","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"cut \ud83d"},{"role":"user","content":"now"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if last := x.Request.History[len(x.Request.History)-1]; last.Parts[0].Text != "cut \uFFFD" {
		t.Errorf("the earlier answer is %q", last.Parts[0].Text)
	}
}

func TestModelNames(t *testing.T) {
	t.Parallel()
	s := served(dialect.Rules{})
	for name, want := range map[string]*modelTarget{
		"sluice": {}, "sluice/light": {agent: "light"}, "sluice/team/a": {agent: "team/a"}, "sluice/order": {workflow: "order"}, "gpt-4o": {agent: "light"}, "gpt-5": {},
		"": nil, "Sluice": nil, "sluice/sluice": nil, "light": nil, "gone": nil,
	} {
		got, ok := s.resolveModel("", name)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q is %+v, %v; want %+v", name, got, ok, want)
		}
	}
	if _, ok := New(Config{}).resolveModel("", "sluice"); !ok {
		t.Error("a zero Config serves nothing")
	}
}

func TestListOfModels(t *testing.T) {
	t.Parallel()
	routes := served(dialect.Rules{}).Routes()
	x, err := routes[1].Open(httptest.NewRequest(http.MethodGet, "/v1/models", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	entry := func(id string) string {
		return `{"id":"` + id + `","object":"model","created":1700000000,"owned_by":"sluice"}`
	}
	want := `{"object":"list","data":[` + strings.Join([]string{entry("sluice"), entry("sluice/light"), entry("sluice/team/a"), entry("sluice/order"), entry("gpt-4o"), entry("gpt-5")}, ",") + `]}`
	if diff := cmp.Diff(want, string(x.Reply.Body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/models/x", nil)
	r.SetPathValue("id", "sluice/team/a")
	if x, err = routes[2].Open(r, nil); err != nil || string(x.Reply.Body) != entry("sluice/team/a") {
		t.Errorf("%v: %v", x, err)
	}
	r.SetPathValue("id", "nobody")
	if _, err = routes[2].Open(r, nil); refusal(err) != "404 model_not_found model false" {
		t.Errorf("a model that is not there: %v", err)
	}
}

// A stream that is kept is encoded again as it was, and one of another protocol under the
// default name.
func TestResume(t *testing.T) {
	t.Parallel()
	kept := dialect.StoredTurn{RequestID: "req_1", Began: began, Dialect: chatName, Facts: (&request{model: `a"b`, usage: true}).encodeFacts()}
	if diff := cmp.Diff(newEncoder("req_1", began, `a"b`, true), resumeStream(kept), cmp.AllowUnexported(encoder{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	kept.Dialect = "ag_ui"
	if diff := cmp.Diff(newEncoder("req_1", began, "sluice", false), resumeStream(kept), cmp.AllowUnexported(encoder{})); diff != "" {
		t.Errorf("of another protocol (-want +got):\n%s", diff)
	}
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]int{"": 0, "0": 0, "1": 1, "2": 2, "x": 0} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("X-Stainless-Retry-Count", header)
		if got := retryCount(r); got != want {
			t.Errorf("%q is repetition %d, want %d", header, got, want)
		}
	}
}

func FuzzBody(f *testing.F) {
	for _, body := range []string{
		`{"model":"sluice",` + hi + `}`, `{"model":"sluice","stream":true,"tools":[{"type":"function","function":{"name":"a"}}],"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`,
		`{"model":"sluice","messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}],"tools":[{"type":"function","function":{"name":"a"}}]}`,
		`{"model":"\ud800"}`, `{"metadata":{"conversation_id":"x"},"n":1e0}`, `[]`, ``,
	} {
		f.Add([]byte(body))
	}
	s := served(dialect.Rules{Stored: true})
	f.Fuzz(func(t *testing.T, body []byte) {
		given := bytes.Clone(body)
		x, err := openBody(s, string(body))
		if !bytes.Equal(given, body) {
			t.Error("the body was changed")
		}
		if err != nil {
			v, ok := errors.AsType[*chat.ValidationError](err)
			if known, isFault := errors.AsType[*fault.Error](err); !ok && (!isFault || known.Type != fault.NotFound) || ok && len(v.Fields) == 0 {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if x.Request.Input == "" || x.Encoder == nil || len(x.Facts) > dialect.MaxFacts {
			t.Errorf("accepted as %+v", x)
		}
	})
}

// Thoughts, calls and unknown parts of an assistant are left out, and texts of other protocols are
// texts. A message without other parts disappears.
func TestPartsOfEarlierMessages(t *testing.T) {
	t.Parallel()
	for parts, want := range map[string][]string{
		`{"type":"thinking","thinking":"hm"},{"type":"text","text":"b"}`:                               {"user a", "model b", "> go"},
		`{"type":"reasoning","reasoning":"hm"},{"type":"output_text","text":"b"}`:                      {"user a", "model b", "> go"},
		`{"type":"tool_use","id":"x","name":"f","input":{}},{"type":"text","text":"b"},{"type":"new"}`: {"user a", "model b", "> go"},
		`{"type":"text","text":""},{"type":"text","text":"b"},{"type":"image_url","image_url":{}}`:     {"user a", "model \nb\n[attachment left out]", "> go"},
		`{"type":"redacted_thinking","data":"x"}`:                                                      {"user a\n\ngo"},
	} {
		x, err := openBody(served(dialect.Rules{}), `{"model":"sluice","messages":[{"role":"user","content":"a"},{"role":"assistant","content":[`+parts+`]},{"role":"user","content":[{"type":"input_text","text":"go"}]}]}`)
		if err != nil {
			t.Errorf("%s: %v", parts, err)
			continue
		}
		if len(want) == 1 { // joined for the model alone
			want = []string{"user a", "> go"}
		}
		var got []string
		for _, line := range conversation(&x.Request) {
			got = append(got, strings.TrimSpace(line))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", parts, diff)
		}
	}
}
