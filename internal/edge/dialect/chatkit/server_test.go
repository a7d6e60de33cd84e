package chatkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/fault"
	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/stream"
)

var (
	started  = &stream.Start{}
	answered = []stream.Event{started, &stream.Delta{Text: "yes"}, &stream.Done{Reason: stream.Stop}}
)

func request(kind, params, user string) string {
	return fmt.Sprintf(`{"type":%q,"params":{%s},"metadata":{"user_id":%q}}`, kind, params, user)
}

// as adds a user to a body.
func as(user, body string) string {
	return strings.TrimSuffix(body, "}") + `,"metadata":{"user_id":"` + user + `"}}`
}

func retry(thread, message, user string) string {
	return request("threads.retry_after_item", `"thread_id":"`+thread+`","item_id":"`+message+`"`, user)
}

// say runs a turn to its end and returns the thread's id and the message's.
func say(t *testing.T, s *chatkit.Server, body string) (thread, message string) {
	t.Helper()
	frames, x := ask(t, s, body, answered...)
	x.Close()
	c, err := follow(frames, false)
	if err != nil {
		t.Fatal(err)
	}
	return c.items[0].ThreadID, c.items[0].ID
}

// missing returns the text of a 404.
func missing(t *testing.T, s *chatkit.Server, body string) string {
	t.Helper()
	x, err := s.Open(context.Background(), []byte(body))
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Type != fault.NotFound {
		t.Fatalf("%s: want not_found, got %v %v", body, err, x.Reply)
	}
	return f.Message
}

// reply decodes the reply to a request.
func reply[T any](t *testing.T, s *chatkit.Server, body string) (v T) {
	t.Helper()
	b := open(t, s, body).Reply.Body
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return v
}

type thread struct {
	ID    string
	Title string
	Items items
}

type items struct {
	Data    []item
	HasMore bool `json:"has_more"`
	After   string
}

// texts returns what was said, in order.
func (p items) texts() (list []string) {
	for _, it := range p.Data {
		text := it.Type
		if len(it.Content) > 0 {
			text = it.Content[0].Text
		}
		list = append(list, text)
	}
	return list
}

func TestRepliesWithoutHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []chatkit.Feedback
		s := chatkit.New(chatkit.Config{OnFeedback: func(_ context.Context, f chatkit.Feedback) { got = append(got, f) }})
		for _, tt := range []struct{ body, want string }{
			{request("threads.list", `"limit":0`, "ann"), `{"data":[],"has_more":false}`},
			{request("items.list", `"thread_id":"conv_1"`, "ann"), `{"data":[],"has_more":false}`},
			{request("threads.get_by_id", `"thread_id":"conv_1"`, "ann"), `{"id":"conv_1","created_at":"2000-01-01T00:00:00.000Z","status":{"type":"active"},"metadata":{},"items":{"data":[],"has_more":false}}`},
			{request("threads.delete", `"thread_id":"conv_1"`, "ann"), `{}`},
			{request("items.feedback", `"thread_id":"conv_1","item_ids":["msg_1"],"kind":"negative"`, "ann"), `{}`},
		} {
			if got := string(open(t, s, tt.body).Reply.Body); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.body, got, tt.want)
			}
		}
		if text := missing(t, s, request("threads.update", `"thread_id":"conv_1","title":"x"`, "ann")); !strings.Contains(text, "SLUICE_CHATKIT_HISTORY") {
			t.Errorf("the reply to threads.update does not help: %s", text)
		}
		if diff := cmp.Diff([]chatkit.Feedback{{UserID: "ann", ThreadID: "conv_1", ItemIDs: []string{"msg_1"}, Kind: "negative"}}, got); diff != "" {
			t.Errorf("feedback (-want +got):\n%s", diff)
		}
	})
}

// A retry answers a message again, and reports neither the thread nor the message again.
func TestRetryWithoutHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := chatkit.New(chatkit.Config{})
		thread, message := say(t, s, as("ann", create("eggs?")))
		for range 2 { // a retry may be tried again
			time.Sleep(9 * time.Minute)
			frames, x := ask(t, s, retry(thread, message, "ann"), answered...)
			x.Close()
			if x.Request.Input != "eggs?" || x.Request.ConversationID != thread || x.Request.UserID != "ann" {
				t.Errorf("the retry asks %+v", x.Request)
			}
			if c, err := follow(frames, true); err != nil || c.answer() != "yes" || c.threads != 0 || len(c.items) != 1 {
				t.Errorf("%v: %s", err, frames)
			}
		}
		for _, body := range []string{retry(thread, message, "bob"), retry("conv_other", message, "ann"), retry(thread, "msg_other", "ann")} {
			missing(t, s, body)
		}
		time.Sleep(10 * time.Minute)
		if text := missing(t, s, retry(thread, message, "ann")); !strings.Contains(text, "send it again") {
			t.Errorf("the reply to a late retry does not help: %s", text)
		}
	})
}

