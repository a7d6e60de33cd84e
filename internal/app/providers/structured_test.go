package providers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/quality/structured"
	"sluice/internal/turn/chat"
)

// formOf returns a form with a schema.
func formOf(schema string) *chat.AnswerForm {
	return &chat.AnswerForm{Name: "Weather", Schema: jsontext.Value(schema)}
}

// A client's object comes from the model of a key, within the client's limit.
func TestAnswerForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{`{"agentId":"a"}`: nil, `{"agentId":7}`: structured.ErrInvalid, "no": structured.ErrInvalid} {
		asker, err := NewAnswerForms(opened(t, false, upstream{text}, spoken("spare", "up"))).Asker(formOf(routeSchema), "spare")
		if err != nil {
			t.Fatal(err)
		}
		got, err := asker.Ask(t.Context(), &chat.ModelRequest{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "u"}}}}, Step: 1})
		if !errors.Is(err, want) || want == nil && (string(got.JSON) != text || got.Key != "spare") || got.Usage.InputTokens == 0 {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// cutting is a model whose answers are cut, and which keeps the limits that it was asked with.
type cutting struct {
	chunks
	limits *[]int
}

func (c cutting) Stream(ctx context.Context, req *chat.ModelRequest, yield func(*chat.Chunk) error) error {
	*c.limits = append(*c.limits, req.MaxTokens)
	return c.chunks.Stream(ctx, req, yield)
}

// An object that is cut says how far it came, and no attempt goes beyond the client's limit.
func TestAnswerIsCut(t *testing.T) {
	t.Parallel()
	m := opened(t, false, upstream{"x"})
	var limits []int
	cut := chunks{{Parts: []chat.Part{{Text: `{"agent`}}}, {Finish: chat.FinishMaxTokens}}
	m.links["cut"] = cutting{cut, &limits}
	asker, err := NewAnswerForms(m).Asker(formOf(routeSchema), "cut")
	if err != nil {
		t.Fatal(err)
	}
	got, err := asker.Ask(t.Context(), &chat.ModelRequest{MaxTokens: 5, Step: 1})
	if !errors.Is(err, structured.ErrCut) || errors.Is(err, structured.ErrInvalid) || got.Text != `{"agent` || fmt.Sprint(limits) != "[5 5]" {
		t.Errorf("%+v, %v, limits %v", got, err, limits)
	}
}

// The last schemas stay compiled, each by its name and text.
func TestFormsAreCompiledOnce(t *testing.T) {
	t.Parallel()
	f := NewAnswerForms(opened(t, true, nil))
	get := func(form *chat.AnswerForm) any {
		t.Helper()
		s, err := f.compileForm(form)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := get(formOf(routeSchema))
	other := formOf(routeSchema)
	other.Name = "other"
	if get(formOf(routeSchema)) != first || get(other) == first {
		t.Error("a schema is known by something else than its name and text")
	}
	for i := range maxForms - 1 {
		get(formOf(fmt.Sprintf(`{"type":"object","title":"%d"}`, i)))
	}
	if len(f.last) != maxForms || get(other) == nil || get(formOf(routeSchema)) == first {
		t.Errorf("%d schemas are kept, the oldest among them", len(f.last))
	}
}

// What a client's schema may cost is bounded.
func TestClientsSchemas(t *testing.T) {
	t.Parallel()
	properties := func(n int, of string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("\"p%d\":", i)+strings.ReplaceAll(of, "%d", strconv.Itoa(i)))
		}
		return `{"type":"object","properties":{` + strings.Join(all, ",") + "}}"
	}
	for name, tt := range map[string]struct {
		schema string
		fits   bool
	}{
		"one of 64 KiB":    {properties(1100, `{"type":"string","description":"what it is"}`), true},
		"small parts":      {properties(3900, "{}"), true},
		"each of its kind": {properties(900, `{"minimum":%d}`), false},
		"some of a kind":   {properties(200, `{"enum":["a%d","b","c"]}`), true},
		"200 levels":       {strings.Repeat(`{"type":"object","properties":{"a":`, 100) + "{}" + strings.Repeat("}}", 100), false},
		"another root":     {`{"type":"string"}`, false},
		"no type":          {`{}`, false},
		"a list of types":  {`{"type":["object"]}`, false},
		"an own reference": {`{"type":"object","properties":{"a":{"$ref":"#"}}}`, true},
		"another's":        {`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`, false},
		"more than 64 KiB": {`{"type":"object","title":"` + strings.Repeat("x", chat.MaxAnswerSchema) + `"}`, false},
	} {
		if _, err := NewAnswerForms(&Models{}).Asker(formOf(tt.schema), ""); (err == nil) != tt.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkClientSchema compiles the largest schema, and refuses a deep one.
func BenchmarkClientSchema(b *testing.B) {
	var all []string
	for i := range 1100 {
		all = append(all, fmt.Sprintf(`"p%d":{"type":"string","description":"what it is"}`, i))
	}
	for name, schema := range map[string]string{
		"64 KiB":     `{"type":"object","properties":{` + strings.Join(all, ",") + "}}",
		"200 levels": strings.Repeat(`{"type":"object","description":"`+strings.Repeat("x", 600)+`","properties":{"a":`, 100) + "{}" + strings.Repeat("}}", 100),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = NewAnswerForms(&Models{}).Asker(formOf(schema), "")
			}
		})
		b.Run(name+" again", func(b *testing.B) {
			f := NewAnswerForms(&Models{})
			for b.Loop() {
				_, _ = f.Asker(formOf(schema), "")
			}
		})
	}
}
