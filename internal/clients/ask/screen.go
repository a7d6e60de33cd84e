// This file shows a turn to a person. Everything that came from outside (texts, names,
// results) passes terminal.Printable, since a model or a tool could otherwise move the cursor or
// change the window's title. Colours are used only on a terminal.
//
// A line about something else than the answer ends the text that is being written; lines about
// other agents wait until the text has ended (screen_team.go). If stdout is not a terminal, it gets
// the answer alone, as the model wrote it and once it has ended. Then stderr gets the lines.

package ask

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"sluice/internal/clients/terminal"
	"sluice/stream/sse"
)

// screen shows events to a person: thoughts dimmed, tool calls with arguments,
// status and time, the text as it streams, a closing line.
//
// Only one goroutine uses it, for one turn after the other: start resets the fields of a turn.
type screen struct {
	out       io.Writer      // of the answer
	lines     io.Writer      // of all else: out itself at a terminal
	piped     bool           // out is not a terminal
	style     terminal.Style // of lines
	simulator string         // name of the simulated model
	inText    bool           // the cursor is in the answer's text
	answer    []byte         // written at its end, if stdout is not a terminal
	markdown  terminal.Markdown
	team      teamView
	draft     string // of an answer that is held back, as far as it came
}

// newScreen returns the screen of a client.
func (c *Client) newScreen() *screen {
	v := &screen{out: c.Stdout, lines: c.Stderr, piped: true, simulator: c.Simulator}
	if terminal.IsTerminal(c.Stdout) {
		v.lines, v.piped = c.Stdout, false
		v.markdown = terminal.Markdown{Style: terminal.StyleFor(c.Stdout, c.Lookup), Columns: terminal.Columns(c.Stdout, 80)}
	}
	v.style = terminal.StyleFor(v.lines, c.Lookup)
	return v
}

// showEvent writes one event as it comes. The error is that of the output.
//
// Events that it does not know are passed over, as newer gateways have more.
func (v *screen) showEvent(ev sse.Event, d eventData) error {
	if each := shows[ev.Type]; each != nil {
		return each(v, d)
	}
	return nil
}

// shows has the method for each event that the screen shows.
var shows = map[string]func(*screen, eventData) error{
	"start":           (*screen).showStart,
	"model":           (*screen).showModel,
	"thinking":        (*screen).showThought,
	"route":           (*screen).showRoute,
	"agent":           (*screen).showAgent,
	"node":            (*screen).showNode,
	"tool_call":       (*screen).showTool,
	"approval":        (*screen).showQuestion,
	"quality":         (*screen).showPhase,
	"inner_delta":     (*screen).showDraft,
	"channel_message": (*screen).showMessage,
	"response_delta":  (*screen).showText,
	"response_reset":  (*screen).restartAnswer,
	"error":           (*screen).showError,
	"done":            (*screen).showEnd,
}

// showModel shows that another model answers.
func (v *screen) showModel(d eventData) error {
	return v.printLine(v.style.Yellow, "model %s (%s) in place of %s: %s", d.Model, d.Key, d.Previous, strings.ReplaceAll(d.Reason, "_", " "))
}

// showThought shows a thought.
func (v *screen) showThought(d eventData) error {
	return v.printLineOf(d, v.style.Dim, "%s%s", speakerPrefix(d), strings.TrimSpace(d.Content))
}

// showError shows an error.
func (v *screen) showError(d eventData) error {
	return v.printLineOf(d, v.style.Red, "%serror: %s (%s)", speakerPrefix(d), d.Message, d.ErrorType)
}

// showStart writes the name of the model, and resets the fields of the previous turn.
func (v *screen) showStart(d eventData) error {
	v.team, v.draft, v.answer = teamView{}, "", nil
	note := ""
	if v.simulator != "" && d.Model == v.simulator {
		note = " (a simulator, not Gemini)"
	}
	if d.TaskID != "" { // for --resume
		note += " · " + d.TaskID
	}
	return v.printLine(v.style.Dim, "model %s%s", d.Model, note)
}

// showText writes a piece of the answer as it comes.
func (v *screen) showText(d eventData) error {
	if v.piped {
		v.answer = append(v.answer, terminal.Printable(d.Delta)...)
		return nil
	}
	if !v.inText {
		if v.team.speaking != "" && d.AgentID == "" && strings.Trim(d.Delta, ". \n") == "" {
			return nil // it joins the texts of two agents, already parted by a line
		}
		fmt.Fprintln(v.out)
	}
	v.inText = true
	if d.AgentID != "" {
		v.team.speaking = d.AgentID
	}
	_, err := io.WriteString(v.out, v.markdown.Write(terminal.Printable(d.Delta)))
	return err
}

