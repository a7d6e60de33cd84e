// This file shows a turn to a person. Everything that came from outside (texts, names,
// results) passes printable, since a model or a tool could otherwise move the cursor or
// change the window's title. Colours are used only on a terminal.
//
// A line about something else than the answer ends the text that is being written; lines
// about other agents wait until the text has ended (terminal_team.go).

package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sluice/internal/providers"
	"sluice/stream/sse"
)

// style holds the escape sequences of a terminal; all empty where there is none.
type style struct{ dim, bold, red, green, yellow, struck, reset string }

// styleFor follows no-color.org.
//
// NO_COLOR counts with any value but the empty one.
func styleFor(out io.Writer, lookup func(string) (string, bool)) style {
	if !isTerminal(out) {
		return style{}
	}
	if v, _ := lookup("NO_COLOR"); v != "" {
		return style{}
	}
	return style{dim: "\x1b[2m", bold: "\x1b[1m", red: "\x1b[31m", green: "\x1b[32m", yellow: "\x1b[33m", struck: "\x1b[9m", reset: "\x1b[0m"}
}

// isTerminal says whether a reader or writer is a character device, which is most
// likely a terminal.
//
// /dev/null is a character device too and counts as one, which does no harm.
func isTerminal(stream any) bool {
	if t, ok := stream.(interface{ isTerminal() bool }); ok { // of a test
		return t.isTerminal()
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// terminal shows events to a person: thoughts dimmed, tool calls with arguments,
// status and time, the text as it streams, a closing line.
//
// One goroutine uses it, for one turn after the other: start resets what belongs to a turn.
type terminal struct {
	out    io.Writer
	style  style
	inText bool // the cursor is in the answer's text
	team   teamView
	draft  string // of an answer that is held back, as far as it came
}

// show writes one event as it comes. The error is that of the output.
//
// Events that it does not know are passed over, as newer gateways have more.
func (t *terminal) show(ev sse.Event, d eventData) error {
	s := t.style
	switch ev.Type {
	case "start":
		t.team, t.draft = teamView{}, ""
		note := ""
		if d.Model == providers.OfflineModel {
			note = " (a simulator, not Gemini)"
		}
		if d.TaskID != "" { // for --resume
			note += " · " + d.TaskID
		}
		return t.line(s.dim, "model %s%s", d.Model, note)
	case "model":
		return t.line(s.yellow, "model %s (%s) in place of %s: %s", d.Model, d.Key, d.Previous, strings.ReplaceAll(d.Reason, "_", " "))
	case "thinking":
		return t.lineOf(d, s.dim, "%s%s", speaker(d), strings.TrimSpace(d.Content))
	case "route":
		return t.route(d)
	case "agent":
		return t.agent(d)
	case "node":
		return t.node(d)
	case "tool_call":
		return t.tool(d)
	case "approval":
		return t.question(d)
	case "quality":
		return t.phase(d)
	case "inner_delta":
		return t.drafted(d)
	case "channel_message":
		return t.message(d)
	case "response_delta":
		if !t.inText {
			fmt.Fprintln(t.out)
		}
		t.inText = true
		if d.AgentID != "" {
			t.team.speaking = d.AgentID
		}
		_, err := io.WriteString(t.out, printable(d.Delta))
		return err
	case "error":
		return t.lineOf(d, s.red, "%serror: %s (%s)", speaker(d), d.Message, d.ErrorType)
	case "done":
		return t.closing(d)
	}
	return nil
}

// tool writes a step of a tool call, a line each.
func (t *terminal) tool(d eventData) error {
	s := t.style
	switch d.Status {
	case "in_progress":
		return t.lineOf(d, s.bold, "→ %s%s %s", speaker(d), d.Tool, string(d.Arguments))
	case "progress":
		return t.lineOf(d, s.dim, "… %s%s  %s", speaker(d), d.Tool, far(d))
	case "completed":
		return t.lineOf(d, s.green, "✓ %s%s  %d ms  %s", speaker(d), d.Tool, d.Duration, oneLine(d.Result))
	case "failed":
		return t.lineOf(d, s.red, "✗ %s%s  %d ms  %s", speaker(d), d.Tool, d.Duration, d.Error)
	default:
		return t.lineOf(d, s.yellow, "? %s%s  %s: %s", speaker(d), d.Tool, d.Status, d.Error)
	}
}

// question writes the calls that wait for a person.
func (t *terminal) question(d eventData) error {
	for _, c := range d.Calls {
		if err := t.lineOf(d, t.style.yellow, "! %s %s  waits to be allowed (%s)", c.Tool, string(c.Arguments), strings.ReplaceAll(c.Reason, "_", " ")); err != nil {
			return err
		}
	}
	return nil
}

// far says how far a tool has come: "3 of 10: page 3".
func far(d eventData) string {
	text := strconv.FormatFloat(d.Progress, 'g', -1, 64)
	if d.Total > 0 {
		text += " of " + strconv.FormatFloat(d.Total, 'g', -1, 64)
	}
	if d.Message != "" {
		text += ": " + d.Message
	}
	return text
}

// closing writes the last line of a turn: how it ended, what it used, how long it took.
//
// A turn that said nothing has no time of its first text.
func (t *terminal) closing(d eventData) error {
	first := ""
	if ms := d.Timings.FirstDelta; ms != nil {
		first = fmt.Sprintf("first text %s, ", millis(*ms))
	}
	if t.inText {
		fmt.Fprintln(t.out)
	}
	if err := t.receipt(d); err != nil {
		return err
	}
	return t.line(t.style.dim, "%s · %d tokens in, %d out, %d thinking · %stotal %s · %s",
		d.Finish, d.Usage.Input, d.Usage.Output, d.Usage.Thinking, first, millis(d.Timings.Total), d.RequestID)
}

// line prints a line of its own, without what could steer the terminal.
func (t *terminal) line(color, format string, args ...any) error {
	if t.inText {
		fmt.Fprintln(t.out)
	}
	t.inText = false
	if err := t.release(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.out, "%s%s%s\n", color, printable(fmt.Sprintf(format, args...)), t.style.reset)
	return err
}

// millis writes milliseconds as a duration.
func millis(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

// oneLine shortens a tool's result for the screen.
//
// The bound is in characters: 100.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return s
}

const zeroWidthJoiner = '\u200d' // holds emoji together

// printable keeps what others wrote from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if harmless(r) {
			return r
		}
		return -1
	}, s)
}

// harmless reports whether a terminal shows r and does not obey it.
//
// The joiner is let through for the sake of emojis; marks that turn the direction of text
// are not printable and go.
func harmless(r rune) bool {
	return r == '\n' || r == '\t' || r == zeroWidthJoiner || unicode.IsPrint(r) || unicode.Is(unicode.Zs, r)
}

// printableJSON is printable for a JSON value, in which nothing may be lost: what
// steers a terminal can only be in a string, and is escaped.
func printableJSON(value []byte) []byte {
	dst := make([]byte, 0, len(value)+1)
	for _, r := range string(value) {
		if harmless(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			dst = fmt.Appendf(dst, `\u%04x`, unit)
		}
	}
	return dst
}
