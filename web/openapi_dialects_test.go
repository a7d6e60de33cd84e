package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/agui"
	"sluice/internal/edge/dialect/aisdk"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/edge/dialect/openai"
	"sluice/internal/turn/chat"
)

// frontEnds are the routes of the protocols of others. The last one of OpenAI's words refusals,
// and has no method.
func frontEnds() (routes []dialect.Route) {
	for _, d := range []dialect.Dialect{aisdk.New(aisdk.Config{}), agui.New(agui.Config{}), openai.New(openai.Config{}), chatkit.New(chatkit.Config{})} {
		routes = append(routes, d.Routes()...)
	}
	return slices.DeleteFunc(routes, func(r dialect.Route) bool { return len(r.Methods) == 0 })
}

// documented returns the path of a route as OpenAPI writes it.
func documented(path string) string { return strings.ReplaceAll(path, "...}", "}") }

// Each route of the front ends' protocols is documented, with the parameters of its path, and
// each method of these paths has a route.
func TestFrontEndsAreDocumented(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	served := map[string]bool{}
	for _, r := range frontEnds() {
		path := documented(r.Path)
		for _, method := range r.Methods {
			served[strings.ToLower(method)+" "+path] = true
			if at(doc, "paths", path, strings.ToLower(method)) == nil {
				t.Errorf("%s %s is not documented", method, path)
			}
		}
		_, name, _ := strings.Cut(strings.ReplaceAll(path, "}", "{"), "{")
		name, _, _ = strings.Cut(name, "{")
		list, _ := at(doc, "paths", path, "parameters").([]any)
		if ok := slices.ContainsFunc(list, func(p any) bool { return at(p, "name") == name && at(p, "in") == "path" }); ok != (name != "") {
			t.Errorf("%s: the parameters are %v", path, list)
		}
	}
	for _, path := range sortedKeys(doc["paths"]) {
		for _, method := range sortedKeys(at(doc, "paths", path)) {
			tags, _ := at(doc, "paths", path, method, "tags").([]any)
			if slices.Contains(tags, any("front ends")) && !served[method+" "+path] {
				t.Errorf("nothing serves %s %s", method, path)
			}
		}
	}
}

// The example of each front end's request is one that its schema and its protocol accept, and
// what the schema requires the protocol requires too.
func TestFrontEndsExamples(t *testing.T) {
	t.Parallel()
	doc, schema := openAPI(t), strict(t)
	n := 0
	for _, r := range frontEnds() {
		content := at(doc, "paths", documented(r.Path), "post", "requestBody", "content", "application/json")
		if !slices.Contains(r.Methods, http.MethodPost) || strings.Contains(r.Path, "{") {
			continue
		}
		n++
		example, _ := at(content, "example").(map[string]any)
		ref, _ := at(content, "schema", "$ref").(string)
		if err := schema(ref[strings.LastIndex(ref, "/")+1:]).Validate(example); err != nil {
			t.Errorf("%s: %v", r.Path, err)
		}
		if err := opened(t, r, example); err != nil {
			t.Errorf("%s refuses its example: %v", r.Path, err)
		}
		required, _ := at(doc, "components", "schemas", ref[strings.LastIndex(ref, "/")+1:], "required").([]any)
		if len(required) == 0 {
			t.Errorf("%s requires nothing", ref)
		}
		for _, name := range required {
			value := example[name.(string)]
			delete(example, name.(string))
			if opened(t, r, example) == nil {
				t.Errorf("%s does not need %s", r.Path, name)
			}
			example[name.(string)] = value
		}
	}
	if n != 5 {
		t.Errorf("%d examples", n)
	}
}

// opened returns why a route refuses a request; nil: it does not.
func opened(t *testing.T, r dialect.Route, request map[string]any) error {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(chat.WithRequestID(t.Context(), "req_1"), http.MethodPost, r.Path, nil)
	req.Header.Set("Content-Type", "application/json")
	_, err = r.Open(req, body)
	return err
}
