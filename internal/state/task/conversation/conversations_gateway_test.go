package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/app/gateway/wholetest"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// journalled is the section of a file by which conversations are kept and remembered.
const journalled = "\nmemory: {enabled: true}\nconversations: {enabled: true}\na2a: {enabled: true}\n"

// seen is what a client gets of a conversation.
type seen struct {
	ID, Title, Head, UpdatedAt string
	Turns                      int
	Truncated                  bool
	Running                    []struct{ TurnID, TaskID, State string }
	Waiting                    []struct {
		ID    string `json:"approval_id"`
		Token string
	}
	Messages []struct {
		MessageID    string `json:"message_id"`
		Role         string
		Content      string
		At           string
		TurnID       string `json:"turn_id"`
		TaskID       string `json:"task_id"`
		After        string
		Siblings     []string
		FinishReason string `json:"finish_reason"`
		Tools        []string
	}
	Next          string `json:"next_cursor"`
	Conversations []seen
}

// see reads a conversation or a list.
func see(t *testing.T, p wholetest.Peer, path string, headers ...string) (got seen) {
	t.Helper()
	status, body := p.Ask(t, http.MethodGet, path, "", headers...)
	if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil {
		t.Fatalf("%s: %d %v %s", path, status, err, body)
	}
	return got
}

// texts returns the roles and texts of messages.
func (s *seen) texts() string {
	var all []string
	for _, m := range s.Messages {
		all = append(all, m.Role+": "+m.Content)
	}
	return strings.Join(all, "|")
}

// speaks answers each input with itself.
type speaks struct{ shown *[]string }

func (s speaks) Run(_ context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	line := ""
	for _, m := range req.History {
		line += string(m.Role) + ": " + m.Text() + "|"
	}
	*s.shown = append(*s.shown, line)
	if req.Input == "panic" {
		panic("on purpose")
	}
	err := sink.Emit(&stream.Delta{Text: "re " + req.Input})
	return stream.Result{Reason: stream.Stop}, err
}

// conversing starts a fleet whose gateways keep conversations, on an agent that repeats its input.
func conversing(f *wholetest.Fleet) *[]string {
	shown := new([]string)
	f.File, f.Runner = journalled, speaks{shown}
	return shown
}

const ofAnn = "/conversations/conv_1?user_id=ann"

// A conversation is read in pages, found by its title, renamed, and nobody else's.
func TestConversationIsRead(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		conversing(f)
		one, two := f.Gateway(nil), f.Gateway(nil)
		for n := range 5 {
			one.RunTurn(t, wholetest.Input(fmt.Sprint("Straße ", n, "\nmore"), wholetest.OfAnn))
			time.Sleep(time.Second)
		}
		all := see(t, two, ofAnn)
		if all.ID != "conv_1" || all.Title != "Straße 0" || all.Turns != 5 || len(all.Messages) != 10 || all.Next != "" || all.Truncated {
			t.Errorf("%+v", all)
		}
		if len(all.Running) != 0 || all.Running == nil || all.Waiting == nil || all.Head != all.Messages[9].TurnID {
			t.Errorf("%+v", all)
		}
		first, last := all.Messages[0], all.Messages[9]
		if first.MessageID != first.TurnID+":user" || first.After != "start" || last.MessageID != last.TurnID+":assistant" || last.After != all.Messages[7].TurnID ||
			last.FinishReason != "stop" || last.TaskID == "" || first.Siblings != nil || last.Content != "re Straße 4\nmore" {
			t.Errorf("%+v %+v", first, last)
		}
		var pages []string
		for cursor := ""; ; {
			page := see(t, two, ofAnn+"&limit=2&cursor="+cursor)
			pages = append([]string{page.texts()}, pages...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if got := strings.Join(pages, "|"); got != all.texts() || len(pages) != 3 {
			t.Errorf("%d pages: %s", len(pages), got)
		}
		if line := see(t, two, ofAnn+"&limit=1&line="+all.Messages[4].TurnID); line.texts() != "user: Straße 2\nmore|assistant: re Straße 2\nmore" || line.Next == "" {
			t.Errorf("%+v", line)
		}
		if found := see(t, two, "/conversations?user_id=ann&id=conv_1&id=conv_2&q=STRAßE"); len(found.Conversations) != 1 || found.Conversations[0].Messages != nil {
			t.Errorf("%+v", found)
		}
		if found := see(t, two, "/conversations?user_id=ann&id=conv_1&q=road"); found.Conversations == nil || len(found.Conversations) != 0 {
			t.Errorf("%+v", found)
		}
		patch := func(body, path string) string {
			status, reply := two.Ask(t, http.MethodPatch, path, body, "Content-Type", "application/json")
			var o seen
			_ = json.Unmarshal([]byte(reply), &o)
			return fmt.Sprint(status, " ", o.Title)
		}
		for _, tt := range []struct{ body, path, want string }{
			{`{"title":" A\n title\u202e "}`, ofAnn, "200 A  title"},
			{`{"title":null}`, ofAnn, "200 Straße 0"},
			{`{"title":""}`, ofAnn, "422 "}, {`{"title":7}`, ofAnn, "422 "}, {`{}`, ofAnn, "422 "}, {`[`, ofAnn, "422 "},
			{`{"title":"` + strings.Repeat("ä", 201) + `"}`, ofAnn, "422 "},
			{`{"title":"x"}`, "/conversations/conv_1?user_id=bob", "404 "},
		} {
			if got := patch(tt.body, tt.path); got != tt.want && !(tt.want == "422 " && strings.HasPrefix(got, "422")) && !(tt.want == "404 " && strings.HasPrefix(got, "404")) {
				t.Errorf("%s: %q, want %q", tt.body, got, tt.want)
			}
		}
		for path, want := range map[string]int{
			"/conversations/conv_1?user_id=bob": 404, "/conversations/conv_2?user_id=ann": 404, "/conversations/x": 404,
			"/conversations?user_id=ann": 422, "/conversations?user_id=ann&id=x": 422, "/conversations?user_id=ann&id=conv_1&q=": 422,
			"/conversations?user_id=ann&id=conv_1&q=" + strings.Repeat("a", 101): 422, "/conversations?user_id=ann&id=conv_1&limit=0": 422,
			"/conversations?user_id=ann&id=conv_1&cursor=x": 422, "/conversations?" + strings.Repeat("id=conv_1&", 51): 422,
			ofAnn + "&limit=101": 422, ofAnn + "&cursor=x": 422, ofAnn + "&line=turn_x": 422,
		} {
			if status, body := two.Ask(t, http.MethodGet, path, ""); status != want {
				t.Errorf("%s: %d %s, want %d", path, status, body, want)
			}
		}
	})
}

