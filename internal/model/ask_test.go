package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

const personSchema = `{
	"type": "object", "additionalProperties": false, "required": ["name", "age"],
	"properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "agentId": {"enum": ["a", "b"]},
		"friends": {"type": "array", "items": {"$ref": "#"}}}}`

const ada = `{"name":"Ada","age":36}`

func schemaOf(t testing.TB, raw string, open ...string) *model.Schema {
	t.Helper()
	s, err := model.NewSchema("person", jsontext.Value(raw), open...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var question = chat.ModelRequest{System: "Be kind.", Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "Who?"}}}}}

// ask asks a model that plays answers, and returns what it was asked as well.
func ask(t *testing.T, f *model.Forms, schema *model.Schema, opts model.AskOptions, answers ...answer) (model.Answered, []chat.ModelRequest, error) {
	t.Helper()
	if f == nil {
		f = model.NewForms(model.FormsConfig{})
	}
	l, req := newLink("k", answers...), question
	got, err := f.Ask(t.Context(), l, &req, schema, opts)
	if diff := cmp.Diff(question, req); diff != "" {
		t.Errorf("the caller's request (-before +after):\n%s", diff)
	}
	return got, l.asked, err
}

// What stands around exactly one value is removed; anything else is no answer. wrong is what
// the model receives.
func TestAnswersThatAreRead(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, personSchema)
	tests := []struct{ text, wrong string }{
		{ada, ""},
		{"\n " + ada + "\n", ""},
		{"```json\n" + ada + "\n```", ""},
		{"```\n" + ada + "```", ""},
		{"<think>\nan {object} and {\"a\":1}\n</think>\n" + ada, ""},
		{"Here you are: " + ada + " Anything else {of that kind}?", ""},
		{"Sure.\n```json\n" + ada + "\n```\nDone.", ""},
		{`{"name":"Ada","age":3.6e1}`, ""},
		{"", "the answer: holds no JSON object"},
		{"I cannot say.", "the answer: holds no JSON object"},
		{"<think>hm " + ada, "the answer: holds no JSON, only thoughts"},
		{ada + ada, "the answer: holds more than one JSON value"},
		{ada + " or " + ada, "the answer: holds more than one JSON value"},
		{"[" + ada + "]", "the answer: is not a JSON object"},
		{"So: [" + ada + "\n]", "the answer: is not a JSON object"},
		{"```json\n[" + ada + "]\n```", "the answer: is not a JSON object"},
		{`"` + strings.ReplaceAll(ada, `"`, `\"`) + `"`, "the answer: is not a JSON object"},
		{"7", "the answer: is not a JSON object"},
		{`{"name":"Ada","age":NaN}`, "/age: is not valid JSON"},
		{`{"name":"Ada","age":36`, "the answer: is not valid JSON"},
		{`{"name":"Ada","friends":[` + ada, "/friends: is not valid JSON"},
		{`{"name":"Ada","age":36,"name":"Eve"}`, "/name: a member appears twice"},
		{"{'name':'Ada'}", "the answer: holds no JSON object"},
		{`{"name":"Ada","age":-1}`, "/age: must be at least 0"},
		{`{"name":7}`, `the answer: missing required "age"; /name: got number, want string`},
		{`{"name":"Ada","age":1,"friends":[{"name":"Eve","age":"1"}]}`, "/friends/0/age: got string, want integer"},
		{`{"Name":"Ada","age":1}`, `the answer: missing required "name"; the answer: unknown "Name"`},
		{`{"name":"Ada","age":1,"agentId":"c"}`, `/agentId: must be one of "a", "b"`},
		{`{"name":"Ada","age":1e1000000}`, "the answer: cannot be checked, as it is too large or nested too deeply"},
		{strings.Repeat(`{"friends":[`, 200) + strings.Repeat(`]}`, 200), "the answer: cannot be checked, as it is too large or nested too deeply"},
		{strings.Repeat(`{"a":`, 1_000_000), "is not valid JSON"},
		{strings.Repeat(`{`, 1_000_000), "the answer: is not valid JSON"},
		{personSchema, "the answer: is the schema itself, not a value that it describes"},
		{`{"type":"object","properties":{"name":"Ada"}}`, "the answer: is the schema itself, not a value that it describes"},
		{"{\"name\":\"A\xff\",\"age\":1}", "/name: is not valid JSON"},
	}
	for _, tt := range tests {
		got, asked, err := ask(t, nil, schema, model.AskOptions{}, says(tt.text), says(ada))
		if err != nil {
			t.Fatalf("%.80q: %v", tt.text, err)
		}
		if tt.wrong == "" {
			if len(asked) != 1 || !got.JSON.IsValid() || len(got.JSON) > len(ada)+3 {
				t.Errorf("%.80q: asked %d times, got %s", tt.text, len(asked), got.JSON)
			}
			continue
		}
		if len(asked) != 2 {
			t.Fatalf("%.80q: asked %d times, got %.80s", tt.text, len(asked), got.JSON)
		}
		messages := asked[1].Messages
		reply := messages[len(messages)-1]
		last := reply.Parts[len(reply.Parts)-1].Text
		if reply.Role != chat.RoleUser || !strings.Contains(last, tt.wrong+". Answer") {
			t.Errorf("%.80q: told %q, want %q", tt.text, last, tt.wrong)
		}
	}
}

