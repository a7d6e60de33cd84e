package chat_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
)

func TestDecodeRequestAccepts(t *testing.T) {
	t.Parallel()
	berlin := location(t, "Europe/Berlin")
	input := func(s string) chat.ParsedRequest {
		return chat.ParsedRequest{Request: chat.Request{Input: s}, Accumulated: true}
	}
	for _, tt := range []struct {
		name, body string
		want       chat.ParsedRequest
	}{
		{"input alone", `{"input":"hi"}`, input("hi")},
		{"one character", `{"input":"é"}`, input("é")},
		{"5000 characters", `{"input":"` + strings.Repeat("ж", 5000) + `"}`, input(strings.Repeat("ж", 5000))},
		{"5000 emoji escaped as surrogate pairs", `{"input":"` + strings.Repeat(`\ud83d\ude00`, 5000) + `"}`, input(strings.Repeat("😀", 5000))},
		{"5000 after stripping", `{"input":"` + strings.Repeat(`a\u0000`, 5000) + `"}`, input(strings.Repeat("a", 5000))},
		{"white space around is kept", `{"input":" \t\n\r a "}`, input(" \t\n\r a ")},
		{"C0 stripped", `{"input":"a\u0000\u0001\u0008\u000b\u000c\u000e\u001fb"}`, input("ab")},
		{"DEL and C1 stripped, escaped and raw", "{\"input\":\"a\\u007f\\u0080\\u0085\\u009f\x7f\u0080\u009fb\"}", input("ab")},
		{"what lies next to C1 is kept", `{"input":"\u0020~\u00a0"}`, input(" ~\u00a0")},
		{"escapes", `{"input":"\"\\\/\b\f\n\r\té"}`, input("\"\\/\n\r\té")},
		{"noncharacters and private use", `{"input":"\uffff\ue000` + "\U0010FFFF" + `"}`, input("\uffff\ue000\U0010FFFF")},
		{"zero width is no white space", `{"input":"\u200b"}`, input("\u200b")},
		{"a key written with escapes", `{"\u0069nput":"hi"}`, input("hi")},
		{"space around the document", " \r\n\t{ \"input\" : \"hi\" } \n", input("hi")},
		{"UUID", `{"input":"a","conversation_id":"550e8400-e29b-41d4-a716-446655440000"}`,
			chat.ParsedRequest{Request: chat.Request{Input: "a", ConversationID: "550e8400-e29b-41d4-a716-446655440000"}, Accumulated: true}},
		{"every field", `{"input":"a","conversation_id":"conv_A-z_9","user_id":"u\u0000ser","timezone":"Europe/Berlin","accumulated":false}`,
			chat.ParsedRequest{Request: chat.Request{Input: "a", ConversationID: "conv_A-z_9", UserID: "user", Location: berlin}}},
		{"accumulated true", `{"input":"a","accumulated":true}`, input("a")},
		{"null is absent", `{"input":"a","conversation_id":null,"user_id":null,"timezone":null,"accumulated":null}`, input("a")},
		{"256 characters of user", `{"input":"a","user_id":"` + strings.Repeat("ü", 256) + `"}`,
			chat.ParsedRequest{Request: chat.Request{Input: "a", UserID: strings.Repeat("ü", 256)}, Accumulated: true}},
		{"257 of which one is stripped", `{"input":"a","user_id":"` + strings.Repeat("ü", 256) + `\u0007"}`,
			chat.ParsedRequest{Request: chat.Request{Input: "a", UserID: strings.Repeat("ü", 256)}, Accumulated: true}},
		{"unknown fields", `{"v":2,"input":"a","extra":{"input":[1,null,"x"],"a":{"a":1}},"":0}`, input("a")},
		{"other case is another field", `{"INPUT":5,"input":"a","Input":null,"User_ID":[],"user_id":"u"}`,
			chat.ParsedRequest{Request: chat.Request{Input: "a", UserID: "u"}, Accumulated: true}},
		{"the form of the answer", `{"input":"a","channel":"sms","drafts":false,"user_name":" Ann\n\u0007Lee ","locale":"pt-BR","subject":"A\r\nBcc: x","deliver":true}`,
			chat.ParsedRequest{Request: chat.Request{Input: "a", ReplyForm: chat.ReplyForm{Channel: "sms", Drafts: chat.No, UserName: "Ann Lee", Locale: "pt-BR", Subject: "A  Bcc: x", Deliver: true}}, Accumulated: true}},
		{"no form", `{"input":"a","channel":null,"drafts":null,"user_name":null,"locale":null,"subject":null,"deliver":null}`, input("a")},
		{"deep but not too deep", `{"input":"a","x":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`, input("a")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := chat.DecodeRequest([]byte(tt.body))
			if err != nil {
				t.Fatalf("DecodeRequest: %v", err)
			}
			if diff := cmp.Diff(&tt.want, got, sameZone); diff != "" {
				t.Errorf("DecodeRequest (-want +got):\n%s", diff)
			}
		})
	}
}

