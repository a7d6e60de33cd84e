package file_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/base/config/file"
)

// values has a field of each type that Decode knows.
type values struct {
	Text     string                   `key:"text" most:"1 KiB"`
	Word     config.Secret            `key:"word"`
	On       bool                     `key:"on"`
	Omit     bool                     `key:"calls" is:"omit"`
	Closed   bool                     `key:"open" is:"false"`
	Count    int                      `key:"count"`
	Share    float64                  `key:"share"`
	Limit    *float64                 `key:"limit"`
	Life     time.Duration            `key:"life" from:"1m" to:"30d"`
	First    time.Duration            `key:"times,times/first" from:"0s" to:"10s"`
	Idle     time.Duration            `key:"times,times/idle" from:"0s" to:"10s"`
	Model    string                   `key:"judge/model" of:"models,default"`
	Agents   []string                 `key:"agents" of:"agents"`
	Who      []string                 `key:"who"`
	Days     map[string]int           `key:"days"`
	Caches   map[string]time.Duration `key:"caches" from:"1s" to:"5m"`
	Lists    map[string][]string      `key:"lists"`
	Inner    inner                    `key:"inner"`
	Other    *inner                   `key:"other"`
	Rules    []inner                  `key:"rules"`
	Named    []named                  `key:"named"`
	Pair     pair                     `key:"pair"`
	Raw      jsontext.Value           `key:"raw"`
	Untagged string
}

type inner struct {
	A string `key:"a"`
	B int    `key:"b"`
}

type named struct {
	Name string `key:"@"`
	Text string `key:"."`
}

type pair struct{ left, right string }

func (p *pair) UnmarshalText(text []byte) error {
	if len(text) != 2 {
		return errors.New("must have two letters")
	}
	*p = pair{string(text[:1]), string(text[1:])}
	return nil
}

// decoded reads the section s of a file that has a model m and an agent a too.
func decoded(content string, into any) (faults []string) {
	table := file.Table{
		{Name: "models", Schema: `{}`}, {Name: "agents", Schema: `{}`},
		{Name: "s", Into: into, Schema: `{"type": "object", "properties": {
			"text": {"type": "string"}, "count": {"type": "integer", "minimum": 1, "maximum": 9}, "on": {"type": "boolean"},
			"share": {"type": "number", "maximum": 1}, "limit": {"type": ["number", "null"]}, "calls": {"enum": ["keep", "omit"]},
			"who": {"type": ["string", "array"], "items": {"type": "string"}}, "inner": {"type": "object", "properties": {"b": {"type": "integer"}}}}}`},
	}
	r := table.Read("f", []byte("models: {m: 1}\nagents: {a: 1}\ns: {"+content+"}"), config.Sources{Lookup: configtest.World{Env: map[string]string{"V": "v"}}.Lookup})
	for _, f := range r.Faults {
		faults = append(faults, f.Name+" "+f.Message)
	}
	return faults
}