// Without the section there is no list of conversations.
func TestConversationsAreOff(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.File = wholetest.Remembered
		one := f.Gateway(nil)
		one.RunTurn(t, wholetest.Created)
		for _, path := range []string{ofAnn, "/conversations?user_id=ann&id=conv_1"} {
			if status, body := one.Ask(t, http.MethodGet, path, ""); status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
		if _, err := f.Store.Value(t.Context(), store.ConversationKey("", "ann", "conv_1")); err == nil {
			t.Error("there is a record")
		}
	})
}

// Of several users each lists the own conversations, the last turn first; an inspector reads those of
// the tenant; and an anonymous sender has none.
func TestConversationsAreOfTheirUsers(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		conversing(f)
		f.Door = wholetest.Door{}
		one := f.Gateway(nil)
		run := func(who, id string) {
			t.Helper()
			status, body := one.Ask(t, http.MethodPost, "/chat/stream", `{"input":"of `+who+`","conversation_id":"`+id+`"}`, "X-Who", who)
			if status != http.StatusOK || !strings.Contains(body, `"finish_reason":"stop"`) {
				t.Fatalf("%d %s", status, body)
			}
			time.Sleep(time.Second)
		}
		for _, id := range []string{"conv_a", "conv_b", "conv_c", "conv_a"} {
			run("t1/ann", id)
		}
		run("t1/bob", "conv_a")
		run("t2/ann", "conv_a")
		run("t1/", "conv_z")
		var ids []string
		for cursor := ""; ; {
			page := see(t, one, "/conversations?limit=2&cursor="+cursor, "X-Who", "t1/ann")
			for _, c := range page.Conversations {
				ids = append(ids, fmt.Sprint(c.ID, " ", c.Turns, " ", c.Title))
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if got := strings.Join(ids, "|"); got != "conv_a 2 of t1/ann|conv_c 1 of t1/ann|conv_b 1 of t1/ann" {
			t.Error(got)
		}
		if all := see(t, one, "/conversations", "X-Who", "t1/"); len(all.Conversations) != 0 {
			t.Errorf("%+v", all)
		}
		if got := see(t, one, "/conversations/conv_a?user_id=ann", "X-Who", "t1/op", "X-Scopes", "inspect"); got.Title != "of t1/ann" {
			t.Errorf("%+v", got)
		}
		for who, scopes := range map[string]string{"t1/eve": "chat", "t2/op": "inspect", "t1/": "chat"} {
			if status, _ := one.Ask(t, http.MethodGet, "/conversations/conv_b?user_id=ann", "", "X-Who", who, "X-Scopes", scopes); status != http.StatusNotFound && status != http.StatusForbidden {
				t.Errorf("%s: %d", who, status)
			}
		}
	})
}

