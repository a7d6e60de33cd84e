// This file has the data of a run, and the rules that need the data alone: which nodes are open,
// when a node is skipped, and whether a person must answer first. The types with JSON names are
// stored formats: a member may be added, and older members must stay readable. If that is
// impossible, run.Version is raised.

package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/turn/chat"
)

// Run is the state of a run: a value that can be stored and continued elsewhere. Its parts are
// stored apart: Header once, Ended and Messages as they grow, Progress in place of the previous
// one. So the stored size of a run grows with its texts, and not with their square.
//
// A Run is used by one goroutine at a time. Its zero value is not usable; newRun and restorePaused
// make one.
type Run struct {
	Header   Header    `json:"header"`
	Ended    []Ended   `json:"ended"`    // append only, in the order of the ends
	Messages []Message `json:"messages"` // append only, in the order of the ends
	Progress Progress  `json:"progress"`

	w  *graph.Workflow
	at []int // by the order of a node: its number in Ended, or -1

	overdone bool // see Overdone

	// Origin is where the run was read; nil: it began in this process.
	Origin Origin `json:"-"`
}

// Origin is the stored form that a run was read from. Only the store of the run knows its type.
type Origin interface {
	// Orphaned says that the process which ran the run is gone.
	Orphaned() bool
	// TimedOut says that nobody has answered in time.
	TimedOut()
}

// Workflow returns the definition that the run is pinned to.
func (r *Run) Workflow() *graph.Workflow { return r.w }

// Header is what never changes of a run.
type Header struct {
	ID         string        `json:"id"` // the task's; one of our own where turns are not kept
	Workflow   string        `json:"workflow"`
	Definition string        `json:"definition"` // its SHA-256
	CreatedAt  time.Time     `json:"created_at"`
	Request    StoredRequest `json:"asked"`
}

// StoredRequest is the part of the request that a run stores.
//
// It is as much of the request as the agents of a later process need.
type StoredRequest struct {
	Input          string              `json:"input"`
	History        []HistoryText       `json:"history,omitempty"`
	ConversationID string              `json:"conversation_id,omitempty"`
	UserID         string              `json:"user_id,omitempty"`
	Tenant         string              `json:"tenant,omitempty"`
	Principal      string              `json:"principal,omitempty"`
	Class          string              `json:"class,omitempty"`  // of limits
	Sender         string              `json:"sender,omitempty"` // the user whose credential asked, if that is not Principal
	KeyID          string              `json:"key_id,omitempty"` // of that credential
	Timezone       string              `json:"timezone,omitempty"`
	Context        []chat.ContextEntry `json:"context,omitempty"`
	Tools          chat.ToolAccess     `json:"tools,omitempty"`
	Kind           string              `json:"kind,omitempty"`
	RetentionDays  *int                `json:"retention_days,omitempty"`
	Form           chat.ReplyForm      `json:"form,omitzero"`
	// HasHistory is that of the request: History is not the memory's.
	HasHistory bool `json:"has_history,omitempty"`
}

// HistoryText is one message of the history.
type HistoryText struct {
	Role chat.Role `json:"role"`
	Text string    `json:"text"`
}

// Message is one message of a run.
type Message struct {
	Role      string     `json:"role"` // user, assistant, tool or system
	Content   string     `json:"content"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"` // of an assistant; their results follow in their order
	Timestamp time.Time  `json:"timestamp"`
	Node      string     `json:"node,omitempty"` // empty: the request
}

// Roles of a Message.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
	roleSystem    = "system"
)

// ToolCall is a call in a Message.
type ToolCall struct {
	ID        string         `json:"id"` // that of its events
	Server    string         `json:"server"`
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments"`
}

// Outcome of a node.
const (
	outcomeCompleted = "completed"
	outcomeFailed    = "failed" // and an edge continues from there
	outcomeSkipped   = "skipped"
)

