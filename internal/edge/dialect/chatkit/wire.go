package chatkit

import (
	"crypto/rand"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/edge/dialect/jsonline"
)

// The objects of the protocol, as the Python package writes them: unset members are left out, and
// lists are present even if empty.

// base begins every item.
type base struct {
	ID        string `json:"id"`
	ThreadID  string `json:"thread_id"`
	CreatedAt string `json:"created_at"`
	Type      string `json:"type"`
}

// userItem is a message of the user.
type userItem struct {
	base
	Content          []content `json:"content"`
	Attachments      []string  `json:"attachments"`
	QuotedText       string    `json:"quoted_text,omitempty"`
	InferenceOptions struct{}  `json:"inference_options"`
}

// assistantItem is a message of the model.
type assistantItem struct {
	base
	Content []outputText `json:"content"`
}

// outputText is a part of an assistantItem. Ours have one, without annotations.
type outputText struct {
	Annotations []string `json:"annotations"`
	Text        string   `json:"text"`
	Type        string   `json:"type"`
}

// newOutputText is a text of the assistant's. Annotations are a list that is
// never filled.
func newOutputText(text string) outputText { return outputText{Text: text, Type: "output_text"} }

// workflowItem shows thoughts and tool calls.
type workflowItem struct {
	base
	Workflow workflowBody `json:"workflow"`
}

// workflowBody is a workflow; Summary stands in it once it has ended.
type workflowBody struct {
	Type     string    `json:"type"`
	Tasks    []task    `json:"tasks"`
	Summary  *duration `json:"summary,omitzero"`
	Expanded bool      `json:"expanded"`
}

// duration is a time in whole seconds. It is at least 1, since the component hides 0.
type duration struct {
	Seconds int `json:"duration"`
}

// task is one line of a workflow. Status is loading, complete or none.
type task struct {
	Status  string `json:"status_indicator"`
	Type    string `json:"type"`
	Title   string `json:"title,omitempty"`
	Icon    string `json:"icon,omitempty"`
	Content string `json:"content"`
}

// threadBody is a thread with a page of its items.
type threadBody struct {
	Title     string               `json:"title,omitempty"`
	ID        string               `json:"id"`
	CreatedAt string               `json:"created_at"`
	Status    status               `json:"status"`
	Metadata  struct{}             `json:"metadata"`
	Items     page[jsontext.Value] `json:"items"`
}

// status is the state of a thread.
type status struct {
	Type string `json:"type"`
}

// page is a part of a list. After is the id to ask for the next page with.
type page[T any] struct {
	Data  []T    `json:"data"`
	More  bool   `json:"has_more"`
	After string `json:"after,omitempty"`
}

// toBody returns the thread in the protocol's form.
func (t Thread) toBody(items page[jsontext.Value]) threadBody {
	return threadBody{Title: t.Title, ID: t.ID, CreatedAt: formatTime(t.CreatedAt), Status: status{"active"}, Items: items}
}

// The events of a stream.

// threadEvent says that a thread was created or has changed.
type threadEvent struct {
	Type   string     `json:"type"`
	Thread threadBody `json:"thread"`
}

// itemEvent adds an item to the thread, or says that it is complete.
type itemEvent struct {
	Type string `json:"type"`
	Item any    `json:"item"`
}

// removedEvent takes an item out of the thread.
type removedEvent struct {
	Type   string `json:"type"`
	ItemID string `json:"item_id"`
}

// updateEvent changes an item that is not complete.
type updateEvent struct {
	Type   string `json:"type"`
	ItemID string `json:"item_id"`
	Update any    `json:"update"`
}

// taskUpdate adds or changes a task of a workflow.
type taskUpdate struct {
	Type  string `json:"type"`
	Index int    `json:"task_index"`
	Task  task   `json:"task"`
}

// partUpdate adds or completes a part of a message.
type partUpdate struct {
	Type    string     `json:"type"`
	Index   int        `json:"content_index"`
	Content outputText `json:"content"`
}

// errorEvent ends a turn that has failed. AllowRetry shows a button.
type errorEvent struct {
	Type       string `json:"type"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	AllowRetry bool   `json:"allow_retry"`
}

// progressEvent shows what happens until the next event of the thread. It is not kept.
type progressEvent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// noticeEvent shows a text next to the thread. It is not kept.
type noticeEvent struct {
	Type    string `json:"type"`
	Level   string `json:"level"`
	Message string `json:"message"`
	Title   string `json:"title"`
}

// options lets the component show its stop button. Sending it again changes nothing, so it also
// serves as the heartbeat: the protocol lacks comments.
const options = `data: {"type":"stream_options","stream_options":{"allow_cancel":true}}` + "\n\n"

// appendFrame appends an event.
func appendFrame(dst []byte, event any) []byte {
	return append(appendJSON(append(dst, "data: "...), event), "\n\n"...)
}

// appendJSON appends one of the objects above. JSON within them was checked when it
// came in, so only a bug makes it panic.
func appendJSON(dst []byte, v any) []byte {
	dst, err := jsonline.Value(dst, v)
	if err != nil {
		panic(err)
	}
	return dst
}

// newID returns an id that nobody can guess, for a thread.
func newID(prefix string) string { return prefix + "_" + strings.ToLower(rand.Text()) }

// formatTime writes a time as the component reads it: UTC, with milliseconds.
func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }
