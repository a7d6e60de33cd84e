package chatkit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/turn/chat"
	"sluice/stream"
)

// What a task shows, in bytes. A task is sent whole each time it changes.
const (
	maxThought   = 2 << 10 // a longer one continues in another task
	maxArguments = 500
	maxResult    = 1 << 10
	maxNote      = 256 // of a tool's words on its progress
	maxName      = 64
)

// workflow is what a model thinks and calls, as long as it does.
type workflow struct {
	base
	began time.Duration // since the turn began
	tasks []task
	idea  string           // text of the last task, if that is a thought that may continue
	open  map[string]*call // by id
}

// call is a tool call under way, and its task.
type call struct {
	task      int
	name      string // of the tool and its server
	arguments string
}

// newWorkflow returns a workflow that begins at now, since the turn's beginning.
func newWorkflow(b base, now time.Duration) *workflow {
	return &workflow{base: b, began: now, open: map[string]*call{}}
}

// begin appends what opens the workflow.
func (w *workflow) begin(dst []byte) []byte {
	return frame(dst, itemEvent{"thread.item.added", w.item()})
}

// item returns the workflow as it is now.
func (w *workflow) item() workflowItem {
	return workflowItem{base: w.base, Workflow: workflowBody{Type: "reasoning", Tasks: slices.Clone(w.tasks)}}
}

// end appends what closes the workflow, with how long it took, and returns the item that a
// store keeps.
func (w *workflow) end(dst []byte, now time.Duration) ([]byte, workflowItem) {
	dst = w.settle(dst)
	item := w.item()
	seconds := int((now - w.began + time.Second/2) / time.Second)
	item.Workflow.Summary = &duration{max(seconds, 1)}
	return frame(dst, itemEvent{"thread.item.done", item}), item
}

// thought shows what the model thinks. A text that begins with a line in bold begins a
// task, and is its title; another one continues the thought before it.
func (w *workflow) thought(dst []byte, text string) []byte {
	title, text := headline(text)
	last := len(w.tasks) - 1
	if title == "" && w.thinking() && len(w.idea)+len(text) <= maxThought {
		w.idea += text
		w.tasks[last].Content = strings.TrimSpace(w.idea)
		return w.update(dst, last)
	}
	for first := true; first || text != ""; first = false {
		dst = w.settle(dst)
		w.idea, _ = chat.Truncate(text, maxThought)
		text = text[len(w.idea):]
		dst = w.add(dst, task{Status: "loading", Type: "thought", Title: title, Content: strings.TrimSpace(w.idea)})
		title = ""
	}
	return dst
}

// thinking says whether the last task is a thought that may continue.
func (w *workflow) thinking() bool {
	last := len(w.tasks) - 1
	return last >= 0 && w.tasks[last].Type == "thought" && w.tasks[last].Status == "loading"
}

// settle ends the thought that may continue.
func (w *workflow) settle(dst []byte) []byte {
	if !w.thinking() {
		return dst
	}
	last := len(w.tasks) - 1
	w.tasks[last].Status = "complete"
	return w.update(dst, last)
}

// headline takes a first line in bold from a text.
func headline(text string) (title, rest string) {
	after, ok := strings.CutPrefix(strings.TrimLeft(text, "\n"), "**")
	if !ok {
		return "", text
	}
	title, rest, ok = strings.Cut(after, "**")
	if line, more, _ := strings.Cut(rest, "\n"); ok && strings.TrimSpace(line) == "" && !strings.Contains(title, "\n") {
		return chat.Line(title, maxArguments), strings.TrimLeft(more, "\n")
	}
	return "", text
}

// call adds a task for a tool call.
func (w *workflow) call(dst []byte, ev *stream.ToolStarted) []byte {
	dst = w.settle(dst)
	c := &call{task: len(w.tasks), name: chat.Line(ev.Tool, maxName), arguments: shownArguments(ev.Arguments)}
	if ev.Server != "" {
		c.name += " on " + ev.Server
	}
	w.open[ev.ID] = c
	return w.add(dst, task{Status: "loading", Type: "custom", Title: "Calling " + c.name, Icon: "bolt", Content: c.arguments})
}

// progress shows how far a call is. The call must be open, which the grammar of events
// ensures.
func (w *workflow) progress(dst []byte, ev *stream.ToolProgress) []byte {
	c := w.open[ev.ID]
	w.tasks[c.task].Content = c.with(howFar(ev))
	return w.update(dst, c.task)
}

// completed shows the result of a call, cut to maxResult.
func (w *workflow) completed(dst []byte, ev *stream.ToolCompleted) []byte {
	text, cut := chat.Truncate(ev.Result, maxResult)
	if cut || ev.Truncated {
		text += " …"
	}
	return w.close(dst, ev.ID, "Called %s", task{Status: "complete", Icon: "bolt", Content: "Result: " + text})
}

// failed shows why a call has failed.
func (w *workflow) failed(dst []byte, ev *stream.ToolFailed) []byte {
	return w.close(dst, ev.ID, "%s has failed", task{Status: "none", Icon: "info", Content: ev.Message})
}

// unknown shows that the outcome of a call is not known.
func (w *workflow) unknown(dst []byte, ev *stream.ToolUnknown) []byte {
	return w.close(dst, ev.ID, "%s: outcome not known", task{Status: "none", Icon: "circle-question",
		Content: ev.Message + "\n\nIt may have taken effect, and is not tried again."})
}

// close ends a call. Only what has succeeded is shown as complete.
func (w *workflow) close(dst []byte, id, title string, end task) []byte {
	c := w.open[id]
	delete(w.open, id)
	end.Type, end.Title, end.Content = "custom", fmt.Sprintf(title, c.name), c.with(end.Content)
	w.tasks[c.task] = end
	return w.update(dst, c.task)
}

// with returns the arguments with a text below them.
func (c *call) with(text string) string {
	if c.arguments == "" {
		return text
	}
	return c.arguments + "\n\n" + text
}

// shownArguments returns the arguments of a call for a person; "" for none.
func shownArguments(v jsontext.Value) string {
	v = v.Clone()
	if v.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil || string(v) == "{}" {
		return ""
	}
	text, cut := chat.Truncate(string(v), maxArguments)
	if cut {
		text += " …"
	}
	return "Arguments: " + text
}

// howFar writes a tool's progress in words.
func howFar(ev *stream.ToolProgress) string {
	text := "Progress: " + number(ev.Progress)
	if ev.Total > 0 && !math.IsInf(ev.Total, 1) {
		text += " of " + number(ev.Total)
	}
	if note := chat.Line(ev.Message, maxNote); note != "" {
		text += ", " + note
	}
	return text
}

// number writes a figure without an exponent.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// add appends a task.
func (w *workflow) add(dst []byte, t task) []byte {
	w.tasks = append(w.tasks, t)
	return w.task(dst, "added", len(w.tasks)-1)
}

// update appends the present state of a task.
func (w *workflow) update(dst []byte, index int) []byte { return w.task(dst, "updated", index) }

// task appends what happened to a task, with its present state.
func (w *workflow) task(dst []byte, what string, index int) []byte {
	return frame(dst, updateEvent{"thread.item.updated", w.ID, taskUpdate{"workflow.task." + what, index, w.tasks[index]}})
}
