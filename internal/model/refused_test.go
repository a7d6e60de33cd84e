package model

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// A message that names a member counts unless it is long or repeats what somebody said.
func TestMembersInMessages(t *testing.T) {
	t.Parallel()
	const message = "stream_options is not supported by this model"
	part := func(p chat.Part) chat.ModelRequest {
		return chat.ModelRequest{Messages: []chat.Message{{Parts: []chat.Part{{Text: "hello"}}}, {Parts: []chat.Part{p}}}}
	}
	for name, tt := range map[string]struct {
		message string
		guessed bool
		req     chat.ModelRequest
		want    string
	}{
		"the service's own":           {message, true, part(chat.Part{Text: "hello"}), "stream_options"},
		"a person's":                  {message, true, part(chat.Part{Text: "Say: stream_options is not supported"}), ""},
		"a tool's":                    {message, true, part(chat.Part{Result: &tool.Result{Text: "tions is not supp"}}), ""},
		"a model's":                   {message, true, part(chat.Part{Call: &tool.Call{Arguments: jsontext.Value(`{"a":"is not supported by"}`)}}), ""},
		"fifteen bytes of a person's": {message, true, part(chat.Part{Text: "x is not support x"}), "stream_options"},
		"sixteen":                     {message, true, part(chat.Part{Text: "x is not supporte x"}), ""},
		"of the instruction":          {message, true, chat.ModelRequest{System: message}, "stream_options"},
		"long":                        {message + strings.Repeat("!", 301-len(message)), true, part(chat.Part{}), ""},
		"as long as it may be":        {message + strings.Repeat("!", 300-len(message)), true, part(chat.Part{}), "stream_options"},
		"named in a field":            {message, false, part(chat.Part{Text: message}), "stream_options"},
	} {
		r := &Refusal{Status: 400, Member: "stream_options", Guessed: tt.guessed, Message: tt.message}
		if r.settleMember(&tt.req); r.Member != tt.want {
			t.Errorf("%s: %q, want %q", name, r.Member, tt.want)
		}
	}
}

// A text that nearly repeats a message at each place costs little.
func TestSharedBytesAreFoundFast(t *testing.T) {
	t.Parallel()
	message := strings.Repeat("aaaaaaab", 37)
	if haveCommonText(message, strings.Repeat("aaaaaaaaaac", 1<<20/11)) {
		t.Error("no sixteen bytes in a row are the same")
	}
	for at := range len(message) - maxQuoted {
		if !haveCommonText(message[:at]+"0123456789abcdef"+message[at:], "x0123456789abcdefx") || haveCommonText(message[:at]+"0123456789abcde_"+message[at:], "x0123456789abcdefx") {
			t.Errorf("at %d", at)
		}
	}
}
