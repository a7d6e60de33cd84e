// This file shows the work of several agents on one screen. The text of one agent is written as it
// comes. Lines about the others wait until it ends, because two streams in one column cannot be
// read.

package ask

import (
	"fmt"
	"strings"

	"sluice/internal/clients/terminal"
)

// teamData has the members of the events of a team that the client reads.
type teamData struct {
	AgentID      string   `json:"agent_id"`
	Decision     string   `json:"decision"`
	Additional   []string `json:"additional_agents"`
	Confidence   float64  `json:"confidence"`
	Reasoning    string   `json:"reasoning"`
	Method       string   `json:"method"`
	Attempt      int      `json:"attempt"`
	Elapsed      int64    `json:"execution_time_ms"`
	ErrorMessage string   `json:"error_message"`
	NodeID       string   `json:"node_id"`
	NodeType     string   `json:"type"`
	Iteration    int      `json:"iteration"`
}

// teamView is the screen's state of the agents of a turn.
//
// running has each agent that began, and whether it still works.
type teamView struct {
	running  map[string]bool
	speaking string   // whose text was last shown
	held     []string // lines of others that wait until the text at hand has ended
}

// showRoute shows the chosen agents, how sure that is, and why.
func (v *screen) showRoute(d eventData) error {
	who := d.AgentID
	for _, id := range d.Additional {
		who += " + " + id
	}
	switch d.Decision {
	case "clarify":
		who = "a question to you"
	case "fallback":
		who = "no agent"
	}
	how := strings.ReplaceAll(d.Method, "_", " ")
	if d.Method == "model" {
		how = fmt.Sprintf("%.0f%% sure, %s", 100*d.Confidence, terminal.Millis(d.Duration))
	}
	if err := v.printLine(v.style.Bold, "⇒ %s  (%s)", who, how); err != nil || d.Reasoning == "" {
		return err
	}
	return v.printLine(v.style.Dim, "  %s", d.Reasoning)
}

// showAgent shows the state of an agent's part.
func (v *screen) showAgent(d eventData) error {
	s := v.style
	if v.team.running == nil {
		v.team.running = map[string]bool{}
	}
	v.team.running[d.AgentID] = d.Status == "started" || d.Status == "retrying"
	switch d.Status {
	case "started":
		return v.printLineOf(d, s.Dim, "● %s started", d.AgentID)
	case "retrying":
		return v.printLineOf(d, s.Yellow, "↻ %s is tried again, attempt %d", d.AgentID, d.Attempt)
	case "completed":
		return v.printLineOf(d, s.Green, "● %s done  %s", d.AgentID, terminal.Millis(d.Elapsed))
	}
	return v.printLineOf(d, s.Red, "● %s %s  %s  %s", d.AgentID, d.Status, terminal.Millis(d.Elapsed), d.ErrorMessage)
}

// showNode shows the state of a workflow's node.
func (v *screen) showNode(d eventData) error {
	s := v.style
	if v.team.running == nil {
		v.team.running = map[string]bool{}
	}
	rounds := ""
	if d.Iteration > 1 {
		rounds = fmt.Sprintf("  after %d rounds", d.Iteration)
	}
	switch d.Status {
	case "started":
		return v.printLineOf(d, s.Dim, "▸ %s (%s)", d.NodeID, d.NodeType)
	case "skipped":
		return v.printLineOf(d, s.Dim, "▹ %s skipped", d.NodeID)
	case "waiting":
		return v.printLineOf(d, s.Yellow, "▸ %s waits for a person", d.NodeID)
	case "completed":
		return v.printLineOf(d, s.Green, "▸ %s done  %s%s", d.NodeID, terminal.Millis(d.Duration), rounds)
	}
	return v.printLineOf(d, s.Red, "▸ %s %s  %s  %s", d.NodeID, d.Status, terminal.Millis(d.Duration), d.ErrorType)
}

// printLineOf prints a line that is about an agent. While another one's text is on the
// screen, and still comes, it is kept for later: it would cut the text in two.
//
// When no agent at all is known to run, the text is an answer after the agents, and lines
// wait as well.
func (v *screen) printLineOf(d eventData, color, format string, args ...any) error {
	if v.inText && d.AgentID != "" && (v.isAgentRunning(v.team.speaking) || !v.isAgentRunning("")) {
		v.team.held = append(v.team.held, color+terminal.Printable(fmt.Sprintf(format, args...))+v.style.Reset)
		return nil
	}
	return v.printLine(color, format, args...)
}

// isAgentRunning reports whether an agent is at work; empty: any of them.
func (v *screen) isAgentRunning(id string) bool {
	for each, runs := range v.team.running {
		if runs && (id == "" || id == each) {
			return true
		}
	}
	return false
}

// printHeld prints the lines that were kept.
func (v *screen) printHeld() error {
	for _, line := range v.team.held {
		if _, err := fmt.Fprintln(v.lines, line); err != nil {
			return err
		}
	}
	v.team.held = nil
	return nil
}

// speakerPrefix returns the words before a line about an agent's doing.
func speakerPrefix(d eventData) string {
	if d.AgentID == "" {
		return ""
	}
	return d.AgentID + ": "
}