// A turn that is cancelled, fails or panics keeps the text that was out, and later turns are shown it
// with a marker. A turn that runs is named.
func TestCutTurnsStay(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.File = journalled
		one := f.Gateway(nil)
		running := one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created)
		_, task, turn := wholetest.StartOf(t, running)
		if got := see(t, one, ofAnn); got.Turns != 0 || len(got.Running) != 1 || got.Title != "hi" || got.Messages == nil {
			t.Errorf("%+v", got)
		}
		_, _ = one.Ask(t, http.MethodPost, "/tasks/"+task+"/cancel", "")
		time.Sleep(time.Second)
		synctest.Wait()
		got := see(t, one, ofAnn)
		if len(got.Running) != 0 || got.texts() != "user: hi|assistant: word " || got.Messages[1].FinishReason != "cancelled" || got.Head != turn || got.Messages[1].TaskID != task {
			t.Errorf("%+v", got)
		}
		shown := conversing(f)
		two := f.Gateway(nil)
		_, _ = two.Ask(t, http.MethodPost, "/chat/stream", wholetest.Input("panic", wholetest.OfAnn))
		two.RunTurn(t, wholetest.Input("on", wholetest.OfAnn))
		got = see(t, one, ofAnn)
		if want := "user: hi|assistant: word |user: panic|assistant: |user: on|assistant: re on"; got.texts() != want || got.Messages[3].FinishReason != "error" {
			t.Errorf("%+v", got)
		}
		if want := "user: hi|model: word\n\n[No complete answer: the turn was cancelled.]|user: panic|model: [No complete answer: the turn failed.]|"; (*shown)[1] != want {
			t.Errorf("shown %q", (*shown)[1])
		}
	})
}

// askChatKit sends a request of ChatKit.
func askChatKit(t *testing.T, p wholetest.Peer, kind, params string) string {
	t.Helper()
	status, body := p.Ask(t, http.MethodPost, "/chatkit", `{"type":"`+kind+`","params":`+params+`,"metadata":{"user_id":"ann"}}`)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", kind, status, body)
	}
	return body
}

const said = `{"content":[{"type":"input_text","text":%q}],"attachments":[],"inference_options":{}}`

// A conversation goes on from front end to front end: each shows all of it, and models too.
func TestFrontEndsShareAConversation(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		shown := conversing(f)
		one, two := f.Gateway(nil), f.Gateway(nil)
		one.RunTurn(t, wholetest.Input("native", wholetest.OfAnn))
		askChatKit(t, two, "threads.add_user_message", `{"thread_id":"conv_1","input":`+fmt.Sprintf(said, "kit")+`}`)
		own := `,"history":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`
		two.RunTurn(t, wholetest.Input("own", wholetest.OfAnn+own))
		one.RunTurn(t, wholetest.Input("last", wholetest.OfAnn))
		got := see(t, one, ofAnn)
		if want := "user: native|assistant: re native|user: kit|assistant: re kit|user: own|assistant: re own|user: last|assistant: re last"; got.texts() != want {
			t.Errorf("%s\nwant %s", got.texts(), want)
		}
		if n := len(*shown); !strings.Contains((*shown)[1], "model: re native|") || (*shown)[n-2] != "user: a|model: b|" || strings.Count((*shown)[n-1], "user: ") != got.Turns-1 || strings.Contains((*shown)[n-1], "user: a|") {
			t.Errorf("shown %q", *shown)
		}
		items := askChatKit(t, two, "items.list", `{"thread_id":"conv_1","order":"asc","limit":50}`)
		if turn := got.Messages[0].TurnID; !strings.Contains(items, `"id":"`+turn+`-user"`) || !strings.Contains(items, `"id":"`+turn+`-assistant"`) ||
			strings.Count(items, `"type":"user_message"`) != got.Turns || strings.Count(items, `"type":"assistant_message"`) != got.Turns || !strings.Contains(items, `"id":"msg_`) {
			t.Errorf("%s", items)
		}
		if list := askChatKit(t, two, "threads.list", `{}`); strings.Contains(list, "conv_1") {
			t.Errorf("without authentication a list has what ChatKit did not begin: %s", list)
		}
		begun := askChatKit(t, two, "threads.create", `{"input":`+fmt.Sprintf(said, "in ChatKit")+`}`)
		_, rest, _ := strings.Cut(begun, `"thread":{"title":"in ChatKit","id":"`)
		thread, _, _ := strings.Cut(rest, `"`)
		if got := see(t, one, "/conversations/"+thread+"?user_id=ann"); got.texts() != "user: in ChatKit|assistant: re in ChatKit" || got.Title != "in ChatKit" {
			t.Errorf("%s: %+v", thread, got)
		}
		if list := askChatKit(t, one, "threads.list", `{}`); !strings.Contains(list, thread) {
			t.Errorf("%s", list)
		}
		askChatKit(t, one, "threads.delete", `{"thread_id":"`+thread+`"}`)
		if status, _ := one.Ask(t, http.MethodGet, "/conversations/"+thread+"?user_id=ann", ""); status != http.StatusNotFound {
			t.Errorf("deleted in ChatKit: %d", status)
		}
	})
}

