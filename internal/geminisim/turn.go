package geminisim

import (
	"strings"
	"time"
)

// turn is what the rules see of a request: the visitor's last text, and what the
// tools have answered since.
type turn struct {
	text  string
	now   time.Time
	zone  string // its name, as the system instruction spells it
	tools toolbox
	// unavailable is what the system instruction says about tools that are away:
	// the first sentence of its line "Unavailable tools: …".
	unavailable string
	// mayCall is false when the request forbids function calls.
	mayCall bool
	results []toolResult // of this turn, in order
	last    []toolResult // those of the last step
}

func readTurn(req *request, clock func() time.Time) *turn {
	t := &turn{
		tools:   readToolbox(req.Tools),
		mayCall: req.ToolConfig.FunctionCallingConfig.Mode != modeNone,
	}
	system := ""
	if req.SystemInstruction != nil {
		system = req.SystemInstruction.text()
	}
	t.readClock(system, clock)
	if m := unavailableLine.FindStringSubmatch(system); m != nil {
		t.unavailable = strings.TrimSpace(m[1])
	}
	begin := lastUserText(req.Contents)
	if begin >= 0 {
		t.text = req.Contents[begin].text()
	}
	for i := begin + 1; i < len(req.Contents); i++ {
		t.readResults(req.Contents, i)
	}
	return t
}

var (
	nowLine         = rawPattern(`(?m)^Now it is \w+, (\d{4}-\d{2}-\d{2}), (\d{2}:\d{2}) in the time zone (\S+) \(UTC([+-]\d{2}:\d{2})?\)\.`)
	unavailableLine = rawPattern(`(?m)^Unavailable tools:([^.\n]*)`)
)

// readClock takes the date from the system instruction, as a model would. The
// line has the form
//
//	Now it is Saturday, 2026-11-21, 11:30 in the time zone Europe/Berlin (UTC+01:00).
func (t *turn) readClock(system string, clock func() time.Time) {
	if m := nowLine.FindStringSubmatch(system); m != nil {
		offset := m[4]
		if offset == "" {
			offset = "+00:00"
		}
		if now, err := time.Parse("2006-01-02 15:04-07:00", m[1]+" "+m[2]+offset); err == nil {
			_, seconds := now.Zone()
			t.zone, t.now = m[3], now.In(time.FixedZone(m[3], seconds))
			return
		}
	}
	t.now = clock()
	t.zone = t.now.Location().String()
}

// readResults reads the function responses of contents[i], if it has any; their
// calls are in the content before it, in the same order.
func (t *turn) readResults(contents []content, i int) {
	responses := contents[i].responses()
	if len(responses) == 0 || i == 0 {
		return
	}
	calls := contents[i-1].calls()
	t.last = nil
	for k, r := range responses {
		if k < len(calls) {
			t.last = append(t.last, readResult(*calls[k], r, t.now.Location()))
		}
	}
	t.results = append(t.results, t.last...)
}

// of returns the results of the given tools' calls.
func (t *turn) of(tools ...*todoTool) []toolResult {
	var found []toolResult
	for _, r := range t.results {
		for _, tool := range tools {
			if tool != nil && r.call.Name == tool.name {
				found = append(found, r)
				break
			}
		}
	}
	return found
}

// away says whether the tool cannot be used: it is not declared, or the system
// instruction names it, or the todo list as a whole, as unavailable.
func (t *turn) away(tool *todoTool) bool {
	if tool == nil {
		return true
	}
	line := strings.ToLower(t.unavailable)
	return strings.Contains(line, "todo") || line != "" && strings.Contains(line, strings.ToLower(tool.name))
}

// output is what the offline model answers with: calls or a text.
type output struct {
	thoughts []string
	calls    []plannedCall
	text     string
}

// intent is what a visitor wants. next returns the answer for the turn as far as
// it has come; it is a pure function, so the whole state is in the request.
type intent interface {
	next(t *turn) output
}

// think decides on the answer to a request.
func think(t *turn) output {
	return readIntent(t.text, t.now).next(t)
}

// say is an intent that needs no tools.
type say func(t *turn) string

func (s say) next(t *turn) output { return output{text: s(t)} }

// batch is how many calls are made in one step; more would not all be executed.
const batch = 8

// inBatches returns the calls of the next step, given how many are done. A step
// in which every call failed ends the work: the rest would fail as well.
func (t *turn) inBatches(calls []plannedCall, done int) []plannedCall {
	if done >= len(calls) || !t.mayCall {
		return nil
	}
	if done > 0 && len(failed(t.last)) == len(t.last) {
		return nil
	}
	return calls[done:min(done+batch, len(calls))]
}

func failed(results []toolResult) []toolResult {
	var out []toolResult
	for _, r := range results {
		if r.fault != "" {
			out = append(out, r)
		}
	}
	return out
}
