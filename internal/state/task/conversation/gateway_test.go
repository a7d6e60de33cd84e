package conversation_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
)

// A turn is shown what was said before in its conversation, on any gateway; the agent
// that made calls is shown them, with their results and signatures, and the others a line
// each.
func TestConversationIsRemembered(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		model := f.House(wholetest.Remembered)
		one, two := f.Gateway(nil), f.Gateway(nil)
		first := one.RunTurn(t, wholetest.Input("Turn on the kitchen lights", wholetest.OfAnn))
		from := len(model.All())
		two.RunTurn(t, wholetest.Input("Turn off the kitchen lights", wholetest.OfAnn))
		all := model.All()[from:]
		if want := `Earlier in the conversation:\nUser: Turn on the kitchen lights\nAssistant: ` + first.Final; !strings.Contains(all[0], want) {
			t.Errorf("the router was asked\n%s", all[0])
		}
		want := "user: Turn on the kitchen lights|model: call set_light signed|user: result set_light|model: " + first.Final + "|user: Turn off the kitchen lights"
		if got := wholetest.ContentsOf(t, all[1]); got != want {
			t.Errorf("the agent got\n%s\nwant\n%s", got, want)
		}
		from = len(model.All())
		two.RunTurn(t, wholetest.Input("Play some jazz music", wholetest.OfAnn))
		got := wholetest.ContentsOf(t, model.All()[from+1])
		if !strings.Contains(got, `|model: [Earlier call: set_light {`) || !strings.Contains(got, "]\n\n"+first.Final+"|") || strings.Contains(got, "call set_light signed") {
			t.Errorf("another agent got\n%s", got)
		}
		for name, body := range map[string]string{
			"another conversation": wholetest.Input("Play some jazz music", `,"conversation_id":"conv_2","user_id":"ann"`),
			"another user":         wholetest.Input("Play some jazz music", `,"conversation_id":"conv_1","user_id":"bob"`),
			"no conversation":      wholetest.Input("Play some jazz music", `,"user_id":"ann"`),
		} {
			from := len(model.All())
			one.RunTurn(t, body)
			if got := wholetest.ContentsOf(t, model.All()[from+1]); got != "user: Play some jazz music" {
				t.Errorf("%s: the agent got\n%s", name, got)
			}
		}
	})
}

// The built-in agent remembers as a team does.
func TestLoneAgentRemembers(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		model := f.House("")
		f.File = wholetest.Remembered
		one := f.Gateway(map[string]string{"SLUICE_TODO_DB": ":memory:"})
		one.RunTurn(t, wholetest.Input("Remind me to buy eggs", wholetest.OfAnn))
		from := len(model.All())
		one.RunTurn(t, wholetest.Input("Show my list", wholetest.OfAnn))
		if got := wholetest.ContentsOf(t, model.All()[from]); !strings.HasPrefix(got, "user: Remind me to buy eggs|model: call create_todo signed|user: result create_todo|model: ") || !strings.HasSuffix(got, "|user: Show my list") {
			t.Errorf("the model got\n%s", got)
		}
		from = len(model.All())
		_, _ = one.Ask(t, http.MethodPost, "/chatkit", `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":"Show my list"}],"attachments":[],"inference_options":{}}}}`)
		if got := wholetest.ContentsOf(t, model.All()[from]); got != "user: Show my list" {
			t.Errorf("in a thread of its own the model got\n%s", got)
		}
	})
}

// A request with a history of its own, be it empty, neither reads the memory nor adds to it.
func TestOwnHistoryIsNotRemembered(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		model := f.House(wholetest.Remembered)
		one := f.Gateway(nil)
		one.RunTurn(t, wholetest.Input("Turn on the kitchen lights", wholetest.OfAnn))
		for history, want := range map[string]string{
			`[]`: "user: Play some jazz music",
			`[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`: "user: a|model: b|user: Play some jazz music",
		} {
			from := len(model.All())
			one.RunTurn(t, wholetest.Input("Play some jazz music", wholetest.OfAnn+`,"history":`+history))
			if got := wholetest.ContentsOf(t, model.All()[from+1]); got != want {
				t.Errorf("%s: the agent got\n%s", history, got)
			}
		}
		from := len(model.All())
		one.RunTurn(t, wholetest.Input("Pause the music", wholetest.OfAnn+`,"history":null`))
		if got := wholetest.ContentsOf(t, model.All()[from+1]); !strings.Contains(got, "kitchen lights") || strings.Contains(got, "jazz") {
			t.Errorf("the agent got\n%s", got)
		}
	})
}

// What a reply answers is not shown twice.
func TestReplyInARememberedConversation(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		model := f.House(wholetest.Remembered)
		one, two := f.Gateway(nil), f.Gateway(nil)
		one.RunTurn(t, wholetest.Input("Turn on the kitchen lights", wholetest.OfAnn))
		asked := one.RunTurn(t, wholetest.Input("Make it cozy", wholetest.OfAnn))
		from := len(model.All())
		two.RunTurn(t, wholetest.Input("with some jazz music", wholetest.OfAnn))
		all := model.All()[from:]
		if !strings.Contains(all[0], "User: Turn on the kitchen lights") || strings.Contains(all[0], "User: Make it cozy") || strings.Count(all[0], "Make it cozy") != 1 {
			t.Errorf("the router was asked\n%s", all[0])
		}
		if got := wholetest.ContentsOf(t, all[1]); !strings.HasSuffix(got, "|user: Make it cozy|model: "+asked.Final+"|user: with some jazz music") || strings.Count(got, "Make it cozy") != 1 {
			t.Errorf("the agent got\n%s", got)
		}
	})
}

