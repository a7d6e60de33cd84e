package ask

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/app/gateway/gatewaytest"
	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/turn/chat"
)

// Each line is a turn, and the model is shown what was said before.
func TestConverse(t *testing.T) {
	t.Parallel()
	api := gatewaytest.Scripted(t, "text \"It is \"\ntext noted.\nfinish STOP\n---\ntext Done.\nfinish STOP")
	d := deskAt(wholetest.Listen(t, api.Env()).Base, "buy eggs\n\n \t\r\nmark it as done\r\n")
	d.want(t, "two lines", d.Converse(t.Context(), Message{}), Succeeded, "\nIt is noted.\n", "")
	if strings.Count(d.out.String(), "model gemini-flash-latest\n") != 2 || !strings.Contains(d.out.String(), "\nDone.\n") {
		t.Errorf("stdout:\n%s", d.out.String())
	}
	if diff := cmp.Diff([]string{"user: buy eggs", "model: It is noted.", "user: mark it as done"}, gatewaytest.ShownTo(t, api, 1)); diff != "" {
		t.Errorf("the second request (-want +got):\n%s", diff)
	}
}

// The first message may be given; the outcome is that of the last turn, and a turn that
// fails does not end the conversation. What was said of it is sent too.
func TestConversationGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	api := gatewaytest.Scripted(t, "text One.\nfinish STOP\n---\nerror 400 broken\n---\ntext \"Half \"\ncut\n---\ntext Four.\nfinish STOP")
	d := deskAt(wholetest.Listen(t, api.Env()).Base, "two\nthree\nfour")
	d.Raw = true
	d.want(t, "four messages", d.Converse(t.Context(), Message{Text: "one"}), Succeeded, "", "")
	if strings.Count(d.out.String(), `"event":"done"`) != 4 {
		t.Errorf("stdout:\n%s", d.out.String())
	}
	want := []string{"user: one", "model: One.", "user: three", "model: Half ", "user: four"}
	if diff := cmp.Diff(want, gatewaytest.ShownTo(t, api, 3)); diff != "" {
		t.Errorf("the last request (-want +got):\n%s", diff)
	}
	api = gatewaytest.Scripted(t, "text One.\nfinish STOP\n---\nerror 400 broken")
	d = deskAt(wholetest.Listen(t, api.Env()).Base, "one\ntwo\n")
	d.want(t, "a last turn that fails", d.Converse(t.Context(), Message{}), failed, "(model_error)\n", "")
}

func TestConversationEnds(t *testing.T) {
	t.Parallel()
	silent := gatewayThatSays(t, "")
	for _, tt := range []struct {
		name, stdin, says string
		outcome           Outcome
	}{
		{"nothing on stdin", "", "", Succeeded},
		{"blank lines", "\n \n", "", Succeeded},
		{"a broken stream", "hi\n", "the stream broke before done", failed},
		{"no UTF-8", "\xff\n", "UTF-8", failed},
		{"an endless line", strings.Repeat("x", 2<<20), "longer than 1 MiB", failed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := deskAt(silent, tt.stdin)
			d.want(t, tt.name, d.Converse(t.Context(), Message{}), tt.outcome, "", tt.says)
			if d.out.String() != "" {
				t.Errorf("stdout %q", d.out.String())
			}
		})
	}
}

// A person is shown where to write; a script is not.
func TestPrompt(t *testing.T) {
	t.Parallel()
	d := deskAt(gatewayThatSays(t, everyFrame), "")
	d.Stdin = keyboard{strings.NewReader("hi\n")}
	d.want(t, "at a terminal", d.Converse(t.Context(), Message{}), Succeeded, "Done.", "\n> \n> ")
}

// The end of a context ends a conversation that waits for its next line.
func TestConversationIsInterrupted(t *testing.T) {
	t.Parallel()
	stdin, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := deskAt("http://127.0.0.1:1", "")
	d.Stdin = stdin
	d.want(t, "no line", d.Converse(ctx, Message{}), failed, "", "context canceled")
}

// All turns of a conversation have one id, which no other conversation has.
func TestConversationHasAnID(t *testing.T) {
	t.Parallel()
	ids := make(chan string, 4)
	base := gatewaytest.ServeHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), `"conversation_id":"`)
		id, _, _ := strings.Cut(rest, `"`)
		ids <- id
	}))
	for range 2 {
		deskAt(base, "one\ntwo\n").Converse(t.Context(), Message{})
	}
	a, b, c := <-ids, <-ids, <-ids
	if a != b || a == c || !strings.HasPrefix(a, "conv_") {
		t.Errorf("got %s and %s, then %s", a, b, c)
	}
}

// What is kept is one exchange more than the model is shown: a gateway that leaves
// nothing out has been sent everything.
func TestConversationIsBounded(t *testing.T) {
	t.Parallel()
	for size, turns := range map[int]int{1: 60, 1_000: 60, 20_000: 8, 40_000: 8} {
		var c conversation
		var all []chat.HistoryMessage
		for i := range turns {
			c.Input = strings.Repeat("ж", size)
			answer := fmt.Sprint(i, strings.Repeat("é", size))
			all = append(all, chat.HistoryMessage{Role: chat.RoleUser, Text: c.Input}, chat.HistoryMessage{Role: chat.RoleModel, Text: answer})
			c.addTurn(answer)
			sent := make([]chat.HistoryMessage, len(c.History))
			for i, s := range c.History {
				sent[i] = chat.HistoryMessage{Role: chat.RoleModel, Text: s.Content}
				if s.Role == "user" {
					sent[i].Role = chat.RoleUser
				}
			}
			if len(sent) > 0 && sent[0].Role != chat.RoleUser {
				t.Fatalf("turn %d of %d: half an exchange is sent", i, size)
			}
			want, whole := chat.PruneHistory(all)
			got, p := chat.PruneHistory(sent)
			if diff := cmp.Diff(want, got); diff != "" || p.Dropped > whole.Dropped || len(sent) > maxMessages+2 {
				t.Fatalf("turn %d of %d: %d messages are kept, %+v", i, size, len(sent), p)
			}
		}
	}
	var c conversation
	c.Input = "hi"
	if c.addTurn(" \n"); c.History != nil {
		t.Errorf("a turn without an answer is kept: %+v", c.History)
	}
}
