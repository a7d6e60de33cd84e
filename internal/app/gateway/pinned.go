package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/engine"
	"sluice/internal/engine/workflow/graph"
)

// A run is pinned to its definition and to the settings of its agents: a later file is for later
// runs. Models and servers are not pinned, as their keys are not stored. A run that needs a missing
// one reports that when it gets there.

// pinnedAgents is graph.Definition.Agents: the settings of the agents that the nodes
// name, and of those that these may call.
type pinnedAgents struct {
	Agents []router.AgentSpec `json:"agents"`
	// Timeout is that of the sessions of agents without one of their own.
	Timeout time.Duration `json:"timeout"`
}

// pinFlow returns a workflow of the file with the settings of its agents.
//
// The pinned text is part of the workflow's SHA-256: a file with another prompt is another
// definition.
func pinFlow(w *graph.Workflow, team []router.AgentSpec, timeout time.Duration) (*graph.Workflow, error) {
	named := w.Agents()
	for i := 0; i < len(named); i++ { // grows by the delegates of the agents
		for _, a := range team {
			if a.ID != named[i] {
				continue
			}
			for _, id := range a.Delegates {
				if !slices.Contains(named, id) {
					named = append(named, id)
				}
			}
		}
	}
	p := pinnedAgents{Timeout: timeout}
	for _, a := range team { // remote agents lack steps to continue from, and their headers may hold keys
		if a.Remote == nil && slices.Contains(named, a.ID) {
			p.Agents = append(p.Agents, a)
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return w.Pinned(text)
}

// readPinned returns the agents that a definition is pinned to, or nil without pinned agents.
// The error wraps engine.ErrGone.
func readPinned(w *graph.Workflow) (*pinnedAgents, error) {
	text := w.Definition().Agents
	if text == nil {
		return nil, nil
	}
	p := new(pinnedAgents)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("agents of a definition: %w: %w", engine.ErrGone, err)
	}
	return p, nil
}