// A turn that is not admitted leaves nothing behind.
func TestNothingIsKeptBeforeTheStart(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]chatkit.Store{"none": nil, "memory": new(chatkit.Memory)} {
		s := chatkit.New(chatkit.Config{Store: store})
		x := open(t, s, create("hi"))
		x.Close()
		list := reply[struct{ Data []thread }](t, s, `{"type":"threads.list"}`)
		if len(list.Data) > 0 {
			t.Errorf("%s: %d threads", name, len(list.Data))
		}
	}
	s := chatkit.New(chatkit.Config{Store: new(chatkit.Memory)})
	thread, message := say(t, s, create("hi"))
	open(t, s, retry(thread, message, "")).Close()
	if got := reply[items](t, s, request("items.list", `"thread_id":"`+thread+`"`, "")); len(got.Data) != 2 {
		t.Errorf("a retry that was not admitted left %q", got.texts())
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := chatkit.New(chatkit.Config{Store: new(chatkit.Memory), OnError: func(_ context.Context, err error) { t.Error(err) }})
		one, _ := say(t, s, as("ann", create(" Buy\neggs, "+strings.Repeat("é", 60))))
		time.Sleep(time.Second)
		two, message := say(t, s, as("ann", create("second")))
		again := as("ann", `{"type":"threads.add_user_message","params":{"thread_id":"`+two+`",`+hello+`}}`)
		say(t, s, again)

		list := reply[struct{ Data []thread }](t, s, request("threads.list", "", "ann"))
		if diff := cmp.Diff([]thread{{ID: two, Title: "second"}, {ID: one, Title: "Buy eggs, " + strings.Repeat("é", 50)}}, list.Data,
			cmp.Comparer(func(a, b items) bool { return len(a.Data) == len(b.Data) })); diff != "" {
			t.Errorf("threads (-want +got):\n%s", diff)
		}
		got := reply[thread](t, s, request("threads.get_by_id", `"thread_id":"`+two+`"`, "ann"))
		if diff := cmp.Diff([]string{"second", "yes", "hello", "yes"}, got.Items.texts()); diff != "" {
			t.Errorf("items (-want +got):\n%s", diff)
		}

		page := reply[items](t, s, request("items.list", `"thread_id":"`+two+`","limit":3`, "ann"))
		rest := reply[items](t, s, request("items.list", `"thread_id":"`+two+`","limit":3,"after":"`+page.After+`"`, "ann"))
		if diff := cmp.Diff([]string{"yes", "hello", "yes", "second"}, append(page.texts(), rest.texts()...)); diff != "" || !page.HasMore || rest.HasMore || rest.After != "" {
			t.Errorf("pages (-want +got):\n%s%+v\n%+v", diff, page, rest)
		}

		frames, x := ask(t, s, retry(two, message, "ann"), answered...)
		x.Close()
		if _, err := follow(frames, true); err != nil || x.Request.Input != "second" {
			t.Errorf("retry of %q: %v", x.Request.Input, err)
		}
		got = reply[thread](t, s, request("threads.get_by_id", `"thread_id":"`+two+`"`, "ann"))
		if diff := cmp.Diff([]string{"second", "yes"}, got.Items.texts()); diff != "" {
			t.Errorf("items after a retry (-want +got):\n%s", diff)
		}
		missing(t, s, retry(two, got.Items.Data[1].ID, "ann")) // an answer is no message of the user

		renamed := reply[thread](t, s, request("threads.update", `"thread_id":"`+two+`","title":" A\nB "`, "ann"))
		if renamed.Title != "A B" || renamed.ID != two {
			t.Errorf("renamed: %+v", renamed)
		}
		for kind, params := range map[string]string{
			"threads.get_by_id": "", "items.list": "", "threads.delete": "", "threads.update": `,"title":"x"`,
			"threads.add_user_message": "," + hello, "threads.retry_after_item": `,"item_id":"` + message + `"`,
		} {
			for _, user := range []string{"bob", ""} {
				missing(t, s, request(kind, `"thread_id":"`+two+`"`+params, user))
			}
		}
		open(t, s, request("threads.delete", `"thread_id":"`+two+`"`, "ann"))
		missing(t, s, request("threads.get_by_id", `"thread_id":"`+two+`"`, "ann"))
	})
}

