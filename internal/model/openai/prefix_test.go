package openai

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/model"
	"sluice/internal/turn/chat"
)

// A conversation is asked for by a key of its own at OpenAI's host alone; long keeps it for a day.
// Neither shows who it is, and both can be learned away.
func TestCacheKeys(t *testing.T) {
	t.Parallel()
	own := model.Spec{Endpoint: "https://api.openai.com/v1/chat/completions", API: "chat"}
	of := func(conversation string) *chat.ModelRequest {
		return &chat.ModelRequest{Of: &chat.Request{UserID: "ann", ConversationID: conversation}, Agent: "a default/m"}
	}
	key := func(spec model.Spec, req *chat.ModelRequest, omit ...string) string {
		c, err := newCodec(spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		body := model.Members(c.Render(nil, req, omit))
		return model.Unquote(body.Get(cacheKey)) + " " + model.Unquote(body.Get(cacheRetention))
	}
	for _, own.API = range []string{"chat", "responses"} {
		one := key(own, of("conv_1"))
		if len(one) != 33 || one != key(own, of("conv_1")) || one == key(own, of("conv_2")) || one == key(own, of("")) || strings.Contains(one, "ann") {
			t.Errorf("%s: the key is %q", own.API, one)
		}
		long, off, other := own, own, own
		long.Cache, off.Cache, other.Endpoint = model.CacheLong, model.CacheOff, "https://api.example.com/v1"
		if got := key(long, of("conv_1")); got != one+"24h" {
			t.Errorf("%s, long: %q", own.API, got)
		}
		for name, got := range map[string]string{
			"off": key(off, of("conv_1")), "another host": key(other, of("conv_1")), "nobody's": key(own, new(chat.ModelRequest)),
			"learned": key(long, of("conv_1"), cacheKey, cacheRetention),
		} {
			if got != " " {
				t.Errorf("%s, %s: %q", own.API, name, got)
			}
		}
	}
	own.API = "chat"
	c := testChat(t, own)
	for _, member := range []string{cacheKey, cacheRetention} {
		body := fmt.Sprintf(`{"error":{"param":%q,"code":"unknown_parameter","message":"Unknown parameter: '%s'."}}`, member, member)
		if got := c.Refuse(400, nil, []byte(body)).Member; got != member {
			t.Errorf("%s: learned %q", member, got)
		}
	}
}

// Where roles must alternate nothing is lost: what stands behind another message of the user's,
// or behind results, is at their end.
func TestAlternatingRoles(t *testing.T) {
	t.Parallel()
	c := testChat(t, model.Spec{})
	req := chat.ModelRequest{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "now\n\nhi"}, {Text: "moment"}}}, chat.Closing("note")}}
	if body := string(c.Render(nil, &req, nil)); strings.Count(body, `"role":"user"`) != 3 {
		t.Errorf("%s", body)
	}
	body := string(c.Render(nil, &req, model.Omit{memberRoles}))
	if strings.Count(body, `"role":"user"`) != 1 || !strings.Contains(body, `now\n\nhi\n\nmoment\n\nAdded by the gateway, not by the user:\nnote"`) {
		t.Errorf("%s", body)
	}
}