// The faults are written "pointer code", one after the other.
func TestDecodeRequestRejects(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, body, want string }{
		{"no input", `{}`, "/input required"},
		{"null", `{"input":null}`, "/input wrong_type"},
		{"number", `{"input":5}`, "/input wrong_type"},
		{"array", `{"input":["a"]}`, "/input wrong_type"},
		{"object", `{"input":{"input":"a"}}`, "/input wrong_type"},
		{"boolean", `{"input":true}`, "/input wrong_type"},
		{"channel that cannot be", `{"input":"a","channel":"Fax!"}`, "/channel unknown_value"},
		{"empty channel", `{"input":"a","channel":""}`, "/channel unknown_value"},
		{"form of other types", `{"input":"a","channel":1,"drafts":"yes","deliver":0}`, "/channel wrong_type, /drafts wrong_type, /deliver wrong_type"},
		{"no name", `{"input":"a","user_name":" \n"}`, "/user_name blank"},
		{"long name", `{"input":"a","user_name":"` + strings.Repeat("ü", 65) + `"}`, "/user_name too_long"},
		{"long subject", `{"input":"a","subject":"` + strings.Repeat("ü", 201) + `"}`, "/subject too_long"},
		{"no locale", `{"input":"a","locale":"en_US"}`, "/locale invalid_format"},
		{"only in another case", `{"INPUT":"a"}`, "/input required"},
		{"empty", `{"input":""}`, "/input blank"},
		{"only white space", `{"input":" \t\r\n\u00a0\u2003\u2028"}`, "/input blank"},
		{"only control characters", `{"input":"\u0000\u001b\u009f"}`, "/input blank"},
		{"control characters and white space", `{"input":"\u0000 \u001b"}`, "/input blank"},
		{"5001 characters", `{"input":"` + strings.Repeat("ж", 5001) + `"}`, "/input too_long"},
		{"5001 emoji escaped", `{"input":"` + strings.Repeat(`\ud83d\ude00`, 5001) + `"}`, "/input too_long"},

		{"high surrogate", `{"input":"a\ud83d"}`, "/input invalid_utf8"},
		{"low surrogate", `{"input":"\ude00a"}`, "/input invalid_utf8"},
		{"two high surrogates", `{"input":"\ud83d\ud83d"}`, "/input invalid_utf8"},
		{"surrogates the wrong way round", `{"input":"\ude00\ud83d"}`, "/input invalid_utf8"},
		{"surrogate as raw bytes", "{\"input\":\"\xed\xa0\xbd\"}", "/input invalid_utf8"},
		{"surrogate deep in an unknown id", `{"input":"a","x":[{"y":{"id":"\udead"}}]}`, "/x/0/y/id invalid_utf8"},
		{"bytes deep in an unknown field", "{\"input\":\"a\",\"x\":[{\"y\":\"\xff\"}]}", "/x/0/y invalid_utf8"},
		{"surrogate beside messages of others", `{"input":"a\ud83d","messages":[{"role":"user","content":"b"}]}`, "/input invalid_utf8"},
		{"surrogate in a nested key", `{"input":"a","x":{"\ud800":1}}`, "/x invalid_utf8"},
		{"high surrogate in a key", `{"input":"a","k\ud83d":1}`, " invalid_utf8"},
		{"low surrogate in a key", `{"input":"a","\ude00":1}`, " invalid_utf8"},
		{"invalid UTF-8", "{\"input\":\"a\xff\"}", "/input invalid_utf8"},
		{"overlong NUL", "{\"input\":\"\xc0\x80\"}", "/input invalid_utf8"},
		{"cut code point", "{\"input\":\"\xf0\x9f\x98\"}", "/input invalid_utf8"},
		{"invalid UTF-8 in a key", "{\"input\":\"a\",\"\xff\":1,\"\xfe\":2}", " invalid_utf8"},
		{"invalid UTF-8 in an unknown field", "{\"input\":\"a\",\"x\":\"\xff\"}", "/x invalid_utf8"},

		{"duplicate input", `{"input":"a","input":"b"}`, "/input duplicate_key"},
		{"duplicate input, written otherwise", `{"input":"a","\u0069nput":"a"}`, "/input duplicate_key"},
		{"a field three times", `{"input":"a","user_id":"u","user_id":"u","user_id":"u"}`, "/user_id duplicate_key"},
		{"duplicate and bad is one fault", `{"input":"a","conversation_id":"?","conversation_id":"?"}`, "/conversation_id duplicate_key"},
		{"duplicate unknown field", `{"input":"a","x":1,"x":1}`, "/x duplicate_key"},
		{"duplicate nested key", `{"input":"a","x":{"y":[{"z":1,"z":1}]}}`, "/x/y/0 duplicate_key"},
		{"duplicate key with a slash and a tilde", `{"input":"a","a/~b":1,"a/~b":1}`, "/a~1~0b duplicate_key"},
		{"duplicate empty key", `{"input":"a","":1,"":1}`, "/ duplicate_key"},
		{"duplicate key that is not repeated", `{"input":"a","\u001b[31m":1,"\u001b[31m":1}`, " duplicate_key"},
		{"duplicate key that is long", `{"input":"a","` + strings.Repeat("k", 65) + `":1,"` + strings.Repeat("k", 65) + `":1}`, " duplicate_key"},

		{"conversation_id empty", `{"input":"a","conversation_id":""}`, "/conversation_id invalid_format"},
		{"conversation_id a number", `{"input":"a","conversation_id":7}`, "/conversation_id wrong_type"},
		{"user_id too long", `{"input":"a","user_id":"` + strings.Repeat("ü", 257) + `"}`, "/user_id too_long"},
		{"user_id a boolean", `{"input":"a","user_id":false}`, "/user_id wrong_type"},
		{"timezone unknown", `{"input":"a","timezone":"Mars/Olympus"}`, "/timezone invalid_format"},
		{"timezone an object", `{"input":"a","timezone":{}}`, "/timezone wrong_type"},
		{"accumulated a string", `{"input":"a","accumulated":"true"}`, "/accumulated wrong_type"},
		{"accumulated a number", `{"input":"a","accumulated":1}`, "/accumulated wrong_type"},

		{"empty body", ``, " invalid_json"},
		{"white space only", " \n", " invalid_json"},
		{"byte order mark", "\ufeff{\"input\":\"a\"}", " invalid_json"},
		{"cut", `{"input":"a"`, " invalid_json"},
		{"cut in a string", `{"input":"a`, " invalid_json"},
		{"cut in an escape", `{"input":"\ud8`, " invalid_json"},
		{"cut after a key", `{"input"`, " invalid_json"},
		{"trailing comma", `{"input":"a",}`, " invalid_json"},
		{"missing colon", `{"input" "a"}`, " invalid_json"},
		{"single quotes", `{'input':'a'}`, " invalid_json"},
		{"a number for a key", `{1:"a"}`, " invalid_json"},
		{"raw control character", "{\"input\":\"a\x1f\"}", " invalid_json"},
		{"raw line feed", "{\"input\":\"a\n\"}", " invalid_json"},
		{"unknown escape", `{"input":"\x41"}`, " invalid_json"},
		{"comment", `{"input":"a"/**/}`, " invalid_json"},
		{"NaN", `{"input":"a","x":NaN}`, " invalid_json"},
		{"UTF-16", "{\x00\"\x00}\x00", " invalid_json"},
		{"100k brackets", strings.Repeat("[", 100_000), " invalid_json"},
		{"100k brackets inside", `{"input":` + strings.Repeat("[", 100_000), " invalid_json"},
		{"100k braces", strings.Repeat(`{"a":`, 100_000), " invalid_json"},
		{"array", `[{"input":"a"}]`, " wrong_type"},
		{"string", `"input"`, " wrong_type"},
		{"null document", `null`, " wrong_type"},
		{"trailing object", `{"input":"a"}{"input":"b"}`, " trailing_data"},
		{"trailing garbage", `{"input":"a"}}`, " trailing_data"},
		{"trailing NUL", "{\"input\":\"a\"}\x00", " trailing_data"},

		{"every faulty field", `{"accumulated":0,"timezone":"x","user_id":1,"conversation_id":"conv_","input":" "}`,
			"/accumulated wrong_type, /user_id wrong_type, /input blank, /conversation_id invalid_format, /timezone invalid_format"},
		{"the document and a field", "{\"input\":\"\",\"\xff\":0}x", " invalid_utf8,  trailing_data, /input blank"},
		{"broken JSON hides what follows", `{"user_id":1,"input":}`, "/user_id wrong_type,  invalid_json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := chat.DecodeRequest([]byte(tt.body))
			if diff := cmp.Diff(tt.want, faults(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if !reflect.DeepEqual(got, &chat.ParsedRequest{}) {
				t.Errorf("a rejected request is not zero: %+v", got)
			}
		})
	}
}

