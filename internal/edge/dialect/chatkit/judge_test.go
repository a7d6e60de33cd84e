package chatkit_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/edge/dialect"
	"sluice/internal/edge/dialect/chatkit"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// ask opens a request, which must be a turn, and emits the events to it.
func ask(t *testing.T, s *chatkit.Server, body string, events ...stream.Event) (frames string, x *dialect.Exchange) {
	t.Helper()
	x = open(t, s, body)
	if x.Encoder == nil {
		t.Fatalf("%s is no turn, but answered with %s", body, x.Reply.Body)
	}
	return emitAll(x, events...), x
}

// emitAll has events emitted as a gateway does, through what keeps the thread.
func emitAll(x *dialect.Exchange, events ...stream.Event) string {
	wire := &wire{enc: x.Encoder}
	out := x.Output(wire)
	for i, ev := range events {
		_ = out.Write(stream.Stamp{N: i + 1}, ev)
	}
	return string(wire.frames)
}

// wire is an output that keeps the frames.
type wire struct {
	enc    stream.Encoder
	frames []byte
}

func (w *wire) Write(s stream.Stamp, ev stream.Event) error {
	w.frames = w.enc.Encode(w.frames, s, ev)
	return nil
}

func (w *wire) Flush() error           { return nil }
func (w *wire) Blocked() time.Duration { return 0 }

func open(t *testing.T, s *chatkit.Server, body string) *dialect.Exchange {
	t.Helper()
	ctx := chat.WithRequestID(context.Background(), rand.Text())
	x, err := s.Open(ctx, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return x
}

func create(text string) string {
	return `{"type":"threads.create","params":{"input":{"content":[{"type":"input_text","text":` + quoted(text) + `}],"attachments":[],"inference_options":{}}}}`
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// named replaces the random ids of a text by their order: msg_1, wf_1, ...
func named(text string) string {
	names := map[string]string{}
	count := map[string]int{}
	return randomID.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			prefix, _, _ := strings.Cut(id, "_")
			count[prefix]++
			names[id] = fmt.Sprintf("%s_%d", prefix, count[prefix])
		}
		return names[id]
	})
}

var randomID = regexp.MustCompile(`\b(conv|msg|wf)_[a-z2-7]{26}\b`)

// item is what a client knows of an item that is streamed.
type item struct {
	ID        string `json:"id"`
	ThreadID  string `json:"thread_id"`
	CreatedAt string `json:"created_at"`
	Type      string `json:"type"`
	Content   []part `json:"content"`
	Workflow  *struct {
		Tasks   []task `json:"tasks"`
		Summary *struct{ Duration int }
	} `json:"workflow"`

	partDone bool
}

type part struct{ Type, Text string }

type task struct {
	Status string `json:"status_indicator"`
	Type   string
	Title  string
	Content,
	Icon string
}

// client follows a stream as the component does, and is strict about its order.
type client struct {
	threads int
	user    bool
	options int
	ended   bool
	open    map[string]*item
	done    map[string]bool
	items   []item // done, in order
	texts   map[string]string
	order   []string // ids of the messages
	notices []string
	failure *event
}

type event struct {
	Type   string
	Item   *item
	ItemID string `json:"item_id"`
	Update struct {
		Type         string
		TaskIndex    int `json:"task_index"`
		ContentIndex int `json:"content_index"`
		Task         *task
		Content      *part
		Delta        string
	}
	Message    string
	AllowRetry bool `json:"allow_retry"`
	Level      string
}

// follow reads a whole stream. retry says that it answers a message of before.
func follow(frames string, retry bool) (*client, error) {
	c := &client{open: map[string]*item{}, done: map[string]bool{}, texts: map[string]string{}, user: retry}
	for frame := range strings.SplitAfterSeq(frames, "\n\n") {
		if frame == "" {
			continue
		}
		data, ok := strings.CutPrefix(frame, "data: ")
		data, ok2 := strings.CutSuffix(data, "\n\n")
		if !ok || !ok2 || strings.ContainsAny(data, "\n\r\u0085\u2028\u2029") {
			return c, fmt.Errorf("no frame: %q", frame)
		}
		var ev event
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			return c, fmt.Errorf("%w: %s", err, data)
		}
		if err := c.add(ev); err != nil {
			return c, fmt.Errorf("%w: %s", err, data)
		}
	}
	return c, nil
}

