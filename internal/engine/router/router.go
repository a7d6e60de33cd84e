// Package router makes a team of agents answer as one. It decides which agents answer a request,
// runs them, and joins their texts into one answer.
//
// A Team is a stream.Runner over stream.Runners. It does not know the model that decides, nor how
// its agents are built.
//
// A turn goes through three stages. The decision: a request may name its agent, a rule may know it,
// or there may be only one. Else a model is asked for ids and a confidence, within a time limit.
// The dispatch: the chosen agents run side by side or one after the other, each with a deadline of
// its own. The text of the first is emitted at once, those of the others wait. The answer: texts
// are joined in the order of the decision, and failures are named.
//
// The goroutine that called Run alone emits. Each further agent has a goroutine of its own, and Run
// waits for it. An agent whose client has gone is cancelled with the cause. An agent is tried again
// only if it has called nothing that must not run twice.
package router

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/turn/chat"
	"sluice/stream"
)

// Agent is a member of a team. It never changes.
type Agent struct {
	ID           string // unique
	Name         string // for people; empty: ID
	Description  string
	Capabilities []string
	Examples     []string
	// Hidden keeps the agent out of the catalogue: only a request that names it, or a
	// rule, reaches it.
	Hidden bool
	// Timeout bounds its part of a turn, all attempts together; 0: Dispatch.Timeout.
	Timeout time.Duration
	// Runner answers for the agent. It is run once an attempt, and never twice at the
	// same time in one turn.
	Runner stream.Runner
	// Remote says that the agent runs somewhere else. Its runs receive that.
	Remote bool
	// Available reports whether the agent can be chosen now; nil: always.
	Available func() bool
}

// isAvailable reports whether the agent can answer now; without a function it always
// can.
func (a *Agent) isAvailable() bool { return a.Available == nil || a.Available() }

// shownName returns the agent's name for people: its Name, or else its ID.
func (a *Agent) shownName() string {
	if a.Name != "" {
		return a.Name
	}
	return a.ID
}

// Asker asks a language model for one JSON value.
type Asker interface {
	// Ask returns a value that q.Schema allows, but for the members named in it as open.
	// Its errors are *fault.Error when the model could not be asked, and wrap
	// ErrUnreadable when no answer was readable. The Reply counts with an error too.
	Ask(ctx context.Context, q *Question) (Reply, error)
}

// Question is a question to a model, asked in order to route a request.
type Question struct {
	Model string // a key; empty: the default model
	// System and User are the prompt; Schema is the schema of the answer.
	System      string
	User        string
	Schema      jsontext.Value
	Open        []string // members whose enum is not checked
	Temperature *float64 // nil: none is asked for
	MaxTokens   int
	Thinking    string // a level
	// MaxAttempts counts answers that could not be read. The model's own
	// retries are not among them.
	MaxAttempts int
}

// Reply is a model's answer.
type Reply struct {
	// JSON keeps to the question's schema. Usage is that of all attempts.
	JSON     jsontext.Value
	Usage    chat.Usage
	Attempts int
	Model    string // the key of the model that answered
	// Unreadable is how many of the attempts gave nothing that could be read.
	Unreadable int
}

// ErrUnreadable is wrapped by the error of an Asker that got no readable answer.
var ErrUnreadable = errors.New("no readable answer")

// Config describes a Team. Begin with Defaults; Agents is required, and Asker unless Off.
type Config struct {
	Agents []Agent `json:"-"` // in the order of the catalogue
	Asker  Asker   `json:"-"`
	// Off answers requests that name no agent by the first one.
	Off bool

	Model     string  `key:"model" of:"models,default"`    // key of the model that decides; empty: the default
	Escalate  string  `key:"escalate" of:"models,default"` // key of the model to ask when Model is unsure; empty: none
	Threshold float64 `key:"confidence_threshold"`         // 0–1: a decision below it becomes a question
	// MaxAttempts is how often the model is asked for one decision, at most.
	MaxAttempts int           `key:"max_attempts"`
	Timeout     time.Duration `key:"timeout" from:"100ms" to:"60s"` // of one routing call, to its end
	Temperature *float64      `key:"temperature"`
	MaxTokens   int           `key:"max_output_tokens"`
	Thinking    string        `key:"thinking"`

	Prompt

	Unsure

	// Sticky reports whether the agent that answered last continues.
	Sticky Sticky `key:"sticky"`

	// Rules decide before any model is asked. The first one that fits counts.
	Rules         []Rule
	MaxConcurrent int `key:"max_concurrent"` // routing calls at the same time

	Dispatch  Dispatch
	Aggregate Aggregate

	// Metrics gets the decisions and the agents' runs. nil: nothing is counted.
	Metrics *metrics.Registry `json:"-"`
	// LogPayloads puts the reasoning of decisions into the log.
	LogPayloads bool
}