// A conversation that began natively goes on by its contextId, and is read from both sides.
func TestAgentsShareAConversation(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		shown := conversing(f)
		f.Door = wholetest.Door{}
		one, two := f.Gateway(nil), f.Gateway(nil)
		who := []string{"X-Who", "/ann", "A2A-Version", "1.0"}
		_, _ = one.Ask(t, http.MethodPost, "/chat/stream", `{"input":"native","conversation_id":"conv_1"}`, who...)
		status, body := two.Ask(t, http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":"1","method":"SendMessage","params":`+
			wholetest.MessageOf("m1", "by an agent", `,"contextId":"conv_1"`)+`}`, who...)
		if status != http.StatusOK || !strings.Contains(body, "re by an agent") || (*shown)[1] != "user: native|model: re native|" {
			t.Errorf("%d %s; shown %q", status, body, *shown)
		}
		if got := see(t, one, "/conversations/conv_1", who...); got.texts() != "user: native|assistant: re native|user: by an agent|assistant: re by an agent" {
			t.Errorf("%+v", got)
		}
		_, body = one.Ask(t, http.MethodPost, "/a2a", `{"jsonrpc":"2.0","id":"1","method":"ListTasks","params":{"contextId":"conv_1","historyLength":10}}`, who...)
		if !strings.Contains(body, "re native") || !strings.Contains(body, "re by an agent") {
			t.Errorf("%s", body)
		}
	})
}

// A retry of ChatKit is another turn behind the same one: the line has its answer, and the siblings
// name both.
func TestChatKitRetries(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		shown := conversing(f)
		one := f.Gateway(nil)
		for _, input := range []string{"one", "two", "three"} {
			one.RunTurn(t, wholetest.Input(input, wholetest.OfAnn))
		}
		before := see(t, one, ofAnn)
		second := before.Messages[2].TurnID
		askChatKit(t, one, "threads.retry_after_item", `{"thread_id":"conv_1","item_id":"`+second+`-user"}`)
		got := see(t, one, ofAnn)
		if got.texts() != "user: one|assistant: re one|user: two|assistant: re two" || got.Turns != 4 || len(got.Messages[2].Siblings) != 2 || got.Messages[2].Siblings[0] != second {
			t.Errorf("%+v", got)
		}
		if (*shown)[3] != "user: one|model: re one|" {
			t.Errorf("shown %q", *shown)
		}
		if old := see(t, one, ofAnn+"&line="+before.Head); old.texts() != before.texts() {
			t.Errorf("%+v", old)
		}
		one.RunTurn(t, wholetest.Input("four", wholetest.OfAnn))
		if (*shown)[4] != "user: one|model: re one|user: two|model: re two|" {
			t.Errorf("shown %q", *shown)
		}
		items := askChatKit(t, one, "items.list", `{"thread_id":"conv_1","order":"asc","limit":50}`)
		if strings.Contains(items, "three") || strings.Count(items, `"type":"user_message"`) != 3 {
			t.Errorf("%s", items)
		}
	})
}

