// Package approval lets people decide about tool calls before they run.
//
// If the inner Runner pauses, a Runner turns the state of the turn into a question: a
// stream.Approval with a token. The token holds the state or, with a store, names it. Check reads
// an answer to the question and returns the request that continues the turn. All waits for people
// go this way; chat.Paused.By has the kinds.
package approval

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/engine/run"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
	"sluice/stream"
)

// Bounds of Config.TTL, and its defaults.
const (
	minTTL          = 10 * time.Second
	MaxTTL          = 24 * time.Hour
	maxStoredTTL    = 30 * 24 * time.Hour
	defaultTTL      = 5 * time.Minute
	DefaultStoreTTL = 24 * time.Hour
)

// grace is how long a record stays in the store after its expiry. A late answer then learns that it
// is late.
const grace = 24 * time.Hour

// maxStored is how many bytes a record in the store may have.
const maxStored = 1 << 20

// Config describes a Service. Tools is required; everything else may be zero.
type Config struct {
	// Mode is the class of tools that need a person.
	Mode Mode
	// Keys seal tokens; the first one seals, all open. None: a random one.
	Keys []Key
	// TTL is how long a question can be answered; 0: defaultTTL, or DefaultStoreTTL.
	TTL time.Duration
	// Store keeps the waiting turns; without one the tokens hold them.
	Store Store
	// Crowded reports whether too many tasks of a request's user wait for a person already. Calls of
	// a workflow are not its concern. nil: never.
	Crowded func(context.Context, *chat.Request) (bool, error)
	// Tools returns the tools that can be called now.
	Tools func(context.Context) *tool.Set
	// Problems returns the faults in the arguments of a call. A nil Problems accepts all.
	Problems func(ctx context.Context, name string, args jsontext.Value) []tool.Problem
	// Valid returns the faults of a value by a JSON Schema. A nil Valid accepts all.
	Valid func(schema, value jsontext.Value) []tool.Problem
	// FourEyes refuses an answer about a task of the sender's own.
	FourEyes bool
	// Readable says why a turn that waits cannot continue; nil: all can.
	Readable func(*run.Paused) error
	Metrics  *metrics.Registry
}

// Store is the part of a store that this package needs.
type Store interface {
	store.Values
	store.Indexes
}

// Service asks and receives answers. It is safe for concurrent use.
type Service struct {
	cfg    Config
	sealer sealer
	counts metrics.Counter

	name string // of this process, in its claims

	mu       sync.Mutex      // guards the fields below
	used     map[string]*use // by ids of tokens, until they expire
	releases int             // claims that are being taken out of the store
}

// New returns a Service.
func New(cfg Config) *Service {
	if len(cfg.Keys) == 0 {
		cfg.Keys = []Key{newKey()}
	}
	if cfg.TTL == 0 {
		cfg.TTL = defaultTTL
		if cfg.Store != nil {
			cfg.TTL = DefaultStoreTTL
		}
	}
	s := &Service{cfg: cfg, name: rand.Text(), used: map[string]*use{}}
	s.sealer.keys = cfg.Keys
	s.counts = cfg.Metrics.Counter("approvals_total", "Questions to people, and their answers.", "kind", "result")
	return s
}

// Caller is the sender of an answer, or of a request for open questions.
type Caller struct {
	Principal chat.Principal
	UserID    string // empty: not said
	// Inspects says that the caller reads, and may read all questions of the tenant.
	Inspects bool
}

// approverName is what approvers are called by; empty: nobody in particular.
func (c Caller) approverName() string {
	switch {
	case c.Principal.IsKnown():
		return c.Principal.ID
	case c.Principal.IsAnonymous():
		return ""
	}
	return c.UserID
}

