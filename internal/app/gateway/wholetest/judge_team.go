package wholetest

import (
	"slices"
)

// judgeRoute judges the decision of a team: it comes once and before any agent.
func (j *judgement) judgeRoute(ev WireEvent) {
	j.must(j.routes == 0 && len(j.agents) == 0 && j.text == "", "a route comes once and first")
	j.routes++
	j.must(slices.Contains([]string{"route", "clarify", "fallback"}, ev.Decision), "decision %q", ev.Decision)
	j.must(ev.AgentID != "" && ev.Confidence >= 0 && ev.Confidence <= 1 && len([]rune(ev.Reasoning)) <= 501, "route %+v", ev)
	j.clarified = ev.Decision == "clarify"
}

// judgeAgent judges the events of an agent's part: it begins once and ends once.
func (j *judgement) judgeAgent(ev WireEvent) {
	j.must(j.routes == 1, "an agent before the route")
	if j.agents == nil {
		j.agents = map[string]string{}
	}
	before := j.agents[ev.AgentID]
	switch ev.Status {
	case "started":
		j.must(before == "" && ev.Success == nil && ev.Attempt == 1, "agent %s starts after %q", ev.AgentID, before)
	case "retrying":
		j.must((before == "started" || before == "retrying") && ev.Attempt > 1, "agent %s is tried again after %q", ev.AgentID, before)
	case "completed", "failed", "cancelled":
		j.must(before == "started" || before == "retrying", "agent %s ends after %q", ev.AgentID, before)
		j.must(ev.Success != nil && *ev.Success == (ev.Status == "completed"), "agent %s is %s with success %v", ev.AgentID, ev.Status, ev.Success)
		j.must((ev.ErrorMessage == "") == (ev.Status == "completed"), "agent %s is %s: %q", ev.AgentID, ev.Status, ev.ErrorMessage)
	default:
		j.addFault("status %q of an agent", ev.Status)
	}
	j.agents[ev.AgentID] = ev.Status
}

// teamEnded judges the members of done about a team.
func (j *judgement) teamEnded(ev WireEvent) {
	sent := 0
	for _, a := range ev.Agents {
		status, here := j.agents[a.AgentID]
		if !here && j.routes == 1 && len(j.agents) > 0 { // it ended before a pause, in another stream
			continue
		}
		sent++
		j.must(status == "completed" || status == "failed" || status == "cancelled", "agent %s is %s at done", a.AgentID, status)
		j.must(a.Success == (status == "completed"), "agent %s is %s, and success is %v", a.AgentID, status, a.Success)
	}
	j.must(sent == len(j.agents), "done tells of %d agents of %d", sent, len(j.agents))
}