// A model reads in few words what is wrong, without its own values.
func TestWhatIsReportedIsShort(t *testing.T) {
	t.Parallel()
	var properties, members []string
	for i := range 40 {
		name := fmt.Sprintf("%s%d", strings.Repeat("n", 300), i)
		properties = append(properties, fmt.Sprintf(`%q:{"enum":[%q]}`, name, strings.Repeat("v", 400)))
		members = append(members, fmt.Sprintf(`%q:"secret"`, name))
	}
	schema := schemaOf(t, `{"properties":{`+strings.Join(properties, ",")+`}}`)
	_, asked, err := ask(t, nil, schema, model.AskOptions{Attempts: 2}, says("{"+strings.Join(members, ",")+"}"))
	got := asked[1].Messages[2].Parts[0].Text
	if len(got) > 600 || strings.Contains(got, "secret") {
		t.Errorf("told %q", got)
	}
	invalid, ok := errors.AsType[*model.Invalid](err)
	if !ok || invalid.Attempts != 2 || len(invalid.Pointer) > 200 || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
}

func TestLenientAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{`{"Name":"Ada","AGE":" 36 "}`, `{"age":36,"name":"Ada"}`},
		{`{"name":"7","age":"36","friends":[{"NAME":"Eve","age":"1e0"}]}`, `{"age":36,"friends":[{"age":1e0,"name":"Eve"}],"name":"7"}`},
		{ada, ada},
		{`{"Name":"Ada","NAME":"Eve","age":1}`, ""}, // which of the two?
		{`{"name":"Ada","age":"many"}`, ""},
		{`{"name":"Ada","age":"NaN"}`, ""},
		{`{"name":"Ada","age":"-1"}`, ""}, // what was meant must fit as well
	} {
		got, _, err := ask(t, nil, schemaOf(t, personSchema), model.AskOptions{Lenient: true, Attempts: 1}, says(tt.text))
		if string(got.JSON) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %s, %v", tt.text, got.JSON, err)
		}
	}
	forked := `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"properties":{"x":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	_, _, _ = ask(t, nil, schemaOf(t, forked), model.AskOptions{Lenient: true}, says(strings.Repeat(`{"x":`, 60)+"{}"+strings.Repeat(`}`, 60)))
}

// The caller judges members that are open; the model receives their values all the same.
func TestOpenMembers(t *testing.T) {
	t.Parallel()
	const text = `{"name":"Ada","age":1,"agentId":"c"}`
	got, asked, err := ask(t, nil, schemaOf(t, personSchema, "agentId"), model.AskOptions{Attempts: 1}, says(text))
	if err != nil || string(got.JSON) != text || !strings.Contains(string(asked[0].Form.Schema), `"agentId":{"enum":["a","b"]}`) {
		t.Errorf("got %s, %v, asked with %s", got.JSON, err, asked[0].Form.Schema)
	}
}

func TestSchemasThatAreNone(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		``, `7`, `[]`, `true`, `{`, `{} {}`, `{"type":7}`, `{"type":"array"}`, `{"$ref":"http://127.0.0.1:1/x.json"}`, `{"$ref":"file:///etc/passwd"}`,
		`{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"$dynamicRef":"#x"}`,
		`{"description":"` + strings.Repeat("x", 64<<10) + `"}`, strings.Repeat(`{"not":`, 100) + "{}" + strings.Repeat("}", 100), `{"type":"object","type":"object"}`,
	} {
		if _, err := model.NewSchema("s", jsontext.Value(raw)); err == nil {
			t.Errorf("%.60s was taken", raw)
		}
	}
	for _, name := range []string{"", "A", "a b", strings.Repeat("a", 65)} {
		if _, err := model.NewSchema(name, jsontext.Value(`{}`)); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}

// A model is asked by schema until it has ignored that twice or refused it, and so on. What
// it ignored holds for the question at hand, what it refused for others too.
func TestFormsAreLearned(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, personSchema)
	noFormat := fails(&fault.Error{Type: fault.ModelError, Err: &model.Refusal{Status: 400, Kind: model.KindRejected, Member: "response_format"}})
	prose, wrong := says("Ada, 36"), says(`{"name":"Ada"}`)
	for name, tt := range map[string]struct {
		configured model.Mode
		answers    []answer
		want       string // how it was asked
		then       model.Mode
	}{
		"fits":                     {"", []answer{says(ada)}, "schema", model.ModeSchema},
		"ignored once":             {"", []answer{prose, says(ada)}, "schema schema", model.ModeSchema},
		"ignored twice":            {"auto", []answer{prose, wrong, says(ada)}, "schema schema json", model.ModeSchema},
		"refused":                  {"auto", []answer{noFormat, says(ada)}, "schema json", model.ModeJSON},
		"refused twice":            {"", []answer{noFormat, noFormat, prose, prose, says(ada)}, "schema json prompt prompt prompt", model.ModePrompt},
		"an object, but a wrong":   {"", []answer{noFormat, wrong, wrong, says(ada)}, "schema json json json", model.ModeJSON},
		"configured schema":        {"schema", []answer{prose, prose, says(ada)}, "schema schema schema", model.ModeSchema},
		"configured, but refused":  {"json", []answer{noFormat}, "json", model.ModeJSON},
		"refused for other causes": {"", []answer{fails(refusedAs(0, 400))}, "schema", model.ModeSchema},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := model.NewForms(model.FormsConfig{Modes: map[string]model.Mode{"k": tt.configured}})
			got, asked, err := ask(t, f, schema, model.AskOptions{}, tt.answers...)
			var modes []string
			for i, req := range asked {
				described := strings.Contains(req.System, `"required":["name","age"]`)
				switch {
				case req.Form.Kind == chat.FormSchema:
					modes = append(modes, "schema")
					if described != (i > 0) {
						t.Errorf("request %d: the schema is in the prompt: %v", i, described)
					}
				case !described:
					t.Errorf("request %d does not tell the schema", i)
				case req.Form.Kind == chat.FormJSON:
					modes = append(modes, "json")
				default:
					modes = append(modes, "prompt")
				}
				if !strings.HasPrefix(req.System, "Be kind.\n\n") || req.Tools != nil {
					t.Errorf("request %d: %+v", i, req)
				}
			}
			answered := err == nil && string(got.JSON) == ada && got.Key == "k" && got.Model == "m-k"
			if last := tt.answers[len(tt.answers)-1]; answered != (last.err == nil) {
				t.Errorf("got %+v, %v", got, err)
			}
			if strings.Join(modes, " ") != tt.want || f.Mode("k") != tt.then {
				t.Errorf("asked by %v, now %s; want %s, %s", modes, f.Mode("k"), tt.want, tt.then)
			}
		})
	}
}

func TestModeTool(t *testing.T) {
	t.Parallel()
	f := model.NewForms(model.FormsConfig{Modes: map[string]model.Mode{"k": model.ModeTool}})
	call := func(args ...string) answer {
		var a answer
		for _, arg := range args {
			p := calls("1")
			p.Call.Arguments = jsontext.Value(arg)
			a.chunks = append(a.chunks, parts(chat.Part{Text: "I call it"}), parts(p))
		}
		return a
	}
	got, asked, err := ask(t, f, schemaOf(t, personSchema), model.AskOptions{}, call(`{"name":1}`), call(ada, ada), call(ada))
	if err != nil || string(got.JSON) != ada || len(asked) != 3 {
		t.Fatalf("got %s, %v after %d", got.JSON, err, len(asked))
	}
	for _, req := range asked {
		if !req.ForceTool || len(req.Tools.Specs) != 1 || req.Tools.Specs[0].Name != "person" || req.Tools != asked[0].Tools || req.Form.Kind != "" {
			t.Errorf("asked with %+v", req)
		}
	}
}

// An answer that was cut is asked for with twice the limit, as far as the model's own
// allows, and to be shorter from there on; whole, it is taken.
func TestLimitOfAnAnswerIsDoubled(t *testing.T) {
	t.Parallel()
	cut := answer{chunks: []chat.Chunk{parts(chat.Part{Text: ada[:9]}), {Finish: chat.FinishMaxTokens}, costs(7)}}
	whole := answer{chunks: []chat.Chunk{parts(chat.Part{Text: ada}), {Finish: chat.FinishMaxTokens}, costs(5)}}
	for _, tt := range []struct {
		limit, most int
		want        []int
		shorter     []bool // what each request after the first asks for
	}{
		{100, 0, []int{100, 200, 400}, []bool{false, false}},
		{100, 150, []int{100, 150, 150}, []bool{false, true}},
		{100, 100, []int{100, 100, 100}, []bool{true, true}},
		{200, 100, []int{200, 200, 200}, []bool{true, true}},
		{0, 100, []int{0, 0, 0}, []bool{true, true}},
		{0, 0, []int{0, 0, 0}, []bool{true, true}},
	} {
		l, req := &cutLink{newLink("k", cut, cut, whole)}, question
		req.MaxTokens = tt.limit
		f := model.NewForms(model.FormsConfig{Limits: map[string]int{"k": tt.most}})
		got, err := f.Ask(t.Context(), l, &req, schemaOf(t, personSchema), model.AskOptions{})
		if err != nil || string(got.JSON) != ada || got.Usage.InputTokens != 19 {
			t.Errorf("got %+v, %v", got, err)
		}
		var limits []int
		var shorter []bool
		for i, r := range l.asked {
			limits = append(limits, r.MaxTokens)
			if i > 0 {
				correction := r.Messages[len(r.Messages)-1].Parts
				shorter = append(shorter, strings.Contains(correction[len(correction)-1].Text, "be shorter"))
			}
		}
		if diff := cmp.Diff(tt.want, limits) + cmp.Diff(tt.shorter, shorter); diff != "" {
			t.Errorf("%d of %d (-want +got):\n%s", tt.limit, tt.most, diff)
		}
	}
}

// cutLink leaves out the end that fakeLink adds.
type cutLink struct{ *fakeLink }

func (c *cutLink) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	return c.fakeLink.Stream(ctx, req, func(ch *chat.Chunk) error {
		if ch.Finish == chat.FinishStop {
			return nil
		}
		return yield(ch)
	})
}

// Who declines, and who cannot be reached, is not asked again; who writes a call that
// cannot be read is.
func TestErrorsOfAStructuredAnswer(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, personSchema)
	for _, err := range []error{&fault.Error{Type: fault.ModelBlocked, Err: &model.Blocked{Reason: "x"}}, unavailable(), &fault.Error{Type: fault.Timeout}} {
		got, asked, gotErr := ask(t, nil, schema, model.AskOptions{}, fails(err, costs(3)))
		if gotErr != err || len(asked) != 1 || got.Usage.InputTokens != 3 {
			t.Errorf("%v: got %+v, %v after %d", err, got, gotErr, len(asked))
		}
	}
	if got, asked, err := ask(t, nil, schema, model.AskOptions{}, fails(malformedCall()), says(ada)); err != nil || len(asked) != 2 {
		t.Errorf("got %+v, %v after %d", got, err, len(asked))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := model.NewForms(model.FormsConfig{}).Ask(ctx, newLink("k", says("no")), &question, schema, model.AskOptions{}); !errors.Is(err, fault.ErrClientGone) {
		t.Errorf("error %v", err)
	}
}

func TestStructuredAnswersAreLoggedAndCounted(t *testing.T) {
	t.Parallel()
	reg := metrics.New()
	f := model.NewForms(model.FormsConfig{Modes: map[string]model.Mode{"k": model.ModePrompt}, Metrics: reg})
	var log bytes.Buffer
	ctx := zerolog.New(&log).WithContext(t.Context())
	wrong := says(`{"name":"secret","age":"secret"}`)
	_, err := f.Ask(ctx, newLink("k", wrong), &question, schemaOf(t, personSchema), model.AskOptions{Attempts: 4})
	const want = `{"level":"WARNING","details":{"key":"k","mode":"prompt","attempt":4,"pointer":"/age"},"event":"structured_output_invalid"}` + "\n"
	if diff := cmp.Diff(want, log.String()); diff != "" || err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v, log (-want +got):\n%s", err, diff)
	}
	if _, err := f.Ask(ctx, newLink("k", says(ada)), &question, schemaOf(t, personSchema), model.AskOptions{}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(map[string]int{"k prompt invalid": 4, "k prompt ok": 1}, counts(t, reg, "sluice_structured_total", "model", "mode", "outcome")); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

// A chain answers with whichever model can; what is learned is learned of that one.
func TestStructuredAnswerOfAChain(t *testing.T) {
	t.Parallel()
	b := newLink("b", says("prose"), says("prose"), says(ada))
	c := chain(t, model.DefaultFallbackOn(), newLink("a", fails(unavailable(), parts(thought("hm")), costs(1))), b)
	f := model.NewForms(model.FormsConfig{})
	got, err := f.Ask(t.Context(), c, &question, schemaOf(t, personSchema), model.AskOptions{})
	if err != nil || got.Key != "b" || got.Model != "m-b" || string(got.JSON) != ada || got.Usage.InputTokens != 3 {
		t.Errorf("got %+v, %v", got, err)
	}
	if f.Mode("a") != model.ModeSchema || f.Mode("b") != model.ModeSchema || b.asked[2].Form.Kind != chat.FormJSON {
		t.Errorf("modes %s and %s", f.Mode("a"), f.Mode("b"))
	}
	if !strings.Contains(b.asked[0].System, `"required"`) {
		t.Error("a model of a chain may not be told the schema in any way")
	}
}

// All attempts count for the turn's budget, which ends them too.
func TestStructuredAnswersHaveTheTurnsBudget(t *testing.T) {
	t.Parallel()
	b := chat.NewTokenBudget(10)
	l := newLink("k", answer{chunks: []chat.Chunk{parts(chat.Part{Text: "no"}), costs(6)}})
	_, err := model.NewForms(model.FormsConfig{}).Ask(chat.WithTurn(t.Context(), chat.Turn{Budget: b}), l, &question, schemaOf(t, personSchema), model.AskOptions{Attempts: 5})
	if len(l.asked) != 2 || !b.Reached(chat.Usage{}) || err == nil {
		t.Errorf("asked %d times, %v", len(l.asked), err)
	}
}

// BenchmarkAsk is a structured answer next to the plain call, without the model's time.
func BenchmarkAsk(b *testing.B) {
	text := `{"name":"Ada","age":36,"friends":[` + strings.TrimSuffix(strings.Repeat(ada+",", 20), ",") + `]}`
	f, schema, req := model.NewForms(model.FormsConfig{}), schemaOf(b, personSchema), question
	m := pieces{text}
	b.Run("plain", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var sb strings.Builder
			_ = m.Stream(b.Context(), &req, func(c *chat.Chunk) error { sb.WriteString(c.Parts[0].Text); return nil })
		}
	})
	b.Run("ask", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := f.Ask(b.Context(), m, &req, schema, model.AskOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// pieces says a text in deltas of a few bytes.
type pieces struct{ text string }

func (pieces) Key() string  { return "k" }
func (pieces) Name() string { return "m" }

func (p pieces) Stream(_ context.Context, _ *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	c := chat.Chunk{Parts: make([]chat.Part, 1)}
	for rest := p.text; rest != ""; {
		n := min(8, len(rest))
		c.Parts[0].Text, rest = rest[:n], rest[n:]
		if err := yield(&c); err != nil {
			return err
		}
	}
	return nil
}

// The words of a client's schema, its name included, stand in no system instruction, in any mode.
func TestForeignSchemaIsData(t *testing.T) {
	t.Parallel()
	const canary = "canary-7"
	raw := `{"type":"object","description":"` + canary + `","properties":{"name":{"type":"string","title":"` + canary + `"}},"required":["name"]}`
	schema, err := model.NewSchema(canary, jsontext.Value(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []model.Mode{model.ModeSchema, "json", "prompt", "tool"} {
		f := model.NewForms(model.FormsConfig{Modes: map[string]model.Mode{"k": mode}})
		_, asked, err := ask(t, f, schema, model.AskOptions{Foreign: true}, says("prose"), says("prose"), says("prose"))
		if err == nil || len(asked) < 2 {
			t.Fatalf("%s: asked %d times, %v", mode, len(asked), err)
		}
		for i, req := range asked {
			if strings.Contains(req.System, canary) {
				t.Errorf("%s, request %d: the system instruction is %q", mode, i, req.System)
			}
			parts := req.Messages[0].Parts
			if quoted := strings.Contains(parts[len(parts)-1].Text, "> {"); quoted != (mode != "tool" && (mode != model.ModeSchema || i > 0)) {
				t.Errorf("%s, request %d: the schema is data: %v", mode, i, quoted)
			}
		}
	}
}
