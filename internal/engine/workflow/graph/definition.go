// This file has the data of a workflow, as the file defines it. Stored runs are pinned to it. The
// JSON is a stored format. An added member must be omitted while it is empty. Otherwise the SHA-256
// of every definition changes, and waiting runs are not found by it.

package graph

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a configuration.
const (
	maxNodes      = 200
	maxEdges      = 1000
	maxDefinition = 256 << 10 // bytes of a Definition as JSON
	maxExpression = 2000      // characters
	maxRounds     = 20
)

// Defaults of missing keys.
const (
	defaultIterations = 50
	defaultTimeout    = 10 * time.Minute
	defaultRounds     = 3
)

// Definition is a workflow as the file says it, with all defaults put in. It is plain data: runs
// are pinned to its JSON, and another process compiles it again.
type Definition struct {
	Name        string `json:"name" key:"@"`
	Description string `json:"description,omitempty" key:"description"`
	// Examples are requests for it. They are shown to people, so the stored form omits them: a run
	// stays pinned to the same definition if they change.
	Examples []string `json:"-" key:"examples"`
	Kind     string   `json:"kind,omitempty" key:"kind"`
	// RetentionDays is how long a run's records are kept; nil: as the policy says.
	RetentionDays *int `json:"retention_days,omitempty" key:"retention_days"`
	// Answer is the node whose text is the answer; empty: all end nodes.
	Answer string `json:"answer,omitempty" key:"answer"`
	Entry  string `json:"entry_point" key:"entry_point"`
	// Checkpoints are nodes that begin only after a person's approval.
	Checkpoints   []string      `json:"checkpoints,omitempty" key:"checkpoints"`
	MaxIterations int           `json:"max_iterations" key:"max_iterations"`
	Timeout       time.Duration `json:"timeout" key:"timeout" from:"1s" to:"24h"` // of running, without waits
	Nodes         []Node        `json:"nodes"`                                    // in the order of the file
	Edges         []Edge        `json:"edges"`                                    // in the order of the file
	// Agents are the settings of the agents that a run is pinned to, in a form of the gateway; nil
	// if it is not pinned to any.
	Agents jsontext.Value `json:"agents,omitempty"`
}

// Node is one node. Its Type decides which of the fields count.
type Node struct {
	ID   string   `json:"id" key:"@"`
	Type NodeType `json:"type" key:"type"`

	Agent   string `json:"agent,omitempty" key:"agent"`
	Input   string `json:"input,omitempty" key:"input"` // a template; empty: the run's input
	Pattern string `json:"pattern,omitempty" key:"pattern"`

	Tool      string     `json:"tool,omitempty" key:"tool"` // server/name
	Arguments []Argument `json:"arguments,omitempty"`

	Expression string `json:"expression,omitempty" key:"expression"`

	Prompt    string         `json:"prompt,omitempty" key:"prompt"` // a template
	Schema    jsontext.Value `json:"schema,omitempty" key:"schema"` // of a person's input
	OnTimeout string         `json:"on_timeout,omitempty" key:"on_timeout"`
	Approvers []string       `json:"approvers,omitempty" key:"approvers"` // owner, any, or ids

	// Timeout bounds one execution; for a human node it bounds the wait. 0 means without a bound.
	Timeout time.Duration `json:"timeout,omitempty"`
	Output  []Assignment  `json:"output,omitempty" key:"output"`
	Repeat  *Repeat       `json:"repeat,omitempty"`
	Speak   bool          `json:"speak,omitempty" key:"speak"` // its text is part of the answer
}

// AgentNode is the type of nodes with an agent, and of all nodes of a workflow that lists only
// patterns.
const AgentNode NodeType = "agent"

// Patterns of an agent node.
const (
	PatternReact      = "react"
	PatternReflection = "reflection"
)

// Argument is one argument of a tool: an expression, or a value as it stands.
type Argument struct {
	Name       string         `json:"name"`
	Expression string         `json:"expression,omitempty"`
	Value      jsontext.Value `json:"value,omitempty"`
}

// Assignment puts the value of an expression into a field of the State: routing_key,
// next_action, metadata, or metadata.KEY.
type Assignment struct {
	Field      string `json:"field" key:"@"`
	Expression string `json:"expression" key:"."`
}

// Repeat runs a node again until an expression is true, at most Max times.
type Repeat struct {
	Critic string `json:"critic,omitempty" key:"critic"` // an agent that judges each draft; empty: none
	Until  string `json:"until" key:"until"`
	Max    int    `json:"max" key:"max"`
}

// Edge leads from one node to another. For an edge of a map, Match is the value of the node's
// expression for which it is taken, or Default is set.
//
// Exactly one of these holds: Condition is set, the edge is of a map (mapped), or it is
// taken always.
type Edge struct {
	From      string `json:"from" key:"from"`
	To        string `json:"to" key:"to"`
	Condition string `json:"condition,omitempty" key:"condition"`
	Match     string `json:"match,omitempty"`
	Default   bool   `json:"default,omitempty"`

	mapped bool   // of a map; Match may be empty
	at     string // JSON pointer below the workflow, for faults
}

// Mapped returns for which value an edge of a map is taken; nil: it is of none, or its
// default.
func (e *Edge) Mapped() *string {
	if !e.mapped || e.Default {
		return nil
	}
	return &e.Match
}

// storedEdge distinguishes a map's empty value from no map.
//
// The stored form has "match":"" for an edge that is followed for the empty text, and no
// member for one that is of no map. With a plain string both would be left out.
type storedEdge struct {
	From      string  `json:"from"`
	To        string  `json:"to"`
	Condition string  `json:"condition,omitempty"`
	Match     *string `json:"match,omitempty"`
	Default   bool    `json:"default,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (e Edge) MarshalJSON() ([]byte, error) {
	s := storedEdge{From: e.From, To: e.To, Condition: e.Condition, Default: e.Default}
	s.Match = e.Mapped()
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Edge) UnmarshalJSON(data []byte) error {
	var s storedEdge
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	*e = Edge{From: s.From, To: s.To, Condition: s.Condition, Default: s.Default, mapped: s.Match != nil || s.Default}
	if s.Match != nil {
		e.Match = *s.Match
	}
	return nil
}

// encodeStored returns the definition's JSON, and the SHA-256 of it in hexadecimal digits.
func (d *Definition) encodeStored() (text []byte, sum string, err error) {
	text, err = json.Marshal(d)
	hash := sha256.Sum256(text)
	return text, hex.EncodeToString(hash[:]), err
}

// NodeType is the name of a kind, in the file and in stored runs.
type NodeType string

// Problem is something wrong with a Definition.
type Problem struct {
	// Pointer leads from the workflow to the value: /nodes/pay/tool.
	Pointer jsontext.Pointer
	// Text is fit for the author of the definition. It names nodes and holds no value.
	Text string
}

// Error implements error.
func (p Problem) Error() string { return string(p.Pointer) + ": " + p.Text }

// pointerTo returns the pointer to the value under these keys of p.
func pointerTo(p jsontext.Pointer, keys ...string) jsontext.Pointer {
	for _, key := range keys {
		p = p.AppendToken(key)
	}
	return p
}
