package handlers_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"testing"
	"time"

	"sluice/handlers"
	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect/channels"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/style"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Channels: channels.New(nil, nil, channels.Checks{})})
	got := g.do(t, "POST", "/channels/sms/format", `{"text":"**Hi** “you”"}`, "Content-Type: application/json", "X-Request-Id: req_7")
	var r struct {
		RequestID string `json:"request_id"`
		Channel   string
		Content   string
		IsSplit   bool `json:"is_split"`
		Parts     []any
		Encoding  string
		Segments  int
		Metadata  map[string]any
		At        time.Time `json:"formatted_at"`
	}
	if err := json.Unmarshal([]byte(got.body), &r); err != nil || got.status != 200 {
		t.Fatalf("%d: %v: %s", got.status, err, got.body)
	}
	if r.RequestID != "req_7" || r.Content != `Hi "you"` || r.Encoding != "GSM-7" || r.Segments != 1 || r.Parts == nil || r.Metadata["transliterated"] != true || !strings.Contains(got.body, `Z",`) || !r.At.Equal(r.At.Truncate(time.Millisecond)) {
		t.Errorf("got %s", got.body)
	}
}

// Wording ends with the client that asked for it.
func TestFormatEndsWithItsClient(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/channels/sms/format", nil)
	r.SetPathValue("channel", "sms")
	_, err := channels.New(nil, nil, channels.Checks{}).Routes()[0].Open(r, []byte(`{"text":"*a*"}`))
	if !errors.Is(err, fault.ErrClientGone) {
		t.Errorf("the error is %v", err)
	}
}

func TestFormatRefusals(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Channels: channels.New(nil, nil, channels.Checks{})})
	for _, tt := range []struct {
		channel, body string
		status        int
		want          string
	}{
		{"fax", `{"text":"x"}`, 404, `"error_type":"not_found"`},
		{"sms", `{}`, 422, `"errors":[{"field":"/text","code":"required","message":"is required"}]`},
		{"sms", `{"text":null}`, 422, `{"field":"/text","code":"required"`},
		{"sms", `{"text":" "}`, 422, `"errors":[{"field":"/text","code":"blank","message":"must hold more than white space"}]`},
		{"sms", `{"text":7,"locale":"x_y","subject":"` + strings.Repeat("s", 201) + `"}`, 422, `"errors":[{"field":"/text","code":"wrong_type","message":"must be a string"},{"field":"/subject","code":"too_long","message":"must have at most 200 characters"},{"field":"/locale","code":"invalid_format","message":"must be a language tag such as en or pt-BR"}]`},
		{"sms", `{"text":"` + strings.Repeat("é", 65_537) + `"}`, 422, `"errors":[{"field":"/text","code":"too_long","message":"must have at most 65536 characters"}]`},
		{"sms", `{"text":"a","text":"b"}`, 422, `"errors":[{"field":"/text","code":"duplicate_key"`},
		{"sms", `{"text":"a","x":1,"x":2}`, 422, `"errors":[{"field":"/x","code":"duplicate_key"`},
		{"sms", `{"text":"a","` + strings.Repeat("x", 65) + `":{"y":1,"y":2}}`, 422, `"errors":[{"field":"","code":"duplicate_key"`},
		{"sms", `{"text":"\ud800","subject":"\udc00"}`, 422, `"errors":[{"field":"/text","code":"invalid_utf8","message":"holds invalid UTF-8 or a lone surrogate"},{"field":"/subject","code":"invalid_utf8"`},
		{"sms", `[]`, 422, `"errors":[{"field":"","code":"wrong_type","message":"the body must be a JSON object"}]`},
		{"sms", `{"text":"a"} b`, 422, `"errors":[{"field":"","code":"trailing_data","message":"there is data after the JSON object"}]`},
		{"sms", `{"text":"a","x\u0007y":{"z":1,"z":2}}`, 422, `"errors":[{"field":"","code":"duplicate_key"`},
		{"sms", `{"text":"a","\ud800":1}`, 422, `"errors":[{"field":"","code":"invalid_utf8","message":"a key holds`},
		{"sms", `{"text":"a","user_name":"` + strings.Repeat("u", 300) + `"}`, 422, `"errors":[{"field":"/user_name","code":"too_long","message":"must have at most 64 characters"}]`},
		{"sms", `{"text":"a","user_name":"\u0007\n"}`, 422, `"errors":[{"field":"/user_name","code":"blank"`},
		{"sms", `{"text":"a","locale":"en-` + strings.Repeat("abcdefgh-", 4) + `x"}`, 422, `"errors":[{"field":"/locale","code":"invalid_format"`},
		{"sms", `{"text":"` + strings.Repeat("a", 513<<10) + `"}`, 413, `"payload_too_large"`},
	} {
		got := g.do(t, "POST", "/channels/"+tt.channel+"/format", tt.body, "Content-Type: application/json")
		if got.status != tt.status || !strings.Contains(got.body, tt.want) {
			t.Errorf("%s %.60s: %d %s", tt.channel, tt.body, got.status, got.body)
		}
	}
}