// ownsTask reports whether a question is about a task of c's. Without a credential the user_id must be
// the task's. A caller with the token may omit it.
func (c Caller) ownsTask(r *record, token bool) bool {
	switch {
	case c.Principal.Tenant != r.Tenant || c.Principal.ID != r.Principal:
		return false
	case c.Principal.ID != "":
		return true
	}
	return c.UserID == r.User || c.UserID == "" && token
}

// beganTurn reports whether c's credential, or its user, began the turn that waits. The user that
// the request names does not matter: a name is not a second person.
func (c Caller) beganTurn(r *record) bool {
	if !c.Principal.IsKnown() || !c.sharesTenant(r) {
		return false
	}
	sender := c.Principal.Sender()
	return sender == r.Principal || sender == r.Sender || c.Principal.KeyID != "" && c.Principal.KeyID == r.KeyID
}

// canAnswer reports whether a caller may answer. A caller without a name may answer without a token
// only about a task without a user; such a task is found by its id alone.
func (c Caller) canAnswer(r *record, token bool) bool {
	owns := c.ownsTask(r, token)
	switch {
	case c.Principal.Tenant != r.Tenant, c.approverName() == "" && !owns:
		return false
	case len(r.Approvers) == 0 || slices.Contains(r.Approvers, owner) || slices.Contains(r.Approvers, anyone):
		return owns || c.isApprover(r, token)
	}
	return c.isApprover(r, token)
}

// isApprover reports whether the question's approvers are, or hold, the caller. If the question names
// only its owner, a reviewer may answer by the id: the token is the owner's.
func (c Caller) isApprover(r *record, token bool) bool {
	if !c.sharesTenant(r) || c.Principal.IsAnonymous() {
		return false
	}
	if slices.Contains(r.Approvers, anyone) {
		return true
	}
	if r.isForReviewers() {
		return !token && c.isReviewer()
	}
	return c.approverName() != "" && c.approverName() != owner && slices.Contains(r.Approvers, c.approverName())
}

// sharesTenant reports whether a question belongs to c's tenant and both were authenticated, or
// neither.
func (c Caller) sharesTenant(r *record) bool {
	return c.Principal.Tenant == r.Tenant && (c.Principal.ID != "") == (r.Principal != "")
}

// isReviewer reports whether c answers questions that name nobody else. The scope is the sender's own, and
// of no use under another name.
func (c Caller) isReviewer() bool {
	return c.Principal.IsKnown() && !c.Principal.IsNamed() && c.Principal.Scopes&chat.ScopeApprove != 0
}

// isForReviewers reports whether a question names nobody but its owner, where people have scopes.
func (r *record) isForReviewers() bool {
	return r.Principal != "" && !slices.ContainsFunc(r.Approvers, func(who string) bool { return who != owner })
}

// invalidFault is a fault that gives the caller no reason, which could help to forge a token; err is
// for the log.
func invalidFault(err error) error {
	return &fault.Error{Type: fault.ApprovalInvalid, Message: "This approval is not valid", Err: err}
}

func expiredFault() error {
	return &fault.Error{Type: fault.ApprovalExpired, Message: "It is too late to answer: the approval has expired, and nothing was run"}
}

// alreadyUsed is the refusal of an answer to what somebody has answered.
func alreadyUsed() error {
	return &fault.Error{Type: fault.ApprovalUsed, Message: "This approval was answered already"}
}

// Conflict is the refusal of an answer to a task that does not wait for it.
func Conflict() error {
	return &fault.Error{Type: fault.ApprovalConflict, Message: "The task does not wait for this approval"}
}

func unavailableFault(err error) error {
	return fault.NewStoreUnavailable(err)
}

// stored is the data of a question in the store.
type stored struct {
	// Brief is the part of Record that a list reads. It must be the first member.
	Brief *record `json:"brief,omitempty"`
	Used  bool    `json:"used,omitempty"`
	// Claim names the process that has claimed a sealed token, and its attempt. Former versions leave it empty.
	Claim  string          `json:"claim,omitempty"`
	Record json.RawMessage `json:"record,omitempty"`
	// Token is that of a question that may be asked again while it waits; the log of its
	// turn has it as well.
	Token string `json:"token,omitempty"`
	// Remainder stays when the question was answered or withdrawn (store.Withdraw keeps the member).
	Remainder *remainder `json:"rest,omitempty"`
}