// A body full of faults must cost little and become neither a long reply nor a
// long log line: before there was a bound, 120 KiB took over a second to decode
// and report.
func TestDecodeRequestBoundsTheFaults(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteByte('{')
	for i := range 5000 {
		key := `"k` + strings.Repeat("x", i%50) + string(rune('a'+i/50%26)) + string(rune('a'+i/1300)) + `":0,`
		b.WriteString(key + key)
	}
	b.WriteString(`"input":"","timezone":"?","user_id":1}`)
	_, err := chat.DecodeRequest([]byte(b.String()))
	got := faults(t, err)
	if n := strings.Count(got, ","); n > 20 {
		t.Errorf("%d faults are listed", n+1)
	}
	if want := "/user_id wrong_type, /input blank, /timezone invalid_format"; !strings.HasSuffix(got, want) {
		t.Errorf("faults of our own fields are missing: got %s\nwant at its end %s", got, want)
	}
}

// No part of a rejected value may come back, in whatever field and form it came.
func TestFaultsEchoNoValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, value := range []string{
		`"` + secret + `"`, `"` + secret + `\ud800"`, "\"" + secret + "\xff\"", `["` + secret + `"]`, `{"` + secret + `":1}`,
		`{"` + secret + `":1,"` + secret + `":2}`, `"` + secret + strings.Repeat("a", 5001) + `"`, `"` + secret, secret, `"` + secret + `" x`,
	} {
		for _, field := range []string{"input", "conversation_id", "user_id", "timezone", "accumulated", "other"} {
			_, err := chat.DecodeRequest([]byte(`{"` + field + `":` + value + `}` + secret))
			if err == nil {
				t.Fatalf("%s in %s was accepted", value, field)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s in %s is echoed: %v", value, field, err)
			}
		}
	}
}

// faults writes the faults of err, which must be a *ValidationError, as "pointer
// code, pointer code". Each must have a message.
func faults(t *testing.T, err error) string {
	t.Helper()
	v, ok := err.(*chat.ValidationError)
	if !ok {
		t.Fatalf("got %T (%v), want a *ValidationError", err, err)
	}
	text := v.Error()
	var list []string
	for _, f := range v.Fields {
		list = append(list, f.Field+" "+f.Code)
		if f.Message == "" || !strings.Contains(text, f.Message) {
			t.Errorf("message %q of %s is empty or not part of Error()", f.Message, f.Field)
		}
	}
	return strings.Join(list, ", ")
}

var sameZone = cmp.Comparer(func(a, b *time.Location) bool {
	return (a == nil) == (b == nil) && a.String() == b.String()
})

func location(t *testing.T, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("no time zone data: %v", err)
	}
	return loc
}