func TestFormatAsMessage(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Channels: channels.New(nil, nil, channels.Checks{})})
	got := g.do(t, "POST", "/channels/email/format", `{"text":"# Häding\n\ntext","locale":"de"}`, "Content-Type: application/json", "Accept: text/html, message/rfc822, */*;q=0.1")
	m, err := mail.ReadMessage(bytes.NewReader([]byte(got.body)))
	if err != nil || got.header.Get("Content-Type") != "message/rfc822" {
		t.Fatalf("%v %v: %s", err, got.header, got.body)
	}
	if m.Header.Get("To") != "" || !strings.HasPrefix(m.Header.Get("Content-Type"), "multipart/alternative") {
		t.Errorf("headers are %v", m.Header)
	}
	for _, tt := range []struct{ channel, accept string }{
		{"email", "*/*"}, {"email", "message/rfc822;q=0"}, {"email", "message/rfc822; q=0.000"}, {"email", "message/rfc8222"}, {"plain", "message/rfc822"},
	} {
		got := g.do(t, "POST", "/channels/"+tt.channel+"/format", `{"text":"text"}`, "Content-Type: application/json", "Accept: "+tt.accept)
		if got.status != 200 || got.header.Get("Content-Type") != "application/json" || !strings.HasPrefix(got.body, `{"request_id":`) {
			t.Errorf("%+v: %d %s: %s", tt, got.status, got.header.Get("Content-Type"), got.body)
		}
	}
}

// The fields are read as those of a turn's request: at their longest they pass, null is as
// absent, what is not known is passed over, and a name is on one line.
func TestFormatFields(t *testing.T) {
	t.Parallel()
	guide := &style.Guide{Greeting: true, UseName: true, Texts: []style.Texts{{Lang: "en", Greeting: "Hi {name}!"}}}
	g := serve(t, handlers.Config{Channels: channels.New(nil, guide, channels.Checks{})})
	long, subject := strings.Repeat("u", 64), strings.Repeat("s", 200)
	for _, tt := range []struct{ channel, body, want string }{
		{"plain", `{"text":"x","user_name":"\u0007` + long + `"}`, `"content":"Hi ` + long + `!\n\nx"`},
		{"plain", `{"text":"x","user_name":"Ann\nLee\u0007"}`, `"content":"Hi Ann Lee!\n\nx"`},
		{"plain", `{"text":"x","user_name":null,"locale":null,"subject":null,"more":[{}]}`, `"content":"Hi!\n\nx"`},
		{"plain", `{"text":"` + strings.Repeat("é", 65_536) + `"}`, `"content":"Hi!\n\néé`},
		{"email", `{"text":"x","subject":"` + subject + `"}`, `"subject":"` + subject + `"`},
		{"email", `{"text":"x","subject":"a\r\nBcc: b"}`, `"subject":"a Bcc: b"`},
		{"web", `{"text":"x \u202e<y>"}`, `"content":"Hi!\n\nx ` + "\u202e" + `<y>","is_split":false,"parts":[]`},
	} {
		got := g.do(t, "POST", "/channels/"+tt.channel+"/format", tt.body, "Content-Type: application/json")
		if got.status != 200 || !strings.Contains(strings.ReplaceAll(got.body, `\u202e`, "\u202e"), tt.want) {
			t.Errorf("%s %.80s: %d %.300s", tt.channel, tt.body, got.status, got.body)
		}
	}
}

func TestChannels(t *testing.T) {
	t.Parallel()
	own := channel.ByName(nil)[channel.SMS]
	own.Name, own.MaxSegments = "twilio", 2
	g := serve(t, handlers.Config{Channels: channels.New([]channel.Spec{own}, nil, channels.Checks{})})
	got := g.do(t, "GET", "/channels", "")
	var list struct {
		Channels []struct {
			Name        string
			Extends     string
			MaxSegments *int `json:"max_segments"`
		}
	}
	if err := json.Unmarshal([]byte(got.body), &list); err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
	var names []string
	for _, c := range list.Channels {
		names = append(names, c.Name)
	}
	last := list.Channels[len(list.Channels)-1]
	if strings.Join(names, " ") != "web sms whatsapp teams email plain twilio" || last.Extends != "sms" || *last.MaxSegments != 2 {
		t.Errorf("got %s", got.body)
	}
}

