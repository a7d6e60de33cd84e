package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/base/testnet"
)

// postChatKit sends a request and returns the whole reply.
func postChatKit(r *gatewaytest.Running, body string) (status int, reply string) {
	r.T.Helper()
	resp, err := r.Client.Post(r.Base+"/chatkit", "application/json", strings.NewReader(body))
	if err != nil {
		r.T.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.T.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// chatKitOK is chatKit for what must succeed. It notes the reply for the judge.
func chatKitOK(r *gatewaytest.Running, cases *[]chatKitCase, body string) string {
	r.T.Helper()
	status, reply := postChatKit(r, body)
	if status != http.StatusOK {
		r.T.Fatalf("status %d: %s", status, reply)
	}
	var asked struct{ Type string }
	_ = json.Unmarshal([]byte(body), &asked)
	c := chatKitCase{Name: fmt.Sprint(len(*cases), " ", asked.Type), Kind: asked.Type, Body: reply}
	if strings.HasPrefix(reply, "data: ") {
		c.Kind, c.Retry, c.text = "stream", asked.Type == "threads.retry_after_item", saidBy(r.T, reply)
	}
	*cases = append(*cases, c)
	return reply
}

// chatKitRequest writes a request of a user.
func chatKitRequest(kind, params string) string {
	return fmt.Sprintf(`{"type":%q,"params":{%s},"metadata":{"user_id":"ann","timezone":"Europe/Berlin"}}`, kind, params)
}

func chatKitInput(text string) string {
	return `"input":{"content":[{"type":"input_text","text":` + string(must(json.Marshal(text))) + `}],"attachments":[],"inference_options":{}}`
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

var userMessage = regexp.MustCompile(`"item":\{"id":"(msg_\w+)","thread_id":"(conv_\w+)","created_at":"[^"]+","type":"user_message"`)

// A conversation as the component has it where no history is kept.
func TestChatKitWithoutHistory(t *testing.T) {
	t.Parallel()
	r := wholetest.Listen(t, nil)
	var cases []chatKitCase
	first := chatKitOK(r, &cases, chatKitRequest("threads.create", chatKitInput("Remind me to buy eggs tomorrow at 3pm")))
	m := userMessage.FindStringSubmatch(first)
	if m == nil || !strings.Contains(cases[0].text, "buy eggs") || !strings.Contains(first, `"title":"Called create_todo on todo"`) {
		t.Fatalf("the first turn is\n%s", first)
	}
	thread := `"thread_id":"` + m[2] + `"`
	chatKitOK(r, &cases, chatKitRequest("threads.add_user_message", thread+","+chatKitInput("what is on my list?")))
	again := chatKitOK(r, &cases, chatKitRequest("threads.retry_after_item", thread+`,"item_id":"`+m[1]+`"`))
	if strings.Contains(again, "user_message") || !strings.Contains(cases[2].text, "buy eggs") {
		t.Errorf("the retry is\n%s", again)
	}
	chatKitOK(r, &cases, chatKitRequest("threads.list", ""))
	chatKitOK(r, &cases, chatKitRequest("threads.get_by_id", thread))
	chatKitOK(r, &cases, chatKitRequest("items.list", thread))
	chatKitOK(r, &cases, chatKitRequest("threads.delete", thread))
	chatKitOK(r, &cases, chatKitRequest("items.feedback", thread+`,"item_ids":["`+m[1]+`"],"kind":"positive"`))
	line := r.Log.Await(t, "feedback_received", r.Ended, "kind", "positive", "item_ids", "["+m[1]+"]")
	if line.Fields["user_id"] != "ann" || line.Fields["conversation_id"] != m[2] || !strings.HasPrefix(fmt.Sprint(line.Fields["request_id"]), "req_") {
		t.Errorf("feedback is logged as %s", line.Raw)
	}
	if n := len(r.Log.All("request_completed")); n != 3 {
		t.Errorf("%d turns are logged, want 3", n)
	}
	wantChatKitProblems(r, m[2])
	t.Run("judge", func(t *testing.T) { judgeChatKit(t, cases) })
}

// wantChatKitProblems checks how requests are refused: as everywhere in the gateway.
func wantChatKitProblems(r *gatewaytest.Running, thread string) {
	r.T.Helper()
	for _, tt := range []struct {
		body   string
		status int
		want   string
	}{
		{chatKitRequest("threads.update", `"thread_id":"`+thread+`","title":"x"`), 404, `SLUICE_CHATKIT_HISTORY=memory switches it on`},
		{chatKitRequest("threads.retry_after_item", `"thread_id":"`+thread+`","item_id":"msg_x"`), 404, `send it again`},
		{chatKitRequest("input.transcribe", ""), 422, `{"field":"/type","code":"unsupported",`},
		{chatKitRequest("threads.add_user_message", `"thread_id":"thr_1",`+chatKitInput(" ")), 422, `[{"field":"/params/thread_id","code":"invalid_format",`},
		{`{"type":"threads.list","type":""}`, 422, `{"field":"/type","code":"duplicate_key",`},
		{"x", 422, `"code":"invalid_json"`},
	} {
		status, reply := postChatKit(r, tt.body)
		if status != tt.status || !strings.Contains(reply, tt.want) || !strings.Contains(reply, `"request_id":"req_`) {
			r.T.Errorf("%s: status %d: %s", tt.body, status, reply)
		}
	}
}

// The same with history: threads are listed, and what was said to a client that left
// is in them. If they are in a store, another gateway continues with them.
func TestChatKitWithHistory(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		variable string
		value    func(*testing.T) string
		gateways int
	}{
		"this process":    {"SLUICE_CHATKIT_HISTORY", func(*testing.T) string { return "memory" }, 1},
		"store in memory": {"SLUICE_STORE", func(*testing.T) string { return "memory" }, 1},
		"two gateways":    {"SLUICE_STORE", wholetest.StartRedis, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testChatKitWithHistory(t, tt.gateways, tt.variable, tt.value(t))
		})
	}
}

func testChatKitWithHistory(t *testing.T, gateways int, keep ...string) {
	gemini := gatewaytest.Scripted(t, "thought **Greeting**\ntext \"Hello \"\ntext Ann.\nfinish STOP\n---\ntext \"Half \"\ndelay 1h\ntext a\nfinish STOP")
	env := gemini.Env(append(keep, "SLUICE_MODEL_TIMEOUT", "2h", "SLUICE_REQUEST_TIMEOUT", "3h")...)
	r := wholetest.Listen(t, env)
	var cases []chatKitCase
	m := userMessage.FindStringSubmatch(chatKitOK(r, &cases, chatKitRequest("threads.create", chatKitInput("hi"))))
	if gateways == 2 {
		r = wholetest.Listen(t, env)
	}
	thread := `"thread_id":"` + m[2] + `"`
	cases = append(cases, leaveHalfWay(r, chatKitRequest("threads.add_user_message", thread+","+chatKitInput("go on"))))
	list := chatKitRequest("items.list", thread+`,"order":"asc"`)
	awaitItem(r, list, `"text":"Half "`)
	items := chatKitOK(r, &cases, list)
	for _, text := range []string{`"text":"hi"`, `"title":"Greeting"`, `"text":"Hello Ann."`, `"text":"go on"`, `"text":"Half "`} {
		before, after, ok := strings.Cut(items, text)
		if !ok {
			t.Errorf("no %s, or not in this order, in\n%s", text, before)
		}
		items = after
	}
	if threads := chatKitOK(r, &cases, chatKitRequest("threads.list", `"limit":1`)); !strings.Contains(threads, m[2]) || !strings.Contains(threads, `"title":"hi"`) {
		t.Errorf("the list is %s", threads)
	}
	chatKitOK(r, &cases, chatKitRequest("threads.update", thread+`,"title":"Greetings"`))
	chatKitOK(r, &cases, chatKitRequest("threads.get_by_id", thread))
	foreign := strings.Replace(chatKitRequest("threads.get_by_id", thread), "ann", "bob", 1)
	if status, reply := postChatKit(r, foreign); status != http.StatusNotFound {
		t.Errorf("another user gets %d: %s", status, reply)
	}
	chatKitOK(r, &cases, chatKitRequest("threads.delete", thread))
	if status, _ := postChatKit(r, chatKitRequest("items.list", thread)); status != http.StatusNotFound {
		t.Errorf("status %d for a thread that was deleted", status)
	}
	t.Run("judge", func(t *testing.T) { judgeChatKit(t, cases) })
}

// leaveHalfWay reads a stream up to its first delta, leaves, and waits until the
// gateway has noticed.
func leaveHalfWay(r *gatewaytest.Running, body string) chatKitCase {
	r.T.Helper()
	resp, err := r.Client.Post(r.Base+"/chatkit", "application/json", strings.NewReader(body))
	if err != nil {
		r.T.Fatal(err)
	}
	defer resp.Body.Close()
	var seen []byte
	for buf := make([]byte, 1<<10); !strings.Contains(string(seen), "text_delta"); {
		n, err := resp.Body.Read(buf)
		if seen = append(seen, buf[:n]...); err != nil {
			r.T.Fatalf("%v after %s", err, seen)
		}
	}
	_ = resp.Body.Close()
	r.Log.Await(r.T, "request_completed", r.Ended, "finish_reason", "cancelled")
	return chatKitCase{Name: "left", Kind: "stream", Body: string(seen[:strings.LastIndex(string(seen), "\n\n")+2]), Cut: true}
}

// awaitItem waits until a list holds a text: what was said to a client that left is
// kept when its turn is wound up.
func awaitItem(r *gatewaytest.Running, list, text string) {
	r.T.Helper()
	testnet.Eventually(r.T, text+" is kept", func() bool {
		_, items := postChatKit(r, list)
		return strings.Contains(items, text)
	})
}