func TestDecode(t *testing.T) {
	t.Parallel()
	half := 0.5
	for content, want := range map[string]values{
		``:                                  {},
		`text: "a ${V}", word: w`:           {Text: "a v", Word: "w"},
		`on: true, calls: omit`:             {On: true, Omit: true},
		`on: false, calls: keep`:            {},
		`open: false`:                       {Closed: true},
		`open: true`:                        {},
		`count: 9, share: 1, limit: 0.5`:    {Count: 9, Share: 1, Limit: &half},
		`life: 7d`:                          {Life: 7 * 24 * time.Hour},
		`times: 5s`:                         {First: 5 * time.Second, Idle: 5 * time.Second},
		`times: {idle: 5s}`:                 {Idle: 5 * time.Second},
		`judge: {model: m}, agents: [a]`:    {Model: "m", Agents: []string{"a"}},
		`judge: {model: default}, who: any`: {Model: "default", Who: []string{"any"}},
		`who: [], days: {}`:                 {},
		`who: [b, a], days: {a: 0, b: 1}`:   {Who: []string{"b", "a"}, Days: map[string]int{"a": 0, "b": 1}},
		`caches: {x: 5m}`:                   {Caches: map[string]time.Duration{"x": 5 * time.Minute}},
		`lists: {x: a, y: [b, c]}`:          {Lists: map[string][]string{"x": {"a"}, "y": {"b", "c"}}},
		`inner: {b: 2}, other: {a: x}`:      {Inner: inner{B: 2}, Other: &inner{A: "x"}},
		`rules: [{a: x}, {b: 1}]`:           {Rules: []inner{{A: "x"}, {B: 1}}},
		`named: {z: one, a: two}`:           {Named: []named{{"z", "one"}, {"a", "two"}}},
		`pair: ab, raw: {a: [1, "${V}"]}`:   {Pair: pair{"a", "b"}, Raw: jsontext.Value(`{"a":[1,"v"]}`)},
	} {
		var got values
		if faults := decoded(content, &got); faults != nil {
			t.Errorf("%s: %q", content, faults)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(pair{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", content, diff)
		}
	}
}

// What has a fault, be it the schema's, leaves the default.
func TestDecodeFaults(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		`text: 5`:                             "f:3:11 /s/text: must be a string",
		`count: 10`:                           "f:3:12 /s/count: must be from 1 to 9",
		`count: 1.5`:                          "f:3:12 /s/count: must be a whole number",
		`calls: other`:                        "f:3:12 /s/calls: must be one of keep, omit",
		`life: 30`:                            "",
		`life: 59s`:                           "f:3:11 /s/life: must be a duration from 1m to 30d, with its unit, such as 15s, 90m or 7d",
		`life: 31d`:                           "f:3:11 /s/life: must be a duration from 1m to 30d, with its unit, such as 15s, 90m or 7d",
		`life: x`:                             "f:3:11 /s/life: must be a duration from 1m to 30d, with its unit, such as 15s, 90m or 7d",
		`times: 11s`:                          "f:3:12 /s/times: must be a duration from 0s to 10s, with its unit, such as 15s, 90m or 7d",
		`times: {first: 11s}`:                 "f:3:20 /s/times/first: must be a duration from 0s to 10s, with its unit, such as 15s, 90m or 7d",
		`judge: {model: x}`:                   "f:3:20 /s/judge/model: there is no such model; did you mean m?",
		`judge: {model: ""}`:                  "f:3:20 /s/judge/model: there is no such model; did you mean m?",
		`agents: [default]`:                   "f:3:14 /s/agents/0: there is no such agent; there are a",
		`who: [5]`:                            "f:3:11 /s/who/0: must be a string",
		`inner: {b: x}`:                       "f:3:16 /s/inner/b: must be a whole number",
		`caches: {x: 6m}`:                     "f:3:17 /s/caches/x: must be a duration from 1s to 5m, with its unit, such as 15s, 90m or 7d",
		`pair: abc`:                           "f:3:11 /s/pair: must have two letters",
		fmt.Sprintf(`text: %01025d`, 0) + "x": "f:3:11 /s/text: must not be longer than 1 KiB",
	} {
		half := 0.5
		was := values{Text: "t", Count: 3, Share: 0.1, Limit: &half, Life: time.Hour, First: 1, Idle: 1, Model: "m", Pair: pair{"a", "b"}, Inner: inner{B: 1}}
		got := was
		faults := decoded(content, &got)
		if fmt.Sprint(faults) != "["+want+"]" {
			t.Errorf("%.40s: got %q, want %q", content, faults, want)
		}
		if diff := cmp.Diff(was, got, cmp.AllowUnexported(pair{})); diff != "" {
			t.Errorf("%.40s (-want +got):\n%s", content, diff)
		}
	}
}

// null is a value: it puts the zero value in the place of the default.
func TestDecodeNull(t *testing.T) {
	t.Parallel()
	half := 0.5
	got := values{Limit: &half}
	if faults := decoded("limit: null", &got); faults != nil || got.Limit != nil {
		t.Errorf("%v, %q", got.Limit, faults)
	}
}

func TestDecodeOfAnUnknownType(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic at a type that cannot be decoded")
		}
	}()
	decoded("a: 1", &struct {
		A complex128 `key:"a"`
	}{})
}

// A tree of JSON has its faults in the order of their report, and variables where they are
// put in.
func TestFromJSON(t *testing.T) {
	t.Parallel()
	n := file.FromJSON(jsontext.Value(`{"text": "a${V}", "agents": ["x", "y"], "count": 1e999, "on": true, "none": null, "a\nb": {}}`))
	n.Get("none").Fault("is nothing")
	lookup := func(name string) (string, bool) { return "v", name == "V" }
	n.Get("text").Expand(lookup, func(text string, variable func(string) string) (string, string) { return text + variable("V"), "" })
	n.Get("agents").Fault("is a list")
	var got values
	n.Decode(&got)
	if got.Text != "a${V}v" || !got.On || got.Agents != nil || got.Count != 0 {
		t.Errorf("got %+v", got)
	}
	for name, value := range n.Get("text").Variables() {
		if name != "V" || value != "v" {
			t.Errorf("variable %s", name)
		}
	}
	n.Get("a\nb").Fault("is odd")
	kinds := string([]byte{byte(n.Kind()), byte(n.Get("count").Kind()), byte(n.Get("on").Kind()), byte(n.Get("text").Kind()), byte(n.Get("none").Kind()), byte(n.Get("absent").Kind())})
	if kinds != "{0t\"\x00\x00" {
		t.Errorf("kinds %q", kinds)
	}
	n.Get("text").Expand(lookup, func(_ string, variable func(string) string) (string, string) { return variable("W"), "is wrong" })
	want := []string{"/none: is nothing", "/agents: is a list", `"/a\nb": is odd`, "/text: the variable W is not set", "/text: is wrong"}
	if diff := cmp.Diff(want, n.Messages()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The values of headers are hidden, and their names are those that are sent.
func TestHeaders(t *testing.T) {
	t.Parallel()
	var cfg config.Config
	var got map[string]config.Secret
	table := file.Table{{Name: "s", Schema: `{}`, Read: func(n *file.Node) { got = n.Get("headers").Headers(" Host ") }}}
	r := table.Read("f", []byte("s: {headers: {x-token: Bearer abcdefgh, Authorization: abc, host: x, X-Token: y, 'a b': z}}"), config.Sources{Hide: cfg.Hide})
	var faults []string
	for _, f := range r.Faults {
		faults = append(faults, f.Message)
	}
	want := []string{"/s/headers/host: is a header that cannot be set", "/s/headers/X-Token: is given twice: names that differ only in upper and lower case are the same", "/s/headers/a b: is not a header's name"}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]config.Secret{"X-Token": "Bearer abcdefgh", "Authorization": "abc"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Bearer abcdefgh", "abcdefgh"}, cfg.Secrets()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"SLUICE_CONFIG: /s/headers/Authorization"}, cfg.ShortSecrets()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
