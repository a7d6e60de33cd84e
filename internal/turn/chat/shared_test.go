package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// membersOf reads an object whose members SharedFields may read.
func membersOf(t *testing.T, object string) map[string]jsontext.Value {
	t.Helper()
	var e chat.ValidationError
	members, ok := chat.Members([]byte(object), nil, &e)
	if !ok || len(e.Fields) > 0 {
		t.Fatalf("%s: %v", object, &e)
	}
	return members
}

// What another protocol's body has under our names follows our rules, at its own place.
func TestSharedFields(t *testing.T) {
	t.Parallel()
	days := 7
	all := func(name string) bool { return name != "input" }
	some := func(name string) bool { return name == "timezone" || name == "locale" }
	for _, tt := range []struct {
		name, object string
		known        func(string) bool
		want         chat.ParsedRequest
		faults       string
	}{
		{"nothing", `{}`, all, chat.ParsedRequest{}, ""},
		{"texts", `{"agent":"todo","locale":"pt-BR","conversation_id":"conv_1","on_disconnect":"continue"}`, all,
			chat.ParsedRequest{Request: chat.Request{Agent: "todo", ConversationID: "conv_1", ReplyForm: chat.ReplyForm{Locale: "pt-BR"}}, OnDisconnect: "continue"}, ""},
		{"texts are cleaned", `{"user_name":" Ann\n\u0007Lee ","user_id":"u\u0000"}`, all, chat.ParsedRequest{Request: chat.Request{UserID: "u", ReplyForm: chat.ReplyForm{UserName: "Ann Lee"}}}, ""},
		{"flags, numbers, objects", `{"deliver":true,"drafts":false,"retention_days":7,"context":{"page":"home"}}`, all,
			chat.ParsedRequest{Request: chat.Request{Keeping: chat.Keeping{RetentionDays: &days}, Context: []chat.ContextEntry{{Name: "page", Value: "home"}}, ReplyForm: chat.ReplyForm{Drafts: chat.No, Deliver: true}}}, ""},
		{"null is absence", `{"agent":null,"deliver":null,"retention_days":null,"context":null,"timezone":null,"approval":null}`, all, chat.ParsedRequest{}, ""},
		{"names that are not known", `{"agent":"Not one!","locale":"de","input":7}`, some, chat.ParsedRequest{Request: chat.Request{ReplyForm: chat.ReplyForm{Locale: "de"}}}, ""},
		{"names that are nobody's", `{"Agent":"x","toString":1,"":2}`, all, chat.ParsedRequest{}, ""},
		{"a history is never read so", `{"history":[{"role":"user","content":"a"}]}`, func(string) bool { return true }, chat.ParsedRequest{}, ""},
		{"wrong types", `{"agent":1,"deliver":"yes","retention_days":"7","context":[]}`, all, chat.ParsedRequest{},
			"/of/agent wrong_type, /of/retention_days wrong_type, /of/context wrong_type, /of/deliver wrong_type"},
		{"wrong values", `{"agent":"Not one!","workflow":"A","kind":"K","retention_days":1.5,"task_id":"x","on_disconnect":"stay","channel":"1","locale":"x","timezone":"Mars/Base"}`, all, chat.ParsedRequest{},
			"/of/timezone invalid_format, /of/agent unknown_value, /of/workflow unknown_value, /of/kind invalid_format, /of/retention_days invalid_format, " +
				"/of/task_id unknown_value, /of/on_disconnect unknown_value, /of/channel unknown_value, /of/locale invalid_format"},
		{"within an object", `{"context":{"Page":"x","a":1}}`, all, chat.ParsedRequest{}, "/of/context/Page invalid_format, /of/context/a wrong_type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var e chat.ValidationError
			got := chat.SharedFields(membersOf(t, tt.object), "/of", tt.known, &e)
			if diff := cmp.Diff(tt.faults, listed(&e)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&tt.want, got, sameZone); diff != "" && tt.faults == "" {
				t.Errorf("SharedFields (-want +got):\n%s", diff)
			}
		})
	}
}

// listed writes faults as "pointer code", one after the other.
func listed(e *chat.ValidationError) string {
	var list []string
	for _, f := range e.Fields {
		list = append(list, f.Field+" "+f.Code)
	}
	return strings.Join(list, ", ")
}