// What was said to a client that left is kept, but for what is blank.
func TestPartialAnswerIsKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{"ha": {"hi", "workflow", "ha"}, "\n": {"hi", "workflow"}} {
		s := chatkit.New(chatkit.Config{Store: new(chatkit.Memory)})
		_, x := ask(t, s, create("hi"), started, &stream.Thinking{Content: "hm"}, &stream.Delta{Text: text})
		x.Close()
		got := reply[items](t, s, request("items.list", `"order":"asc","thread_id":"`+x.Request.ConversationID+`"`, ""))
		if diff := cmp.Diff(want, got.texts()); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", text, diff)
		}
	}
}

// A thread may be deleted while it is answered in: nothing is left of it, and nothing
// is wrong.
func TestThreadDeletedInTheMiddle(t *testing.T) {
	t.Parallel()
	s := chatkit.New(chatkit.Config{Store: new(chatkit.Memory), OnError: func(_ context.Context, err error) { t.Error(err) }})
	frames, x := ask(t, s, create("hi"), started)
	thread := `"thread_id":"` + x.Request.ConversationID + `"`
	open(t, s, request("threads.delete", thread, ""))
	frames += emitAll(x, answered[1:]...)
	x.Close()
	if c, err := follow(frames, false); err != nil || c.answer() != "yes" {
		t.Errorf("%v:\n%s", err, frames)
	}
	missing(t, s, request("items.list", thread, ""))
}

// broken is a Store that fails.
type broken struct{ chatkit.Store }

var errBroken = errors.New("the disk is full")

func (broken) Create(context.Context, string, chatkit.Thread) error       { return errBroken }
func (broken) Append(context.Context, string, string, chatkit.Item) error { return errBroken }
func (broken) Threads(context.Context, string, chatkit.Query) ([]chatkit.Thread, bool, error) {
	return nil, false, errBroken
}

// A Store that fails costs the history, not the answer.
func TestBrokenStore(t *testing.T) {
	t.Parallel()
	failures := 0
	s := chatkit.New(chatkit.Config{Store: broken{}, OnError: func(_ context.Context, err error) {
		if !errors.Is(err, errBroken) {
			t.Error(err)
		}
		failures++
	}})
	frames, x := ask(t, s, create("hi"), answered...)
	x.Close()
	if c, err := follow(frames, false); err != nil || c.answer() != "yes" || failures != 3 {
		t.Errorf("%v, %d failures told:\n%s", err, failures, frames)
	}
	if _, err := s.Open(t.Context(), []byte(`{"type":"threads.list"}`)); !errors.Is(err, errBroken) || fault.From(err).Type != fault.Internal {
		t.Errorf("threads.list: %v", err)
	}
}

// A Store's calls outlive the request, as a client that leaves must not lose what it
// has received, but not for long.
func TestStoreOutlivesTheRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	seen := &watched{Memory: new(chatkit.Memory)}
	x, err := chatkit.New(chatkit.Config{Store: seen}).Open(ctx, []byte(create("hi")))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	emitAll(x, started)
	if deadline, ok := seen.ctx.Deadline(); !ok || time.Until(deadline) > 3*time.Second || seen.err != nil {
		t.Errorf("the Store was called with %v, deadline %v", seen.err, deadline)
	}
}

type watched struct {
	*chatkit.Memory
	ctx   context.Context
	err   error
	query chatkit.Query
}

func (w *watched) Append(ctx context.Context, owner, thread string, item chatkit.Item) error {
	w.ctx, w.err = ctx, ctx.Err()
	return w.Memory.Append(ctx, owner, thread, item)
}

func (w *watched) Threads(ctx context.Context, owner string, q chatkit.Query) ([]chatkit.Thread, bool, error) {
	w.query = q
	return w.Memory.Threads(ctx, owner, q)
}

// 0 is the Python package's way to ask for its default, and nobody gets everything.
func TestPageSize(t *testing.T) {
	t.Parallel()
	seen := &watched{Memory: new(chatkit.Memory)}
	s := chatkit.New(chatkit.Config{Store: seen})
	for limit, want := range map[string]int{"0": 20, "null": 20, "7": 7, "100": 100, "101": 100, "1000000": 100} {
		open(t, s, request("threads.list", `"limit":`+limit, ""))
		if seen.query.Limit != want {
			t.Errorf("limit %s: the Store is asked for %d, want %d", limit, seen.query.Limit, want)
		}
	}
}

