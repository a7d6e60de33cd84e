package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/chat"
	"sluice/internal/gateway/gatewaytest"
)

// shownTo returns the conversation that request n to Gemini holds, "role: text".
func shownTo(t *testing.T, api *gatewaytest.FakeGemini, n int) (list []string) {
	t.Helper()
	requests := api.Requests()
	if n >= len(requests) {
		t.Fatalf("%d requests, want one more", len(requests))
	}
	var body struct {
		Contents []struct {
			Role  string
			Parts []struct{ Text string }
		}
	}
	if err := json.Unmarshal(requests[n].Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, c := range body.Contents {
		list = append(list, c.Role+": "+c.Parts[0].Text)
	}
	return list
}

const twoAnswers = "text \"It is \"\ntext noted.\nfinish STOP\n---\ntext Done.\nfinish STOP"

// The model is shown what a request says was said before, whichever driver speaks to it.
func TestHistoryReachesTheModel(t *testing.T) {
	t.Parallel()
	const exchange = `{"role":"user","content":"buy\u0000 eggs"},{"role":"assistant","content":"It is noted."}`
	for _, driver := range []string{"rest", "sdk"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			api := scripted(t, twoAnswers)
			r := start(t, api.env("GEMINI_DRIVER", driver))
			for n, tt := range []struct {
				history string
				want    []string
			}{
				{exchange, []string{"user: buy eggs", "model: It is noted.", "user: mark it as done"}},
				{exchange + `,{"role":"user","content":"wait"}`, []string{"user: buy eggs", "model: It is noted.", "user: wait\n\nmark it as done"}},
			} {
				resp, err := r.client.Post(r.base+"/chat/stream", "application/json", strings.NewReader(`{"input":"mark it as done","history":[`+tt.history+`]}`))
				if err != nil {
					t.Fatal(err)
				}
				stream, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || !strings.Contains(string(stream), `"success":true`) {
					t.Errorf("%v: %s", err, stream)
				}
				if diff := cmp.Diff(tt.want, shownTo(t, api, n)); diff != "" {
					t.Errorf("request %d (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

// The model is shown what was said in a thread before, if threads are kept.
func TestChatKitThreadReachesTheModel(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string][]string{
		"memory": {"user: buy eggs", "model: It is noted.", "user: mark it as done"},
		"none":   {"user: mark it as done"},
	} {
		t.Run(kept, func(t *testing.T) {
			t.Parallel()
			api := gatewaytest.Scripted(t, twoAnswers)
			r := start(t, api.Env("SLUICE_CHATKIT_HISTORY", kept))
			var cases []chatKitCase
			m := userMessage.FindStringSubmatch(chatKitOK(r, &cases, chatKitRequest("threads.create", chatKitInput("buy eggs"))))
			chatKitOK(r, &cases, chatKitRequest("threads.add_user_message", `"thread_id":"`+m[2]+`",`+chatKitInput("mark it as done")))
			if diff := cmp.Diff(want, shownTo(t, api, 1)); diff != "" {
				t.Errorf("the second request (-want +got):\n%s", diff)
			}
		})
	}
}

// chatting runs ask --chat with lines for stdin.
func chatting(t *testing.T, env map[string]string, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs safeBuffer
	code = run(t.Context(), append([]string{"ask", "--chat"}, args...), program{
		stdin: stdin, stdout: &out, stderr: &errs,
		lookup: lookupIn(withDefaults(t, env)), readFile: os.ReadFile,
	})
	return code, out.String(), errs.String()
}

// Each line is a turn, and the model is shown what was said before.
func TestAskChat(t *testing.T) {
	t.Parallel()
	api := scripted(t, twoAnswers)
	code, stdout, stderr := chatting(t, api.env(), strings.NewReader("buy eggs\n\n \t\r\nmark it as done\r\n"))
	const want = `model gemini-flash-latest

It is noted.

stop · # tokens in, # out, # thinking · # · #
model gemini-flash-latest

Done.

stop · # tokens in, # out, # thinking · # · #
`
	got := regexp.MustCompile(`\d+ (tokens in|out|thinking)`).ReplaceAllString(changing.ReplaceAllString(stdout, "#"), "# $1")
	if diff := cmp.Diff(want, got); diff != "" || code != exitOK || stderr != "" {
		t.Errorf("exit code %d, stderr %q, stdout (-want +got):\n%s", code, stderr, diff)
	}
	if diff := cmp.Diff([]string{"user: buy eggs", "model: It is noted.", "user: mark it as done"}, shownTo(t, api, 1)); diff != "" {
		t.Errorf("the second request (-want +got):\n%s", diff)
	}
}

// The argument is the first message; the exit code is that of the last turn, and a turn
// that fails does not end the conversation. What was said of it is kept.
func TestAskChatGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	api := scripted(t, "text One.\nfinish STOP\n---\nerror 400 broken\n---\ntext \"Half \"\ncut\n---\ntext Four.\nfinish STOP")
	code, stdout, stderr := chatting(t, api.env(), strings.NewReader("two\nthree\nfour"), "one", "--json")
	if code != exitOK || stderr != "" || strings.Count(stdout, `"event":"done"`) != 4 {
		t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
	}
	want := []string{"user: one", "model: One.", "user: three", "model: Half ", "user: four"}
	if diff := cmp.Diff(want, shownTo(t, api, 3)); diff != "" {
		t.Errorf("the last request (-want +got):\n%s", diff)
	}
	api = scripted(t, "text One.\nfinish STOP\n---\nerror 400 broken")
	if code, _, _ := chatting(t, api.env(), strings.NewReader("one\ntwo\n")); code != exitFailed {
		t.Errorf("exit code %d after a last turn that failed", code)
	}
}

func TestAskChatEnds(t *testing.T) {
	t.Parallel()
	silent := gatewayThatSays(t, "")
	for _, tt := range []struct {
		name, stdin, says string
		code              int
	}{
		{"nothing on stdin", "", "", exitOK},
		{"blank lines", "\n \n", "", exitOK},
		{"a broken stream", "hi\n", "the stream broke before done", exitFailed},
		{"no UTF-8", "\xff\n", "UTF-8", exitFailed},
		{"an endless line", strings.Repeat("x", 2<<20), "longer than 1 MiB", exitFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := chatting(t, nil, strings.NewReader(tt.stdin), "--url", silent)
			if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.says) || (tt.says == "") != (stderr == "") {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
		})
	}
}

// A signal ends a conversation that waits for its next line.
func TestAskChatInterrupted(t *testing.T) {
	t.Parallel()
	stdin, typing := io.Pipe()
	defer typing.Close()
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	var stdout, stderr safeBuffer
	code := run(t.Context(), []string{"ask", "--chat", "--url", "http://127.0.0.1:1"}, program{
		stdin: stdin, stdout: &stdout, stderr: &stderr,
		lookup: lookupIn(withDefaults(t, nil)), readFile: os.ReadFile, signals: signals,
	})
	if code != exitFailed || !strings.Contains(stderr.String(), "context canceled") {
		t.Errorf("exit code %d, stderr %q", code, stderr.String())
	}
}

// What is kept is one exchange more than the model is shown: a gateway that leaves
// nothing out has been sent everything.
func TestConversationIsBounded(t *testing.T) {
	t.Parallel()
	for size, turns := range map[int]int{1: 60, 1_000: 60, 20_000: 8, 40_000: 8} {
		var c conversation
		var all []chat.Said
		for i := range turns {
			c.Input = strings.Repeat("ж", size)
			answer := fmt.Sprint(i, strings.Repeat("é", size))
			all = append(all, chat.Said{Role: chat.RoleUser, Text: c.Input}, chat.Said{Role: chat.RoleModel, Text: answer})
			c.answered(answer)
			sent := make([]chat.Said, len(c.History))
			for i, s := range c.History {
				sent[i] = chat.Said{Role: chat.RoleModel, Text: s.Content}
				if s.Role == "user" {
					sent[i].Role = chat.RoleUser
				}
			}
			want, whole := chat.PruneHistory(all)
			got, p := chat.PruneHistory(sent)
			if diff := cmp.Diff(want, got); diff != "" || (p.Dropped > 0) != (whole.Dropped > 0) || len(sent) > keptMessages+2 {
				t.Fatalf("turn %d of %d: %d messages are kept, %+v", i, size, len(sent), p)
			}
		}
	}
	var c conversation
	c.Input = "hi"
	if c.answered(" \n"); c.History != nil {
		t.Errorf("a turn without an answer is kept: %+v", c.History)
	}
}
