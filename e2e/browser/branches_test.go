package browser

import (
	"fmt"
	"testing"
)

// What works at the same time, in Chromium: members of a team, nodes of a workflow and agents that
// agents call have a block each, and a workflow is a graph.
func TestBranches(t *testing.T) {
	t.Parallel()
	browser := chromium(t)
	research := startGateway(t, map[string]string{"SLUICE_CONFIG": root + "/examples/workflows/research.yaml", "SLUICE_STORE": "memory"})
	refunds := startGateway(t, map[string]string{"SLUICE_CONFIG": root + "/examples/workflows/refund.yaml", "SLUICE_STORE": "memory"})
	firm := startGateway(t, map[string]string{"SLUICE_CONFIG": delegating(t)})
	trio := func() string {
		return startGateway(t, map[string]string{"SLUICE_CONFIG": threeBranches(t), "SLUICE_STORE": "memory"}).base
	}
	flows := []flow{{"branches", trio()}, {"branchesNarrow", trio()}, {"branchesForced", trio()}, {"graph", research.base}, {"graphKeyboard", research.base}, {"graphWaits", refunds.base},
		{"delegates", firm.base}, {"unreachable", firm.base}, {"deltas", firm.base}}
	journeys := travel(t, browser, flows)
	check(t, flows, journeys)
	t.Log(journeys["deltas"].Facts.Note)
}

// delegating returns the path of a configuration file in which an agent calls an agent that calls
// one.
func delegating(t *testing.T) string {
	t.Helper()
	sim := startGemini(t, map[string]string{
		"leads": "lenient\ncall delegate_to_researcher {\"task\":\"digs\"}\nfinish STOP\n---\ntext \"We have \"\ntext it.\nfinish STOP",
		"digs":  "lenient\nthought **Where to look**\ncall delegate_to_writer {\"task\":\"notes\"}\nfinish STOP\n---\ntext \"Found and \"\ntext noted.\nfinish STOP",
		"notes": "text \"I note \"\ntext it.\nfinish STOP",
	})
	return written(t, "firm.yaml", fmt.Sprintf(`router: off
models: {default: {provider: gemini, endpoint: %q, model: gemini-first, api_key: k1234567}}
agents:
  boss: {description: Leads, role: You are boss., delegates: [researcher]}
  researcher: {description: Finds things out, role: You are researcher., delegates: [writer]}
  writer: {description: Writes, role: You are writer.}
`, sim.url))
}

// threeBranches returns the path of a configuration file with a workflow of three branches, each
// with a sub-agent, which then stay at work. It is for one run.
func threeBranches(t *testing.T) string {
	t.Helper()
	scripts := map[string]string{
		"begin":  "text \"There are three \"\ntext sides.\nfinish STOP",
		"source": "text \"A source \"\ntext for it.\nfinish STOP",
	}
	for _, side := range []string{"facts", "doubts", "costs"} {
		scripts[side] = fmt.Sprintf("lenient\ncall delegate_to_librarian {\"task\":\"source-%[1]s\"}\nfinish STOP\n---\ntext \"I look \"\ntext at %[1]s.\nstall", side)
	}
	sim := startGemini(t, scripts)
	return written(t, "trio.yaml", fmt.Sprintf(`models: {default: {provider: gemini, endpoint: %q, model: gemini-first, api_key: k1234567, timeout: 3m}}
agents:
  researcher: {description: Finds things out, role: You are researcher., delegates: [librarian]}
  librarian: {description: Knows sources, role: You are librarian.}
workflows:
  trio:
    description: Looks at a question from three sides
    nodes:
      question: {type: agent, agent: researcher}
      facts: {type: agent, agent: researcher, input: facts}
      doubts: {type: agent, agent: researcher, input: doubts}
      costs: {type: agent, agent: researcher, input: costs}
      report: {type: agent, agent: researcher}
    edges:
      - {from: question, to: facts}
      - {from: question, to: doubts}
      - {from: question, to: costs}
      - {from: facts, to: report}
      - {from: doubts, to: report}
      - {from: costs, to: report}
`, sim.url))
}
