package handlers

import (
	"sluice/stream"
)

// kinds name the events as on the wire, for counting.
var kinds = [...]string{"start", "thinking", "tool_call", "response_delta", "error", "done"}

const (
	kindStart = iota
	kindThinking
	kindToolCall
	kindDelta
	kindError
	kindDone
)

// observer counts what passes, for the log and the metrics. It works on plain
// fields, which are added up when the turn has ended: nothing shared per delta.
type observer struct {
	next   stream.Sink
	counts [len(kinds)]int
	tools  []string
	ended  []toolEnd
	errors []stream.Error
	done   stream.Done
	// extensions counts events beside the core ones, by name; nil: there were none.
	extensions map[string]int
	reason     stream.FinishReason
}

type toolEnd struct {
	server, outcome string
	seconds         float64
}

// Emit counts ev and passes it on.
func (o *observer) Emit(ev stream.Event) error {
	switch ev := ev.(type) {
	case *stream.Delta:
		o.counts[kindDelta]++
	case *stream.Thinking:
		o.counts[kindThinking]++
	case *stream.Start:
		o.counts[kindStart]++
	case *stream.ToolStarted:
		o.counts[kindToolCall]++
		o.tools = append(o.tools, ev.Tool)
	case *stream.ToolProgress:
		o.counts[kindToolCall]++
	case *stream.ToolCompleted:
		o.end(&ev.Call, "completed", ev.Duration.Seconds())
	case *stream.ToolFailed:
		o.end(&ev.Call, "failed", ev.Duration.Seconds())
	case *stream.ToolUnknown:
		o.end(&ev.Call, "unknown", ev.Duration.Seconds())
	case *stream.Error:
		o.counts[kindError]++
		o.errors = append(o.errors, *ev)
	case *stream.Done:
		o.counts[kindDone]++
		o.done, o.reason = *ev, ev.Reason
	case stream.Extension:
		if o.extensions == nil {
			o.extensions = map[string]int{}
		}
		o.extensions[ev.Name()]++
	}
	return o.next.Emit(ev)
}

// Flush passes the call on.
func (o *observer) Flush() error { return o.next.Flush() }

func (o *observer) end(c *stream.Call, outcome string, seconds float64) {
	o.counts[kindToolCall]++
	o.ended = append(o.ended, toolEnd{c.Server, outcome, seconds})
}

func (o *observer) total() (n int) {
	for _, c := range o.counts {
		n += c
	}
	for _, c := range o.extensions {
		n += c
	}
	return n
}
