// Package approval lets people decide about tool calls before they run.
//
// A Runner around what answers turns the state of a turn that waits into a question: a
// stream.Approval with a token, which holds the state or, with a store, names it. Check
// reads an answer to one and makes of it the request with which the turn goes on.
// All that waits for people (chat.Paused.By says what it is) goes this way.
package approval

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/chat"
	"sluice/fault"
	"sluice/metrics"
	"sluice/store"
	"sluice/stream"
	"sluice/tool"
)

// Bounds of Config.TTL, and its defaults.
const (
	MinTTL          = 10 * time.Second
	MaxTTL          = 24 * time.Hour
	MaxStoredTTL    = 30 * 24 * time.Hour
	DefaultTTL      = 5 * time.Minute
	DefaultStoreTTL = 24 * time.Hour
)

// grace is how long a record stays in the store when nobody can answer any more: an
// answer that comes too late is told so.
const grace = 24 * time.Hour

// maxStored is how many bytes a record in the store may have.
const maxStored = 1 << 20

// Config describes a Service. Tools is required; everything else may be zero.
type Config struct {
	// Mode is the class of tools that need a person.
	Mode Mode
	// Keys seal tokens; the first one seals, all open. None: a random one.
	Keys []Key
	// TTL is how long a question can be answered; 0: DefaultTTL, or DefaultStoreTTL.
	TTL time.Duration
	// Store keeps what waits; nil: the token holds it.
	Store store.Values
	// Tools returns what can be called now.
	Tools func(context.Context) *tool.Set
	// Problems says what is wrong with the arguments of a call. nil: nothing is.
	Problems func(ctx context.Context, name string, args jsontext.Value) []tool.Problem
	// Valid says what is wrong with a value by a JSON Schema. nil: nothing is.
	Valid func(schema, value jsontext.Value) []tool.Problem
	// Readable says why a state cannot go on; nil: all can.
	Readable func(by string, state []byte) error
	Metrics  *metrics.Registry
}

// Service asks and hears answers. It is safe for concurrent use.
type Service struct {
	cfg    Config
	sealer sealer
	counts metrics.Counter

	mu   sync.Mutex           // guards the field below
	used map[string]time.Time // ids of tokens that were used here, until they expire
}

// New returns a Service.
func New(cfg Config) *Service {
	if len(cfg.Keys) == 0 {
		cfg.Keys = []Key{newKey()}
	}
	if cfg.TTL == 0 {
		cfg.TTL = DefaultTTL
		if cfg.Store != nil {
			cfg.TTL = DefaultStoreTTL
		}
	}
	s := &Service{cfg: cfg, used: map[string]time.Time{}}
	s.sealer.keys = cfg.Keys
	s.counts = cfg.Metrics.Counter("approvals_total", "Questions to people, and their answers.", "kind", "result")
	return s
}

// Caller is who answers, or asks what waits.
type Caller struct {
	Principal chat.Principal
	UserID    string // empty: not said
}

// mine says whether a caller may answer. Whom nobody has made sure of needs the token,
// or the task's id, and must not be somebody else by their own word.
func (c Caller) mine(r *record) bool {
	if c.Principal.Tenant != r.Tenant {
		return false
	}
	owner := c.Principal.ID == r.Principal && (c.UserID == "" || c.UserID == r.User)
	if len(r.Approvers) > 0 && !slices.Contains(r.Approvers, "owner") && !slices.Contains(r.Approvers, "any") {
		owner = false
	}
	return owner || r.may(c)
}

// invalid is a fault that tells the caller no reason, which could help to forge a token; err is for the
// log.
func invalid(err error) error {
	return &fault.Error{Type: fault.ApprovalInvalid, Message: "This approval is not valid", Err: err}
}

func expired() error {
	return &fault.Error{Type: fault.ApprovalExpired, Message: "It is too late to answer: the approval has expired, and nothing was run"}
}

// Used is the refusal of an answer to what somebody has answered.
func Used() error {
	return &fault.Error{Type: fault.ApprovalUsed, Message: "This approval was answered already"}
}

// Conflict is the refusal of an answer to a task that does not wait for it.
func Conflict() error {
	return &fault.Error{Type: fault.ApprovalConflict, Message: "The task does not wait for this approval"}
}

func unavailable(err error) error {
	return &fault.Error{Type: fault.StoreUnavailable, Message: "The store is unavailable; try again in a moment", Err: err}
}

// stored is what the store has under a key: a record, or what is left of one.
type stored struct {
	Used   bool            `json:"used,omitempty"`
	Record json.RawMessage `json:"record,omitempty"`
}

// load returns a record of the store; nil: there is none. Its error is Conflict if the
// question was withdrawn.
func (s *Service) load(ctx context.Context, id string) (*record, bool, error) {
	v, err := s.cfg.Store.Value(ctx, store.ApprovalKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, unavailable(err)
	}
	var kept stored
	if err := json.Unmarshal(v.Data, &kept); err != nil {
		return nil, false, invalid(err)
	}
	switch {
	case kept.Record == nil && !kept.Used: // store.Withdrawn
		return nil, false, Conflict()
	case kept.Record == nil:
		return nil, true, nil
	}
	r, err := readRecord(kept.Record)
	if err != nil {
		return nil, false, invalid(err)
	}
	return r, kept.Used, nil
}

// keep puts a record into the store.
func (s *Service) keep(ctx context.Context, r *record) error {
	text, err := r.encode()
	if err != nil {
		return err
	}
	if len(text) > maxStored {
		return errLong
	}
	data, err := json.Marshal(stored{Record: text})
	if err == nil {
		_, err = s.cfg.Store.PutValue(ctx, store.ApprovalKey(r.ID), store.Value{Data: data}, time.Until(r.expiry())+grace)
	}
	return err
}

// Shown returns what waits of some questions, without tokens, as a list may tell it to c:
// those that nobody has answered and that can still be.
func (s *Service) Shown(ctx context.Context, c Caller, ids []string) ([]*stream.Approval, error) {
	list := []*stream.Approval{}
	if s.cfg.Store == nil {
		return list, nil
	}
	for _, id := range ids {
		r, used, err := s.load(ctx, id)
		if f, ok := errors.AsType[*fault.Error](err); ok && f.Type == fault.StoreUnavailable {
			return nil, err
		}
		if err == nil && r != nil && !used && c.mine(r) && time.Now().Before(r.expiry()) {
			list = append(list, r.question())
		}
	}
	return list, nil
}