// Ended is what became of a node.
//
// There is one for each node that has ended, skipped ones included. A node ends once in a run.
type Ended struct {
	Node     string        `json:"node"`
	Outcome  string        `json:"outcome"`
	Rounds   int           `json:"rounds,omitempty"`
	Followed []int         `json:"taken,omitempty"` // numbers of edges
	Wrote    []graph.Wrote `json:"wrote,omitempty"`
	// Result is the number of the Message with its text; -1 without a text.
	Result   int       `json:"result"`
	Value    any       `json:"value,omitempty"` // of a condition's expression
	Critic   any       `json:"critic,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	// Unknown are the node's calls with an unknown outcome, by server, tool and hash of the
	// arguments.
	Unknown []string `json:"unknown,omitempty"`
}

// Decision is a person's decision.
type Decision struct {
	Action  string `json:"action"` // approve, reject or modify
	Message string `json:"message,omitempty"`
	Input   any    `json:"input,omitempty"`
	// State is a person's changes in the state; nil without changes.
	State jsontext.Value `json:"state_updates,omitempty"`
	// Late says that nobody decided in time.
	Late bool `json:"late,omitempty"`
}

// Status of a run.
const (
	StatusRunning   = "running"
	StatusWaiting   = "waiting" // for a person, and nothing else can run
	StatusCompleted = "completed"
	StatusFailed    = "failed"
)

// Progress is the part of a run that each checkpoint replaces.
//
// It is small and its only text is Tail, so that it can be written with every checkpoint.
type Progress struct {
	Status string `json:"status"`
	// Sequence is how many checkpoints there are.
	Sequence   int           `json:"sequence"`
	Position   string        `json:"position"` // the node that ended last, or that waits
	Iterations int           `json:"iterations"`
	Elapsed    time.Duration `json:"elapsed"` // of running
	Usage      chat.Usage    `json:"usage"`
	// Acted says that a call was made that must not be made twice.
	Acted bool `json:"acted,omitempty"`
	// Frontier are the nodes that run or can, or wait for a person, in the graph's order.
	Frontier []Open `json:"frontier"`
	// Sent are the nodes whose text is part of the answer and is out.
	Sent []string `json:"told,omitempty"`
	Tail string   `json:"tail,omitempty"` // the end of the sent text
	Long int      `json:"long,omitempty"` // code points of the sent text
	// Block says that the sent text is more than one paragraph of prose.
	Block bool `json:"block,omitempty"`
	// Retracts says that a reader of the present turn can be shown that text does not count any
	// more.
	Retracts bool `json:"retracts,omitempty"`
	// Failure is why the run has failed.
	Failure *Failure `json:"failure,omitempty"`
	// Trace is the span of who ran the run last; empty: nobody keeps spans.
	Trace string `json:"trace,omitempty"`
}

// Failure is why a run has failed.
type Failure struct {
	Type    fault.Type `json:"error_type"`
	Message string     `json:"message"`
}

// Open is a node of the frontier.
//
// Asks and its answers stay while the node works, for a process that takes the run over
// must find the decision again.
type Open struct {
	Node    string `json:"node"`
	Attempt int    `json:"attempt"` // from 1
	Round   int    `json:"round"`   // from 1, of a node that repeats itself
	// Asks is set while a person is asked: before the node, if it is of type human or
	// one of checkpoints, or within it, about calls of its agent.
	Asks *Question `json:"asks,omitempty"`
	// Decision is the answer to a question before the node.
	Decision *Decision `json:"decision,omitempty"`
	// Calls are the decisions about the calls in Asks.
	Calls []chat.Decision `json:"calls,omitempty"`
	// Outcomes are a person's answers about calls with an unknown outcome.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Entry is where an agent's session was, for an attempt that continues with it.
	Entry *Entry `json:"entry,omitempty"`
}

// Outcome is a person's answer about a call with an unknown outcome.
type Outcome struct {
	Key string `json:"key"` // of its Intent
	// Retries is the number of tries that may be followed by another one. 0: none may.
	Retries int    `json:"again,omitempty"`
	Done    bool   `json:"done,omitempty"` // it was made, with Result
	Result  string `json:"result,omitempty"`
}

// Waits reports whether a person must answer first.
//
// A question about calls waits until each of them is decided; one about outcomes until none
// is left in it.
func (o *Open) Waits() bool {
	switch {
	case o.Asks == nil:
		return false
	case o.Asks.Kind == chat.AskOutcome:
		return len(o.Asks.Calls) > 0
	case len(o.Asks.Calls) > 0:
		return len(o.Calls) < len(o.Asks.Calls)
	}
	return o.Decision == nil
}

// Question is a question to a person.
type Question struct {
	// Key stays the same for as long as the question waits.
	Key    string            `json:"key,omitempty"`
	Kind   chat.QuestionKind `json:"kind"`
	Prompt string            `json:"prompt,omitempty"`
	Schema jsontext.Value    `json:"schema,omitempty"`
	// Expires is the end of the time to answer. Zero: as the gateway is configured.
	Expires time.Time `json:"expires,omitzero"`
	// Calls are those of the node's agent that wait.
	Calls []chat.PendingCall `json:"calls,omitempty"`
}

// State is the public view of a run.
type State struct {
	Messages     []Message      `json:"messages"` // in the graph's order
	NextAction   string         `json:"next_action,omitempty"`
	CurrentAgent string         `json:"current_agent"`
	RoutingKey   string         `json:"routing_key,omitempty"`
	Metadata     map[string]any `json:"metadata,omitempty"`
}

// newRun returns a run that has not done anything.
//
// h has an ID, the time and the request; newRun fills in the rest. The entry is in the frontier,
// and the first message is the request.
func newRun(w *graph.Workflow, h Header) *Run {
	h.Workflow, h.Definition = w.Definition().Name, w.Sum()
	r := &Run{Header: h, Progress: Progress{Status: StatusRunning, Position: w.Entry().ID}}
	r.Messages = []Message{{Role: RoleUser, Content: h.Request.Input, Timestamp: h.CreatedAt}}
	r.bindGraph(w)
	r.openNodes()
	return r
}

// bindGraph joins a run to its definition.
//
// It fills the index from nodes to Ended, as the index is not stored. It is called once, before
// anything that takes a node.
func (r *Run) bindGraph(w *graph.Workflow) {
	r.w, r.at = w, make([]int, len(w.Nodes()))
	for i := range r.at {
		r.at[i] = -1
	}
	for i, e := range r.Ended {
		if n := w.Node(e.Node); n != nil {
			r.at[n.Order] = i
		}
	}
}

// endOf returns what became of a node, or nil.
func (r *Run) endOf(n *graph.Vertex) *Ended {
	if i := r.at[n.Order]; i >= 0 {
		return &r.Ended[i]
	}
	return nil
}

// openNode returns the open node of that name, or nil.
func (r *Run) openNode(id string) *Open {
	i := slices.IndexFunc(r.Progress.Frontier, func(o Open) bool { return o.Node == id })
	if i < 0 {
		return nil
	}
	return &r.Progress.Frontier[i]
}

// openNodes adds a node to the frontier if a taken edge leads to it and its other edges are
// decided. It skips a node whose edges are all dead. It returns the skipped nodes. A single pass is
// enough, as edges lead upwards only.
//
// It runs at each node's end. To look each node up in the frontier there would cost the cube of
// the nodes that are side by side.
func (r *Run) openNodes() (skipped []*graph.Vertex) {
	before := len(r.Progress.Frontier)
	isOpen := make([]bool, len(r.at))
	for i := range r.Progress.Frontier {
		if n := r.w.Node(r.Progress.Frontier[i].Node); n != nil {
			isOpen[n.Order] = true
		}
	}
	for _, n := range r.w.Nodes() {
		if r.at[n.Order] >= 0 || isOpen[n.Order] {
			continue
		}
		ready, accepted := n.Decided(func(from *graph.Vertex) (followed []int, ok bool) {
			e := r.endOf(from)
			if e == nil {
				return nil, false
			}
			return e.Followed, true
		})
		accepted = accepted || n == r.w.Entry()
		switch {
		case !ready:
		case accepted:
			r.Progress.Frontier = append(r.Progress.Frontier, Open{Node: n.ID, Attempt: 1, Round: 1})
		default:
			r.appendEnd(n, Ended{Node: n.ID, Outcome: outcomeSkipped, Result: -1})
			skipped = append(skipped, n)
		}
	}
	if len(r.Progress.Frontier) > before {
		slices.SortFunc(r.Progress.Frontier, func(a, b Open) int {
			return cmp.Compare(r.w.Node(a.Node).Order, r.w.Node(b.Node).Order)
		})
	}
	return skipped
}

// appendEnd adds what became of a node and its place in the index. The node must not have
// ended before.
func (r *Run) appendEnd(n *graph.Vertex, e Ended) {
	r.at[n.Order] = len(r.Ended)
	r.Ended = append(r.Ended, e)
}

// hasEnded reports whether no node remains to be done.
func (r *Run) hasEnded() bool { return len(r.Progress.Frontier) == 0 }

// As returns the run as it was at one of its checkpoints, to be shown.
func (r *Run) As(c *Checkpoint) *Run {
	then := &Run{Header: r.Header, Ended: r.Ended[:c.EndedCount], Messages: r.Messages[:c.MessageCount], Progress: c.Progress}
	then.bindGraph(r.w)
	return then
}

// Checkpoint is one state of a run. It never changes, except that its store sets ID and TaskID.
type Checkpoint struct {
	ID            string    `json:"checkpoint_id"` // a UUID
	TaskID        string    `json:"task_id"`
	Position      string    `json:"position"`
	Sequence      int       `json:"sequence"` // 0, 1, 2 …
	CreatedAt     time.Time `json:"created_at"`
	AwaitingHuman bool      `json:"awaiting_human"`
	Status        string    `json:"status"` // created, awaiting_human or resumed
	Progress      Progress  `json:"progress"`
	// EndedCount and MessageCount are how many of each the run has by now. Facts of the run that
	// the first checkpoint lacks are in its Header.
	EndedCount   int `json:"ended"`
	MessageCount int `json:"messages"`

	Header *Header `json:"-"`
	// Ended and Messages are those that were added since the checkpoint before.
	Ended    []Ended   `json:"-"`
	Messages []Message `json:"-"`
}

// Statuses of a Checkpoint.
const (
	CheckpointCreated  = "created"
	checkpointAwaiting = "awaiting_human"
	CheckpointResumed  = "resumed"
)

// Entry is the present state of an agent node: the session of one round, and its texts.
type Entry struct {
	Node    string `json:"node"`
	Attempt int    `json:"attempt"`
	Round   int    `json:"round"`
	// Session is the agent's State.
	Session jsontext.Value `json:"session,omitempty"`
	// Text is the agent's text since the last of Messages.
	Text string `json:"text,omitempty"`
	// Messages are those of the round so far.
	Messages []Message `json:"messages,omitempty"`
	// CallCounts says how often each unsafe call was made in the round, so that an intended
	// repetition has another key.
	CallCounts map[string]int `json:"made,omitempty"`
	// Draft and Feedback are those of the round before.
	Draft    string `json:"draft,omitempty"`
	Feedback string `json:"feedback,omitempty"`

	// silent is the entry without the texts, stored in its place while the answer is held; nil if
	// the entry itself may be stored.
	silent *Entry
}

// Intent is a call that is about to be made.
type Intent struct {
	Node    string `json:"node"`
	Attempt int    `json:"attempt"`
	CallID  string `json:"call_id"` // that of its events
	Tool    string `json:"tool"`
	Server  string `json:"server"`
	// Hash is that of the canonical arguments.
	Hash string `json:"hash"`
	// Key is equal for equal tries of one call, in any process: of the run, the node, its
	// round, the tool, the arguments, and how many equal calls came before it.
	Key string `json:"key"`
	// Retries is the number of tries with an unknown outcome after which a person allows another
	// one.
	Retries int `json:"-"`
}

// callIdentity is equal for calls that ask for the same thing.
func (i *Intent) callIdentity() string { return sameCall(i.Server, i.Tool, i.Hash) }

func sameCall(server, name, hash string) string { return server + " " + name + " " + hash }

// storableEntry returns the form of an entry that may be stored now. It works on nil.
func (e *Entry) storableEntry() *Entry {
	if e == nil || e.silent == nil {
		return e
	}
	return e.silent
}

// isSpoken reports whether a message is part of a node's text.
func isSpoken(n *graph.Vertex, m *Message) bool {
	return m.Node == n.ID && (m.Role == RoleAssistant || m.Role == RoleTool && n.Kind.Results())
}
