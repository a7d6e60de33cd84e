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

// Bounds of a task's texts, in bytes. A task is sent whole each time it changes.
const (
	maxThought   = 2 << 10 // a longer one continues in another task
	maxArguments = 500
	maxResult    = 1 << 10
	maxNote      = 256 // of a tool's words on its progress
	maxName      = 64
)

// workflow is a stretch of the model's thoughts and calls, while it lasts.
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
	return appendFrame(dst, itemEvent{"thread.item.added", w.currentItem()})
}

// currentItem returns the workflow as it is now.
func (w *workflow) currentItem() workflowItem {
	return workflowItem{base: w.base, Workflow: workflowBody{Type: "reasoning", Tasks: slices.Clone(w.tasks)}}
}

// end appends what closes the workflow, with how long it took, and returns the item that a
// store keeps.
func (w *workflow) end(dst []byte, now time.Duration) ([]byte, workflowItem) {
	dst = w.endThought(dst)
	item := w.currentItem()
	seconds := int((now - w.began + time.Second/2) / time.Second)
	item.Workflow.Summary = &duration{max(seconds, 1)}
	return appendFrame(dst, itemEvent{"thread.item.done", item}), item
}

// addThought shows a thought of the model. A text that begins with a line in bold begins a task,
// and is its title; another one continues the thought before it.
func (w *workflow) addThought(dst []byte, text string) []byte {
	title, text := cutHeadline(text)
	last := len(w.tasks) - 1
	if title == "" && w.isThinking() && len(w.idea)+len(text) <= maxThought {
		w.idea += text
		w.tasks[last].Content = strings.TrimSpace(w.idea)
		return w.updateTask(dst, last)
	}
	for first := true; first || text != ""; first = false {
		dst = w.endThought(dst)
		w.idea, _ = chat.Truncate(text, maxThought)
		text = text[len(w.idea):]
		dst = w.addTask(dst, task{Status: "loading", Type: "thought", Title: title, Content: strings.TrimSpace(w.idea)})
		title = ""
	}
	return dst
}

// isThinking says whether the last task is a thought that may continue.
func (w *workflow) isThinking() bool {
	last := len(w.tasks) - 1
	return last >= 0 && w.tasks[last].Type == "thought" && w.tasks[last].Status == "loading"
}

// endThought ends the thought that may continue.
func (w *workflow) endThought(dst []byte) []byte {
	if !w.isThinking() {
		return dst
	}
	last := len(w.tasks) - 1
	w.tasks[last].Status = "complete"
	return w.updateTask(dst, last)
}

// cutHeadline takes a first line in bold from a text.
func cutHeadline(text string) (title, rest string) {
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

// addCall adds a task for a tool call.
func (w *workflow) addCall(dst []byte, ev *stream.ToolStarted) []byte {
	dst = w.endThought(dst)
	c := &call{task: len(w.tasks), name: chat.Line(ev.Tool, maxName), arguments: argumentsText(ev.Arguments)}
	if ev.Server != "" {
		c.name += " on " + ev.Server
	}
	w.open[ev.ID] = c
	return w.addTask(dst, task{Status: "loading", Type: "custom", Title: "Calling " + c.name, Icon: "bolt", Content: c.arguments})
}

// showProgress shows how far a call is. The grammar of events ensures that the call is open.
func (w *workflow) showProgress(dst []byte, ev *stream.ToolProgress) []byte {
	c := w.open[ev.ID]
	w.tasks[c.task].Content = c.withArguments(progressText(ev))
	return w.updateTask(dst, c.task)
}

// completeCall shows the result of a call, cut to maxResult.
func (w *workflow) completeCall(dst []byte, ev *stream.ToolCompleted) []byte {
	text, cut := chat.Truncate(ev.Result, maxResult)
	if cut || ev.Truncated {
		text += " …"
	}
	return w.closeCall(dst, ev.ID, "Called %s", task{Status: "complete", Icon: "bolt", Content: "Result: " + text})
}

// failCall shows why a call has failed.
func (w *workflow) failCall(dst []byte, ev *stream.ToolFailed) []byte {
	return w.closeCall(dst, ev.ID, "%s has failed", task{Status: "none", Icon: "info", Content: ev.Message})
}

// markUnknown shows that the outcome of a call is not known.
func (w *workflow) markUnknown(dst []byte, ev *stream.ToolUnknown) []byte {
	return w.closeCall(dst, ev.ID, "%s: outcome not known", task{Status: "none", Icon: "circle-question",
		Content: ev.Message + "\n\nIt may have taken effect, and is not tried again."})
}

// closeCall ends a call. Only a successful call is shown as complete.
func (w *workflow) closeCall(dst []byte, id, title string, end task) []byte {
	c := w.open[id]
	delete(w.open, id)
	end.Type, end.Title, end.Content = "custom", fmt.Sprintf(title, c.name), c.withArguments(end.Content)
	w.tasks[c.task] = end
	return w.updateTask(dst, c.task)
}

// withArguments returns the arguments with a text below them.
func (c *call) withArguments(text string) string {
	if c.arguments == "" {
		return text
	}
	return c.arguments + "\n\n" + text
}

// argumentsText returns the arguments of a call for a person; "" for none.
func argumentsText(v jsontext.Value) string {
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

// progressText writes a tool's progress in words.
func progressText(ev *stream.ToolProgress) string {
	text := "Progress: " + formatNumber(ev.Progress)
	if ev.Total > 0 && !math.IsInf(ev.Total, 1) {
		text += " of " + formatNumber(ev.Total)
	}
	if note := chat.Line(ev.Message, maxNote); note != "" {
		text += ", " + note
	}
	return text
}

// formatNumber writes a figure without an exponent.
func formatNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// addTask appends a task.
func (w *workflow) addTask(dst []byte, t task) []byte {
	w.tasks = append(w.tasks, t)
	return w.appendTask(dst, "added", len(w.tasks)-1)
}

// updateTask appends the present state of a task.
func (w *workflow) updateTask(dst []byte, index int) []byte {
	return w.appendTask(dst, "updated", index)
}

// appendTask appends what happened to a task, with its present state.
func (w *workflow) appendTask(dst []byte, what string, index int) []byte {
	return appendFrame(dst, updateEvent{"thread.item.updated", w.ID, taskUpdate{"workflow.task." + what, index, w.tasks[index]}})
}