// What was said in a thread is the history of its next turn, whatever the model thought
// and called meanwhile; a message that is answered again has what came before it.
func TestThreadIsTheHistoryOfItsTurns(t *testing.T) {
	t.Parallel()
	s := chatkit.New(chatkit.Config{Store: new(chatkit.Memory)})
	frames, x := ask(t, s, as("ann", create("eggs?")), started, &stream.Thinking{Content: "hm"}, &stream.Delta{Text: "three"},
		&stream.Thinking{Content: "or"}, &stream.Delta{Text: "four"}, &stream.Done{Reason: stream.Stop})
	x.Close()
	if len(x.Request.History) > 0 || !strings.Contains(frames, "workflow") {
		t.Errorf("the first turn has the history %+v:\n%s", x.Request.History, frames)
	}
	id := x.Request.ConversationID
	next := func(text string) string {
		return request("threads.add_user_message", `"thread_id":"`+id+`",`+strings.Replace(hello, "hello", text, 1), "ann")
	}
	frames, x = ask(t, s, next("and milk?"), answered...)
	x.Close()
	c, err := follow(frames, false)
	if err != nil {
		t.Fatal(err)
	}
	eggs := []string{"user: eggs?", "model: three\n\nfour"}
	wantHistory(t, x, eggs...)
	frames, x = ask(t, s, next("unanswered"), started)
	x.Close()
	wantHistory(t, x, append(eggs, "user: and milk?", "model: yes")...)
	unanswered := open(t, s, next("hello"))
	unanswered.Close()
	wantHistory(t, unanswered, append(eggs, "user: and milk?", "model: yes", "user: unanswered")...)
	again := open(t, s, retry(id, c.items[0].ID, "ann"))
	again.Close()
	wantHistory(t, again, eggs...)
	if _, err := follow(frames, false); again.Request.Input != "and milk?" {
		t.Errorf("the retry asks %q: %v", again.Request.Input, err)
	}
}

func wantHistory(t *testing.T, x *dialect.Exchange, want ...string) {
	t.Helper()
	var got []string
	for _, m := range x.Request.History {
		got = append(got, string(m.Role)+": "+m.Parts[0].Text)
	}
	if diff := cmp.Diff(want, got); diff != "" || x.Request.Pruning.Kept != len(want) {
		t.Errorf("history of %q, %+v (-want +got):\n%s", x.Request.Input, x.Request.Pruning, diff)
	}
}

// counting is a Store that counts the items it hands out, and can fail to.
type counting struct {
	*chatkit.Memory
	items int
	err   error
}

func (c *counting) Items(ctx context.Context, owner, threadID string, q chatkit.Query) ([]chatkit.Item, bool, error) {
	if c.err != nil {
		return nil, false, c.err
	}
	list, more, err := c.Memory.Items(ctx, owner, threadID, q)
	c.items += len(list)
	return list, more, err
}

// endless is a thread without a beginning.
type endless struct {
	chatkit.Store
	text  string
	items int
}

func (e *endless) Thread(context.Context, string, string) (chatkit.Thread, error) {
	return chatkit.Thread{ID: "conv_1"}, nil
}

func (e *endless) Items(_ context.Context, _, _ string, q chatkit.Query) (list []chatkit.Item, more bool, err error) {
	for range q.Limit {
		e.items++
		list = append(list, chatkit.Item{ID: fmt.Sprint("msg_", e.items), Input: e.text})
	}
	return list, true, nil
}

// A long thread is not read to its beginning.
func TestThreadIsReadWithinBounds(t *testing.T) {
	t.Parallel()
	body := request("threads.add_user_message", `"thread_id":"conv_1",`+hello, "ann")
	for text, most := range map[string]int{"short": 1000, strings.Repeat("x", 5000): 300} {
		store := &endless{text: text}
		x := open(t, chatkit.New(chatkit.Config{Store: store}), body)
		if store.items == 0 || store.items > most || len(x.Request.History) == 0 {
			t.Errorf("%d items of %d bytes are read, want at most %d", store.items, len(text), most)
		}
	}
	store := &counting{Memory: new(chatkit.Memory)}
	s := chatkit.New(chatkit.Config{Store: store})
	id, _ := say(t, s, create("hi"))
	if store.items > 0 {
		t.Errorf("%d items are read for a new thread", store.items)
	}
	store.err = errBroken
	_, err := s.Open(context.Background(), []byte(request("threads.add_user_message", `"thread_id":"`+id+`",`+hello, "")))
	if !errors.Is(err, errBroken) {
		t.Errorf("a store that cannot be read: %v", err)
	}
}