// A deleted conversation is gone from all views, and what runs of it does not come back.
func TestConversationIsDeleted(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		f.File = journalled
		one := f.Gateway(nil)
		one.RunTurn(t, wholetest.Created)
		wholetest.StartOf(t, one.Send(t, t.Context(), http.MethodPost, "/chat/stream", wholetest.Created))
		for range 2 {
			if status, body := one.Ask(t, http.MethodDelete, ofAnn, ""); status != http.StatusNoContent {
				t.Errorf("%d %s", status, body)
			}
			time.Sleep(20 * time.Second)
			if status, _ := one.Ask(t, http.MethodGet, ofAnn, ""); status != http.StatusNotFound {
				t.Errorf("%d", status)
			}
			for _, key := range []string{store.ConversationTurnsKey("", "ann", "conv_1"), store.ConversationItemsKey("", "ann", "conv_1")} {
				if items, err := f.Store.List(t.Context(), key, 0, 0); err != nil || len(items) > 0 {
					t.Errorf("%s: %v %s", key, err, items)
				}
			}
		}
		if n, err := f.Store.CountIndex(t.Context(), store.ConversationsKey("", "ann")); err != nil || n != 0 {
			t.Errorf("%d listed, %v", n, err)
		}
		one.RunTurn(t, wholetest.Created)
		if got := see(t, one, ofAnn); got.Turns != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// distant is a store that is unavailable now and then.
type distant struct {
	store.Store
	reads, writes atomic.Bool // fail
}

func (d *distant) List(ctx context.Context, key string, from, limit int) ([][]byte, error) {
	if d.reads.Load() {
		return nil, store.ErrUnavailable
	}
	return d.Store.List(ctx, key, from, limit)
}

func (d *distant) PushList(ctx context.Context, key string, item []byte, b store.Bounds, ttl time.Duration) error {
	if d.writes.Load() {
		return store.ErrUnavailable
	}
	return d.Store.PushList(ctx, key, item, b, ttl)
}

// While the store is unavailable a turn runs, and is appended when it answers again; reads get 503.
func TestConversationOutage(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		conversing(f)
		broken := &distant{Store: f.Store}
		f.Store = broken
		one := f.Gateway(nil)
		one.RunTurn(t, wholetest.Input("one", wholetest.OfAnn))
		broken.writes.Store(true)
		if got := one.RunTurn(t, wholetest.Input("two", wholetest.OfAnn)); strings.Join(got.Errors, " ") != "(store_unavailable)" || got.Reason != "stop" {
			t.Errorf("%+v", got)
		}
		broken.writes.Store(false)
		time.Sleep(time.Minute)
		if got := see(t, one, ofAnn); got.texts() != "user: one|assistant: re one|user: two|assistant: re two" {
			t.Errorf("%+v", got)
		}
		broken.reads.Store(true)
		if status, body := one.Ask(t, http.MethodGet, ofAnn, ""); status != http.StatusServiceUnavailable {
			t.Errorf("%d %s", status, body)
		}
	})
}

// A deletion removes the memory and the thread of the time before conversations were kept.
func TestOlderViewsAreDeleted(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		shown := conversing(f)
		f.File = wholetest.Remembered
		before := f.Gateway(nil)
		begun := askChatKit(t, before, "threads.create", `{"input":`+fmt.Sprintf(said, "old")+`}`)
		_, rest, _ := strings.Cut(begun, `"thread":{"title":"old","id":"`)
		thread, _, _ := strings.Cut(rest, `"`)
		before.RunTurn(t, wholetest.Input("old", `,"conversation_id":"`+thread+`","user_id":"ann"`))
		f.File = journalled
		after := f.Gateway(nil)
		after.RunTurn(t, wholetest.Input("new", `,"conversation_id":"`+thread+`","user_id":"ann"`))
		if n := len(*shown); (*shown)[n-1] != "" {
			t.Errorf("shown %q", *shown)
		}
		if status, body := after.Ask(t, http.MethodDelete, "/conversations/"+thread+"?user_id=ann", ""); status != http.StatusNoContent {
			t.Fatalf("%d %s", status, body)
		}
		if _, err := f.Store.Value(t.Context(), store.ThreadKey(thread)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the thread: %v", err)
		}
		for _, key := range []string{store.ThreadItemsKey(thread), store.MemoryKey("", "ann", thread)} {
			if items, err := f.Store.List(t.Context(), key, 0, 0); err != nil || len(items) > 0 {
				t.Errorf("%s: %v %s", key, err, items)
			}
		}
	})
}

// A title, and the words of a search, are escaped as any text.
func TestSearchIsPlainText(t *testing.T) {
	wholetest.InFleet(t, func(t *testing.T, f *wholetest.Fleet) {
		conversing(f)
		one := f.Gateway(nil)
		one.RunTurn(t, wholetest.Input(`100 % of "it" & more`, wholetest.OfAnn))
		if got := see(t, one, "/conversations?user_id=ann&id=conv_1&q="+url.QueryEscape(`% OF "IT" &`)); len(got.Conversations) != 1 {
			t.Errorf("%+v", got)
		}
	})
}