// Faults of before stay, and a fault that a field has already is not repeated.
func TestSharedFieldsAddToFaults(t *testing.T) {
	t.Parallel()
	e := chat.ValidationError{Fields: []chat.FieldError{{Field: "/metadata/agent", Code: chat.CodeTooLong, Message: "x"}}}
	chat.SharedFields(membersOf(t, `{"agent":7,"locale":"x"}`), "/metadata", func(string) bool { return true }, &e)
	if got, want := listed(&e), "/metadata/agent too_long, /metadata/locale invalid_format"; got != want {
		t.Errorf("faults are %s, want %s", got, want)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	many := strings.Builder{}
	for range 40 {
		many.WriteString(`"` + strings.Repeat("x", many.Len()/7+1) + `":{"a":1,"a":1},`)
	}
	for _, tt := range []struct {
		name, body string
		want       string // names of members with their values
		faults     string
		broken     bool
	}{
		{"an object", ` {"a": 1, "b":{"c":[2]} , "":null}`, `=null a=1 b={"c":[2]}`, "", false},
		{"a name with escapes", `{"\u0061":1}`, "a=1", "", false},
		{"twice", `{"a":1,"a":2}`, "a=1", "/a duplicate_key", false},
		{"another twice", `{"z/~":1,"z/~":2}`, "z/~=1", "/z~1~0 duplicate_key", false},
		{"twice further in", `{"a":{"b":1,"b":2},"c":3}`, "c=3", "/a duplicate_key", false},
		{"a lone surrogate", `{"a":"\ud83d","id":"\ud83d","c":3}`, `a="\ufffd" c=3`, "/id invalid_utf8", false},
		{"a lone surrogate in a name", `{"\ud83d":1,"c":3}`, "c=3", " invalid_utf8", false},
		{"a long name with a fault", `{"` + strings.Repeat("n", 65) + "\":\"\xff\"}", "", " invalid_utf8", false},
		{"no object", `[1]`, "", " wrong_type", true},
		{"nothing", ``, "", " invalid_json", true},
		{"cut", `{"a":1,`, "", " invalid_json", true},
		{"cut in a value", `{"a":[1`, "", " invalid_json", true},
		{"something behind it", `{"a":1} 2`, "a=1", " trailing_data", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var e chat.ValidationError
			got, ok := chat.Members([]byte(tt.body), []string{"a", "b"}, &e)
			var list []string
			for name, value := range got {
				list = append(list, name+"="+string(value))
			}
			slices.Sort(list)
			if strings.Join(list, " ") != tt.want || ok == tt.broken {
				t.Errorf("members %v, %v; want %s", list, ok, tt.want)
			}
			if diff := cmp.Diff(tt.faults, listed(&e)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
	var e chat.ValidationError
	chat.Members([]byte(`{`+many.String()+"\"a\":\"\xff\"}"), []string{"a"}, &e)
	if n := len(e.Fields); n > 17 || e.Fields[n-1].Field != "/a" {
		t.Errorf("a body full of faults has %d, the last at %q", n, e.Fields[n-1].Field)
	}
}

// Members are copies: what is read later does not change them.
func TestMembersAreCopies(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a":"one","b":"two"}`)
	var e chat.ValidationError
	got, _ := chat.Members(body, nil, &e)
	copy(body, strings.Repeat("x", len(body)))
	if string(got["a"]) != `"one"` || string(got["b"]) != `"two"` {
		t.Errorf("the members are %v", got)
	}
}

// A choice names a tool, or leaves it to the model; of one tool there is no choice.
func TestForcedTool(t *testing.T) {
	t.Parallel()
	set := func(names ...string) *tool.Set {
		s := new(tool.Set)
		for _, name := range names {
			s.Specs = append(s.Specs, tool.Spec{Name: name})
		}
		return s
	}
	for _, tt := range []struct {
		name   string
		choice chat.ToolChoice
		tools  *tool.Set
		want   string
	}{
		{"any of several", chat.ToolChoice{Must: true}, set("a", "b"), ""},
		{"the only one", chat.ToolChoice{Must: true}, set("a"), "a"},
		{"a named one", chat.ToolChoice{Must: true, Name: "b"}, set("a", "b"), "b"},
		{"a named one beside the only one", chat.ToolChoice{Must: true, Name: "b"}, set("a"), "b"},
		{"of none", chat.ToolChoice{Must: true}, set(), ""},
	} {
		r := chat.ModelRequest{Tools: tt.tools, ForceTool: tt.choice.Must, Tool: tt.choice.Name}
		if got := r.ForcedTool(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