// remainder is a record without the turn. It decides which callers learn that the question does not wait any more.
type remainder struct {
	Kind    chat.QuestionKind `json:"kind"`
	Expires int64             `json:"expires"`
	Handle  []byte            `json:"handle,omitempty"`
	entitled
}

// remainder returns the part of a record that stays.
func (r *record) remainder() *remainder {
	return &remainder{Kind: r.Kind, Expires: r.Expires, Handle: r.Handle, entitled: r.entitled}
}

// withoutTurn returns a record without its turn. It is nil without a remainder, as former versions
// stored none.
func (rest *remainder) withoutTurn(id string) *record {
	if rest == nil {
		return nil
	}
	return &record{ID: id, Kind: rest.Kind, Expires: rest.Expires, Handle: rest.Handle, entitled: rest.entitled}
}

// loadRecord returns a record of the store, or nil if there is none. over is the fault of a
// question that does not wait any more: its record lacks the turn.
func (s *Service) loadRecord(ctx context.Context, id string) (r *record, over, err error) {
	v, err := s.cfg.Store.Value(ctx, store.ApprovalKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, unavailableFault(err)
	}
	return readStored(id, v.Data)
}

// readStored reads the data of a question. over is the fault of loadRecord.
func readStored(id string, data []byte) (r *record, over, err error) {
	var kept stored
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, nil, invalidFault(err)
	}
	switch {
	case kept.Used:
		return kept.Remainder.withoutTurn(id), alreadyUsed(), nil
	case kept.Record == nil:
		return kept.Remainder.withoutTurn(id), Conflict(), nil
	}
	if r, err = readRecord(kept.Record); err != nil {
		return nil, nil, invalidFault(err)
	}
	return r, nil, nil
}

// storeRecord puts a record into the store, in place of the version that is there. token is kept with
// it if it may be asked for again.
func (s *Service) storeRecord(ctx context.Context, r *record, token string, version int64) error {
	text, err := r.encode()
	if err != nil {
		return err
	}
	if len(text) > maxStored {
		return errLong
	}
	data, err := json.Marshal(stored{Brief: r.briefRecord(), Record: text, Token: token, Remainder: r.remainder()})
	if err == nil {
		err = s.addToIndexes(ctx, r) // first: lists pass over a question in an index that the store lacks
	}
	if err == nil {
		_, err = s.cfg.Store.PutValue(ctx, store.ApprovalKey(r.ID), store.Value{Data: data, Version: version}, time.Until(r.expiryTime())+grace)
	}
	return err
}

// PendingFor returns the open questions among ids, without tokens: those that have not expired, and
// that c may answer by their id, or inspects.
func (s *Service) PendingFor(ctx context.Context, c Caller, ids []string) ([]*stream.Approval, error) {
	list := []*stream.Approval{}
	if s.cfg.Store == nil {
		return list, nil
	}
	for _, id := range ids {
		r, over, err := s.loadRecord(ctx, id)
		if isUnavailable(err) {
			return nil, err
		}
		if err == nil && over == nil && c.isShown(r) {
			list = append(list, r.questionEvent())
		}
	}
	return list, nil
}

// isShown reports whether a list shows a question to c: one that c may answer by its id, or inspects,
// in time. The question may be nil.
func (c Caller) isShown(r *record) bool {
	return r != nil && (c.canAnswer(r, false) || c.Inspects && c.sharesTenant(r)) && time.Now().Before(r.expiryTime())
}

// isUnavailable reports whether err is the fault of a store that does not answer.
func isUnavailable(err error) bool {
	return fault.IsStoreUnavailable(err)
}
