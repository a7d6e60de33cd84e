package chat_test

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/turn/chat"
)

func TestQueryRequestAccepts(t *testing.T) {
	t.Parallel()
	input := func(s string) chat.ParsedRequest {
		return chat.ParsedRequest{Request: chat.Request{Input: s}, Accumulated: true}
	}
	for _, tt := range []struct {
		name, query string
		want        chat.ParsedRequest
	}{
		{"input alone", "input=hi", input("hi")},
		{"plus and percent", "input=a+b%2Bc%0A%C3%A9", input("a b+c\né")},
		{"5000 emoji", "input=" + strings.Repeat("%F0%9F%98%80", 5000), input(strings.Repeat("😀", 5000))},
		{"control characters stripped", "input=%00a%C2%9Fb%7F&user_id=%1Bu", chat.ParsedRequest{Request: chat.Request{Input: "ab", UserID: "u"}, Accumulated: true}},
		{"every field", "timezone=Europe%2FBerlin&accumulated=false&conversation_id=conv_1&user_id=u&input=a",
			chat.ParsedRequest{Request: chat.Request{Input: "a", ConversationID: "conv_1", UserID: "u", Location: location(t, "Europe/Berlin")}}},
		{"accumulated true", "input=a&accumulated=true", input("a")},
		{"unknown parameters, even twice", "x=1&input=a&x=2&INPUT=b&idempotency_key=k", input("a")},
		{"what only a body may have", "input=a&history=%5B1%5D&history=x&workflow=w&kind=k&retention_days=x&context=1&approval=1", input("a")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := chat.QueryRequest(tt.query)
			if err != nil {
				t.Fatalf("QueryRequest: %v", err)
			}
			if diff := cmp.Diff(&tt.want, got, sameZone); diff != "" {
				t.Errorf("QueryRequest (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueryRequestRejects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, query, want string }{
		{"nothing", "", "/input required"},
		{"empty", "input=", "/input blank"},
		{"without a value", "input", "/input blank"},
		{"only white space", "input=+%09%C2%A0", "/input blank"},
		{"only control characters", "input=%00%1B", "/input blank"},
		{"5001 characters", "input=" + strings.Repeat("%D0%B6", 5001), "/input too_long"},
		{"invalid UTF-8", "input=a%FF", "/input invalid_utf8"},
		{"surrogate", "input=%ED%A0%BD", "/input invalid_utf8"},
		{"invalid UTF-8 in user_id", "input=a&user_id=%FF", "/user_id invalid_utf8"},
		{"input twice", "input=a&input=a", "/input duplicate_key"},
		{"each other field twice", "input=a&conversation_id=?&conversation_id=?&user_id=&user_id=&timezone=&timezone=&accumulated=&accumulated=",
			"/conversation_id duplicate_key, /user_id duplicate_key, /timezone duplicate_key, /accumulated duplicate_key"},
		{"conversation_id", "input=a&conversation_id=conv_%2F", "/conversation_id invalid_format"},
		{"user_id", "input=a&user_id=" + strings.Repeat("u", 257), "/user_id too_long"},
		{"timezone", "input=a&timezone=Local", "/timezone invalid_format"},
		{"accumulated", "input=a&accumulated=yes", "/accumulated wrong_type"},
		{"every faulty field", "accumulated=&timezone=&conversation_id=&input=",
			"/accumulated wrong_type, /input blank, /conversation_id invalid_format, /timezone invalid_format"},
		// The parameter is there: that it is missing must not be said.
		{"bad percent-encoding", "input=%zz", " invalid_format"},
		{"cut percent-encoding", "input=a&user_id=%F", " invalid_format"},
		{"semicolon", "input=a;user_id=u", " invalid_format"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := chat.QueryRequest(tt.query)
			if diff := cmp.Diff(tt.want, faults(t, err)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if !reflect.DeepEqual(got, &chat.ParsedRequest{}) {
				t.Errorf("a rejected request is not zero: %+v", got)
			}
		})
	}
}

func TestQueryFaultsEchoNoValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, field := range []string{"input", "conversation_id", "user_id", "timezone", "accumulated"} {
		for _, value := range []string{secret + strings.Repeat("x", 5000), secret + "%FF", secret + "%zz", secret + "&" + field + "=" + secret} {
			_, err := chat.QueryRequest(field + "=" + value)
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s=%.20s…: %v", field, value, err)
			}
		}
	}
}

func FuzzQueryRequest(f *testing.F) {
	for _, s := range []string{
		"input=hi", "input=a+b%00&user_id=u&accumulated=0", "input=%F0%9F%98%80&timezone=Asia/Tokyo&conversation_id=conv_x",
		"input=%ff", "input=a&input=b", "%zz", "a;b", "input=%C2%85",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r, err := chat.QueryRequest(query)
		if err != nil {
			checkFaults(t, err)
			return
		}
		checkRules(t, r.Request)
		again := url.Values{"input": {r.Input}}
		for name, value := range optional(r.Request) {
			again.Set(name, value)
		}
		if !r.Accumulated {
			again.Set("accumulated", "false")
		}
		got, err := chat.QueryRequest(again.Encode())
		if err != nil {
			t.Fatalf("what was accepted is not a second time: %v", err)
		}
		if diff := cmp.Diff(r, got, sameZone); diff != "" {
			t.Errorf("second decoding (-first +second):\n%s", diff)
		}
	})
}