// answer joins the texts of all messages.
func (c *client) answer() string {
	var b strings.Builder
	for _, id := range c.order {
		b.WriteString(c.texts[id])
	}
	return b.String()
}

func (c *client) add(ev event) error {
	if c.ended {
		return fmt.Errorf("an event after the error")
	}
	switch ev.Type {
	case "thread.created":
		c.threads++
		if c.threads > 1 || c.user {
			return fmt.Errorf("thread.created out of place")
		}
	case "stream_options":
		c.options++
		if !c.user {
			return fmt.Errorf("stream_options before the user's message")
		}
	case "thread.item.added":
		return c.added(ev.Item)
	case "thread.item.updated":
		return c.updated(ev)
	case "thread.item.done":
		return c.finished(ev.Item)
	case "thread.item.removed":
		return c.removed(ev.ItemID)
	case "notice":
		c.notices = append(c.notices, ev.Level+" "+ev.Message)
	case "error":
		c.ended, c.failure = true, &ev
		if len(c.open) > 0 {
			return fmt.Errorf("an item is open")
		}
	default:
		return fmt.Errorf("no such event")
	}
	return nil
}

func (c *client) added(it *item) error {
	if c.options == 0 || c.open[it.ID] != nil || c.done[it.ID] {
		return fmt.Errorf("an item out of place")
	}
	if it.Type == "assistant_message" {
		c.order = append(c.order, it.ID)
	}
	c.open[it.ID] = it
	return nil
}

// removed takes a message out, open or not.
func (c *client) removed(id string) error {
	if !slices.Contains(c.order, id) {
		return fmt.Errorf("a message that is not there is removed")
	}
	c.order = slices.DeleteFunc(c.order, func(o string) bool { return o == id })
	c.items = slices.DeleteFunc(c.items, func(it item) bool { return it.ID == id })
	delete(c.open, id)
	return nil
}

func (c *client) updated(ev event) error {
	it, u := c.open[ev.ItemID], &ev.Update
	if it == nil {
		return fmt.Errorf("an item that is not open")
	}
	if it.Type == "workflow" {
		return it.task(u.Type, u.TaskIndex, u.Task)
	}
	switch {
	case u.Type == "assistant_message.content_part.added" && len(it.Content) == 0 && u.Content.Text == "":
		it.Content = []part{*u.Content}
	case u.Type == "assistant_message.content_part.text_delta" && len(it.Content) == 1 && !it.partDone && u.Delta != "":
		it.Content[0].Text += u.Delta
		c.texts[it.ID] = it.Content[0].Text
	case u.Type == "assistant_message.content_part.done" && len(it.Content) == 1 && !it.partDone && *u.Content == it.Content[0]:
		it.partDone = true
	default:
		return fmt.Errorf("an update out of place")
	}
	return nil
}

func (it *item) task(what string, index int, t *task) error {
	tasks := &it.Workflow.Tasks
	switch {
	case what == "workflow.task.added" && index == len(*tasks) && t.Status == "loading":
		*tasks = append(*tasks, *t)
	case what == "workflow.task.updated" && index < len(*tasks) && (*tasks)[index].Status == "loading":
		(*tasks)[index] = *t
	default:
		return fmt.Errorf("a task out of place")
	}
	return nil
}

func (c *client) finished(it *item) error {
	if it.Type == "user_message" {
		if c.user || c.options > 0 {
			return fmt.Errorf("the user's message out of place")
		}
		c.user = true
	} else if err := c.same(c.open[it.ID], it); err != nil {
		return err
	}
	delete(c.open, it.ID)
	c.done[it.ID] = true
	c.items = append(c.items, *it)
	return nil
}

// same says that an item at its end is what its events have made of it.
func (c *client) same(before, after *item) error {
	if before == nil {
		return fmt.Errorf("an item that is not open")
	}
	if after.Type == "assistant_message" {
		if !before.partDone {
			return fmt.Errorf("its part is not done")
		}
		after.partDone = true
	} else {
		for _, t := range after.Workflow.Tasks {
			if t.Status == "loading" {
				return fmt.Errorf("a task loads for ever")
			}
		}
		if after.Workflow.Summary == nil || after.Workflow.Summary.Duration < 1 {
			return fmt.Errorf("a workflow without its duration")
		}
		before.Workflow.Summary = after.Workflow.Summary
	}
	if !reflect.DeepEqual(before, after) {
		return fmt.Errorf("the item is another at its end")
	}
	return nil
}