// Unsure is what becomes of a request that no agent clearly fits.
type Unsure struct {
	ClarificationAgent    string `key:"clarification_agent"`    // an id; if it is among Agents, it asks the question
	ClarificationTemplate string `key:"clarification_template"` // with {request} {agents} {agent} {reason}
	// FallbackAgent answers if no agent fits: an agent's id, or a name that stands for the
	// template.
	FallbackAgent    string `key:"fallback_agent"`
	FallbackTemplate string `key:"fallback_template"`
	// MaxClarifications is how many questions may come in a row, then a request that is not clear
	// gets the fallback. If the gateway stores no questions, the bound is never reached, unless it
	// is 0.
	MaxClarifications int `key:"max_clarifications"`
}

// Prompt is how the model that decides is asked. The parts that are empty are the built-in ones.
type Prompt struct {
	// The prompt's parts; those that are empty are the built-in ones.
	SystemPrompt    string `key:"system_prompt" most:"16 KiB"`
	UserTemplate    string `key:"user_template" most:"16 KiB"` // with {request} or {0}, {agents} or {1}, {history}, {threshold}
	CatalogueHeader string `key:"catalogue_header"`
	Capabilities    bool   `key:"include_capabilities"` // show them in the catalogue
	Examples        bool   `key:"include_examples"`     // show them in the catalogue
	HistoryTurns    int    `key:"history_turns"`        // how many turns before are shown to the model that decides
}

// Sticky says how a conversation and its agent hold together: Request.LastAgent.
type Sticky string

// Ways to be sticky.
const (
	stickyOff  Sticky = "off"
	stickyHint Sticky = "hint" // the model that decides receives who answered last
	stickyHold Sticky = "hold" // the conversation keeps its agent
)

// Rule sends requests to agents without asking a model.
type Rule struct {
	Match  *regexp.Regexp
	Agents []string `key:"agents" of:"agents"`
}

// Dispatch says how agents are run.
type Dispatch struct {
	Sequential bool `key:"mode" is:"sequential"` // each agent starts after, and sees, those before it
	// Retries is how often an agent is tried again, RetryDelay the pause before it. An agent that
	// may have changed something is not tried again.
	Retries    int           `key:"retries"`
	RetryDelay time.Duration `key:"retry_delay" from:"0s" to:"30s"`
	// MaxAgents bounds how many answer one request; those after them are left
	// out.
	MaxAgents int           `key:"max_agents"`
	Timeout   time.Duration `key:"timeout" from:"1s" to:"10m"` // of one agent, all attempts together
}

// Aggregate says how the answers of several agents become one.
type Aggregate struct {
	NaturalJoining bool `key:"natural_joining"`
	// PartialFailure begins with {successMessage} and has {failureMessage}.
	PartialFailure string `key:"partial_failure_template"`
	Failure        string `key:"failure_message"`  // of one agent, with {agent} and {reason}
	Fallback       string `key:"fallback_message"` // when all agents failed
}

// Ids that a model may choose, or that stand for a template instead of an agent.
const (
	defaultClarificationAgent = "clarification-agent"
	defaultFallbackAgent      = "fallback-agent"
)

// Defaults returns a Config that lacks only Agents and Asker.
func Defaults() Config {
	temperature := 0.3
	return Config{
		Threshold:   0.7,
		MaxAttempts: 3,
		Timeout:     5 * time.Second,
		Temperature: &temperature,
		MaxTokens:   500,
		Thinking:    "low",

		Prompt: Prompt{
			SystemPrompt:    defaultSystemPrompt,
			UserTemplate:    defaultUserTemplate,
			CatalogueHeader: "Available agents:",
			Capabilities:    true,
			Examples:        true,
			HistoryTurns:    1,
		},

		Unsure: Unsure{
			ClarificationAgent:    defaultClarificationAgent,
			ClarificationTemplate: defaultClarification,
			FallbackAgent:         defaultFallbackAgent,
			FallbackTemplate:      defaultFallback,
			MaxClarifications:     2,
		},
		Sticky:        stickyHint,
		MaxConcurrent: 64,

		Dispatch: Dispatch{Retries: 2, RetryDelay: time.Second, MaxAgents: 4, Timeout: 30 * time.Second},
		Aggregate: Aggregate{
			NaturalJoining: true,
			PartialFailure: "{successMessage} However, {failureMessage}",
			Failure:        "{agent} could not help: {reason}",
			Fallback:       "I encountered an issue processing your request. Please try again.",
		},
	}
}

// Team answers requests. It is safe for concurrent use and never changes.
type Team struct {
	cfg    Config
	byID   map[string]*Agent
	places chan struct{} // one for each routing call under way
	counts instruments
}

// New returns a Team.
func New(cfg Config) *Team {
	if cfg.SystemPrompt == defaultSystemPrompt {
		cfg.SystemPrompt = strings.ReplaceAll(cfg.SystemPrompt, defaultFallbackAgent, cfg.FallbackAgent)
	}
	t := &Team{
		cfg:    cfg,
		byID:   make(map[string]*Agent, len(cfg.Agents)),
		places: make(chan struct{}, max(cfg.MaxConcurrent, 1)),
		counts: newInstruments(cfg.Metrics),
	}
	for i := range cfg.Agents {
		t.byID[cfg.Agents[i].ID] = &cfg.Agents[i]
	}
	return t
}

// Knows reports whether the team has an agent of that id.
func (t *Team) Knows(id string) bool { return t.byID[id] != nil }