// breaking is a store whose lists are unavailable now and then.
type breaking struct {
	store.Store
	reads, writes bool // fail
}

func (b *breaking) List(ctx context.Context, key string, from, limit int) ([][]byte, error) {
	if b.reads {
		return nil, store.ErrUnavailable
	}
	return b.Store.List(ctx, key, from, limit)
}

func (b *breaking) PushList(ctx context.Context, key string, item []byte, bounds store.Bounds, ttl time.Duration) error {
	if b.writes {
		return store.ErrUnavailable
	}
	return b.Store.PushList(ctx, key, item, bounds, ttl)
}

// A memory that cannot be read or written is reported, and the turn continues.
func TestMemoryUnavailable(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.House(wholetest.Remembered)
		broken := &breaking{Store: f.Store}
		f.Store = broken
		one := f.Gateway(nil)
		for _, fail := range []struct{ reads, writes bool }{{true, false}, {false, true}} {
			broken.reads, broken.writes = fail.reads, fail.writes
			got := one.RunTurn(t, wholetest.Input("Turn on the kitchen lights", wholetest.OfAnn))
			if strings.Join(got.Errors, " ") != "(store_unavailable)" || got.Reason != "stop" || got.Agent != "light-agent" {
				t.Errorf("%+v: %+v", fail, got)
			}
		}
	})
}

// DELETE forgets all of a user's conversation: it cancels what runs, on whatever gateway,
// and nothing of that is remembered either.
func TestConversationIsForgotten(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.File = wholetest.Remembered
		one, two := f.Gateway(nil), f.Gateway(nil)
		one.RunTurn(t, wholetest.Created)
		key := store.MemoryKey("", "ann", "conv_1")
		kept := func() int {
			items, err := f.Store.List(t.Context(), key, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			return len(items)
		}
		if n := kept(); n != 1 {
			t.Fatalf("%d turns are remembered", n)
		}
		running := one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created)
		_, task, _ := wholetest.StartOf(t, running)
		if status, _ := two.Ask(t, http.MethodDelete, "/conversations/conv_1?user_id=bob", ""); status != http.StatusNoContent || kept() != 1 {
			t.Errorf("another's: %d", status)
		}
		if status, body := two.Ask(t, http.MethodDelete, "/conversations/conv_1?user_id=ann", ""); status != http.StatusNoContent || body != "" {
			t.Errorf("%d %s", status, body)
		}
		if n := kept(); n != 0 {
			t.Errorf("%d turns are remembered after that", n)
		}
		rest, err := io.ReadAll(running.Body)
		if err != nil || !strings.Contains(string(rest), `"error_type":"cancelled"`) || !strings.Contains(string(rest), `"finish_reason":"cancelled"`) {
			t.Errorf("%v: the turn ended with\n%s", err, rest)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if status, _ := two.Ask(t, http.MethodGet, "/tasks/"+task, ""); status != http.StatusNotFound || kept() != 0 {
			t.Errorf("its task: %d; %d turns are remembered", status, kept())
		}
		if next := two.RunTurn(t, wholetest.Created); next.Task == task || kept() != 1 {
			t.Errorf("it does not begin again: %+v", next)
		}
	})
}

// A turn without an answer leaves a line in its place.
func TestTurnWithoutAnAnswerIsRemembered(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.File = wholetest.Remembered
		one := f.Gateway(nil)
		_, task, _ := wholetest.StartOf(t, one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created))
		_, _ = one.Ask(t, http.MethodPost, "/tasks/"+task+"/cancel", "")
		synctest.Wait()
		ctx, leave := context.WithCancel(t.Context())
		wholetest.StartOf(t, one.Send(t, ctx, http.MethodPost, "/chat/stream", strings.Replace(wholetest.Created, "}", `,"on_disconnect":"cancel"}`, 1)))
		leave()
		synctest.Wait()
		items, err := f.Store.List(t.Context(), store.MemoryKey("", "ann", "conv_1"), 0, 0)
		want := []string{`{"v":1,"at":"Now it is Saturday, 2000-01-01, 00:00 in the time zone UTC (UTC+00:00).","shown":1,"input":"hi","answer":"[No complete answer: the turn was cancelled.]"}`, `{"v":1,"at":"Now it is Saturday, 2000-01-01, 00:00 in the time zone UTC (UTC+00:00).","shown":2,"input":"hi","answer":"[No complete answer: the user left.]"}`}
		if err != nil || len(items) != 2 || string(items[0]) != want[0] || string(items[1]) != want[1] {
			t.Errorf("%v: %s", err, items)
		}
	})
}