// endText ends the text that is being written, if there is one.
func (v *screen) endText() error {
	if !v.inText {
		return nil
	}
	_, err := fmt.Fprintln(v.lines, v.markdown.End())
	return err
}

// restartAnswer writes the valid answer once more, as a terminal cannot take text back. In a pipe
// nothing of it was written yet.
func (v *screen) restartAnswer(d eventData) error {
	if v.piped {
		v.answer = append(v.answer[:0], terminal.Printable(d.Accumulated)...)
		return nil
	}
	if err := v.printLine(v.style.Yellow, "↺ the answer begins again: its text above does not count"); err != nil || d.Accumulated == "" {
		return err
	}
	d.Delta = d.Accumulated
	return v.showText(d)
}

// showTool writes a step of a tool call, a line each.
func (v *screen) showTool(d eventData) error {
	s := v.style
	switch d.Status {
	case "in_progress":
		return v.printLineOf(d, s.Bold, "→ %s%s %s", speakerPrefix(d), d.Tool, string(d.Arguments))
	case "progress":
		return v.printLineOf(d, s.Dim, "… %s%s  %s", speakerPrefix(d), d.Tool, progressText(d))
	case "completed":
		return v.printLineOf(d, s.Green, "✓ %s%s  %d ms  %s", speakerPrefix(d), d.Tool, d.Duration, shortenToLine(d.Result))
	case "failed":
		return v.printLineOf(d, s.Red, "✗ %s%s  %d ms  %s", speakerPrefix(d), d.Tool, d.Duration, d.Error)
	default:
		return v.printLineOf(d, s.Yellow, "? %s%s  %s: %s", speakerPrefix(d), d.Tool, d.Status, d.Error)
	}
}

// showQuestion writes the calls that wait for a person.
func (v *screen) showQuestion(d eventData) error {
	for _, c := range d.Calls {
		if err := v.printLineOf(d, v.style.Yellow, "! %s %s  waits to be allowed (%s)", c.Tool, string(c.Arguments), strings.ReplaceAll(c.Reason, "_", " ")); err != nil {
			return err
		}
	}
	return nil
}

// progressText says how far a tool has come: "3 of 10: page 3".
func progressText(d eventData) string {
	text := strconv.FormatFloat(d.Progress, 'g', -1, 64)
	if d.Total > 0 {
		text += " of " + strconv.FormatFloat(d.Total, 'g', -1, 64)
	}
	if d.Message != "" {
		text += ": " + d.Message
	}
	return text
}

// showEnd writes the last line of a turn: its outcome, its usage and its time.
//
// A turn without text does not have a time of its first text.
func (v *screen) showEnd(d eventData) error {
	first := ""
	if ms := d.Timings.FirstDelta; ms != nil {
		first = fmt.Sprintf("first text %s, ", terminal.Millis(*ms))
	}
	if err := v.endText(); err != nil { // an empty line is behind it
		return err
	}
	if len(v.answer) > 0 {
		if _, err := fmt.Fprintf(v.out, "%s\n", v.answer); err != nil {
			return err
		}
	}
	if err := v.showReceipt(d); err != nil {
		return err
	}
	cached := ""
	if n := d.Usage.Cached; n > 0 {
		cached = fmt.Sprintf(" (%d of them cached)", n)
	}
	return v.printLine(v.style.Dim, "%s · %d tokens in%s, %d out, %d thinking · %stotal %s · %s",
		d.Finish, d.Usage.Input, cached, d.Usage.Output, d.Usage.Thinking, first, terminal.Millis(d.Timings.Total), d.RequestID)
}

// printLine prints a line of its own, without characters that could steer the terminal.
func (v *screen) printLine(color, format string, args ...any) error {
	if err := v.endText(); err != nil {
		return err
	}
	v.inText = false
	if err := v.printHeld(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(v.lines, "%s%s%s\n", color, terminal.Printable(fmt.Sprintf(format, args...)), v.style.Reset)
	return err
}

// shortenToLine shortens a tool's result for the screen.
//
// The bound is in characters: 100.
func shortenToLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return s
}