// Each channel that is built in, with all that it has: the table of the contract.
func TestBuiltinChannels(t *testing.T) {
	t.Parallel()
	g := serve(t, handlers.Config{Channels: channels.New(nil, nil, channels.Checks{Mode: "observe", Drafts: "ask"})})
	const all = `["bold","italic","strike","headers","tables","links","code","lists","quotes"]`
	channel := func(name, length, segments, markdown, features, emojis, split, indicator, parts, transliterate, greeting string) string {
		return `{"name":"` + name + `","extends":"` + name + `","max_length":` + length + `,"max_segments":` + segments + `,"supports_markdown":` + markdown + `,"markdown_features":` + features +
			`,"supports_emojis":true,"emojis":"` + emojis + `","split_strategy":"` + split + `","indicator":"` + indicator + `","max_parts":` + parts + `,"transliterate":` + transliterate + `,"greeting":` + greeting + `}`
	}
	want := `{"channels":[` + strings.Join([]string{
		channel("web", "null", "null", "true", all, "keep", "paragraph", "none", "1", "false", "true"),
		channel("sms", "1600", "10", "false", "[]", "auto", "sentence", "prefix", "3", "true", "false"),
		channel("whatsapp", "4096", "null", "true", `["bold","italic","strike","code","lists","quotes"]`, "keep", "paragraph", "prefix", "5", "false", "true"),
		channel("teams", "28672", "null", "true", `["bold","italic","headers","tables","links","code","lists","quotes"]`, "keep", "paragraph", "prefix", "5", "false", "true"),
		channel("email", "null", "null", "true", all, "keep", "paragraph", "none", "1", "false", "true"),
		channel("plain", "null", "null", "false", "[]", "keep", "paragraph", "none", "1", "false", "true"),
	}, ",") + `],"quality":{"mode":"observe","drafts":"ask","channels":["web","sms","whatsapp","teams","email","plain"]}}`
	if got := g.do(t, "GET", "/channels", ""); got.status != 200 || strings.TrimSpace(got.body) != want {
		t.Errorf("%d\n%s\nwant\n%s", got.status, got.body, want)
	}
}

// A request gets the channels and the style that are set by then.
func TestChannelsAreSetAnew(t *testing.T) {
	t.Parallel()
	c := channels.New(nil, nil, channels.Checks{})
	g := serve(t, handlers.Config{Channels: c})
	own := channel.ByName(nil)[channel.Plain]
	own.Name = "note"
	c.Set([]channel.Spec{own}, &style.Guide{Greeting: true, Texts: []style.Texts{{Lang: "en", Greeting: "Hi!"}}}, channels.Checks{})
	if got := g.do(t, "POST", "/channels/note/format", `{"text":"x"}`, "Content-Type: application/json"); !strings.Contains(got.body, `"content":"Hi!\n\nx"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	c.Set(nil, nil, channels.Checks{})
	if got := g.do(t, "POST", "/channels/note/format", `{"text":"x"}`, "Content-Type: application/json"); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

// The texts of the style stand around what is worded, in the language of the locale; an
// SMS has none; and a subject is made without them.
func TestFormatWithStyle(t *testing.T) {
	t.Parallel()
	guide := &style.Guide{Greeting: true, SignOff: true, UseName: true, Brand: "Blue", Texts: []style.Texts{
		{Lang: "en", Greeting: "Hi {name}!", SignOff: "Your {brand}"}, {Lang: "de", Greeting: "Hallo {name}!"},
	}}
	g := serve(t, handlers.Config{Channels: channels.New(nil, guide, channels.Checks{})})
	for _, tt := range []struct{ channel, body, want string }{
		{"plain", `{"text":"Done.","user_name":"An*n"}`, `"content":"Hi An*n!\n\nDone.\n\nYour Blue"`},
		{"plain", `{"text":"Fertig.","locale":"de-CH"}`, `"content":"Hallo!\n\nFertig."`},
		{"sms", `{"text":"Done.","user_name":"Ann"}`, `"content":"Done."`},
		{"web", `{"text":"**Done.**","user_name":"Ann"}`, `"content":"Hi Ann!\n\n**Done.**\n\nYour Blue"`},
		{"email", `{"text":"It is done. More follows.","user_name":"Ann"}`, `"subject":"It is done."`},
		{"email", `{"text":"It is done."}`, `\u003chtml lang=\"en\"\u003e`},
	} {
		got := g.do(t, "POST", "/channels/"+tt.channel+"/format", tt.body, "Content-Type: application/json")
		if got.status != 200 || !strings.Contains(got.body, tt.want) && !strings.Contains(got.body, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(tt.want)) {
			t.Errorf("%s %s: %d %s", tt.channel, tt.body, got.status, got.body)
		}
	}
}
