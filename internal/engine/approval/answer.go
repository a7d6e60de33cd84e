package approval

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
	"sluice/internal/turn/tool"
)

// Accepted is a good answer. The question stays open until Claim.
type Accepted struct {
	// Request continues with the turn.
	Request chat.Request

	service   *Service
	record    *record
	decisions []chat.Decision
	by        chat.Principal // the sender of the answer
	claim     *claim         // set by Claim, if there is a store
}

// Check reads an answer by its token. now is the request of the answer: it identifies the caller.
// The error is a *fault.Error or a *chat.ValidationError.
func (s *Service) Check(ctx context.Context, a *chat.Answer, now chat.Request) (*Accepted, error) {
	r, over, err := s.recordOfToken(ctx, a.Token)
	if err == nil {
		err = s.mayAnswer(r, callerOf(now), true)
	}
	if err == nil {
		err = over
	}
	if err == nil {
		var acc *Accepted
		if acc, err = s.checkAnswer(ctx, r, a, now); err == nil {
			return acc, nil
		}
	}
	return nil, s.refuseAnswer(ctx, r, err)
}

// CheckTask reads an answer to a question of a task, by its id. Without a token the caller's
// identity decides: see PendingFor.
func (s *Service) CheckTask(ctx context.Context, id string, a *chat.Answer, now chat.Request) (*Accepted, error) {
	if s.cfg.Store == nil {
		return nil, Conflict()
	}
	r, over, err := s.loadRecord(ctx, id)
	if err == nil && (r == nil || over != nil) {
		err = Conflict()
	}
	if err == nil {
		err = s.mayAnswer(r, callerOf(now), false)
	}
	if err == nil {
		var acc *Accepted
		if acc, err = s.checkAnswer(ctx, r, a, now); err == nil {
			return acc, nil
		}
	}
	return nil, s.refuseAnswer(ctx, r, err)
}

// refuseAnswer counts and logs a refused answer.
func (s *Service) refuseAnswer(ctx context.Context, r *record, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	kind, id := chat.AskTools, ""
	if r != nil {
		kind, id = r.Kind, r.ID
	}
	s.counts.Inc(string(kind), string(f.Type))
	details := zerolog.Dict().Str("approval_id", id).Str("error_type", string(f.Type))
	if f.Err != nil {
		details.AnErr("reason", f.Err)
	}
	zerolog.Ctx(ctx).Info().Dict("details", details).Msg("approval_refused")
	return err
}

// callerOf returns the sender of an answer.
func callerOf(now chat.Request) Caller { return Caller{Principal: now.Principal, UserID: now.UserID} }

// recordOfToken returns the record that a token holds or names. over is the fault of loadRecord.
func (s *Service) recordOfToken(ctx context.Context, token string) (r *record, over, err error) {
	if h, ok := handleOf(token); ok {
		return s.recordOfHandle(ctx, h)
	}
	text, err := s.sealer.open(token)
	if err != nil {
		return nil, nil, invalidFault(err)
	}
	if r, err = readRecord(text); err != nil {
		return nil, nil, invalidFault(err)
	}
	return r, nil, nil
}

// recordOfHandle returns the record of the store that a handle names.
func (s *Service) recordOfHandle(ctx context.Context, h handle) (r *record, over, err error) {
	if s.cfg.Store == nil {
		return nil, nil, invalidFault(errors.New("there is no store that could have it"))
	}
	r, over, err = s.loadRecord(ctx, h.recordID())
	switch {
	case err != nil:
		return nil, nil, err
	case r == nil || subtle.ConstantTimeCompare(r.Handle, h.storedSum()) != 1:
		return nil, nil, invalidFault(errToken)
	}
	return r, over, nil
}

// mayAnswer returns why a caller cannot answer a question, or cannot any more; nil: it can.
func (s *Service) mayAnswer(r *record, by Caller, token bool) error {
	switch {
	case !by.canAnswer(r, token):
		return invalidFault(errors.New("it is somebody else's"))
	case s.cfg.FourEyes && (by.ownsTask(r, token) || by.beganTurn(r)):
		return &fault.Error{Type: fault.Forbidden, Message: "Nobody answers about a task of their own here; somebody else must"}
	case !time.Now().Before(r.expiryTime()):
		return expiredFault()
	}
	return nil
}

// checkAnswer returns an answer of a caller that may give it. The answer must be about a turn whose
// state can still be read, and decide all that is asked.
func (s *Service) checkAnswer(ctx context.Context, r *record, a *chat.Answer, now chat.Request) (*Accepted, error) {
	if s.cfg.Readable != nil {
		if err := s.cfg.Readable(r.waiting); err != nil {
			return nil, invalidFault(err)
		}
	}
	decisions, err := s.makeDecisions(ctx, r, a)
	if err != nil {
		return nil, err
	}
	for i := range decisions {
		decisions[i].Key = r.callKey(decisions[i].CallID)
	}
	acc := &Accepted{Request: r.continuedRequest(now), service: s, record: r, decisions: decisions, by: now.Principal}
	if changed := s.changedCalls(ctx, r, decisions); len(changed) > 0 {
		acc.Request.Resumed.Changed = changed
	} else {
		acc.Request.Resumed.Decisions = decisions
	}
	return acc, nil
}

// callKey returns the key of a call that is answered. A gateway that did not see the first
// use of a token makes the call again: by its key the server can know.
func (r *record) callKey(call string) string {
	sum := sha256.Sum256([]byte(r.ID + "\x00" + call))
	return hex.EncodeToString(sum[:16])
}

// recordedCallOf returns the call with that id, or nil.
func (r *record) recordedCallOf(id string) *recordedCall {
	for i := range r.Calls {
		if r.Calls[i].ID == id {
			return &r.Calls[i]
		}
	}
	return nil
}

// changedCalls returns the calls that were allowed and whose tools are not the ones that were
// asked about. A tool that is gone does not run, so nobody need be asked again.
func (s *Service) changedCalls(ctx context.Context, r *record, decisions []chat.Decision) (ids []string) {
	var tools *tool.Set
	for _, d := range decisions {
		if d.Action == chat.Reject || r.Kind != chat.AskTools {
			continue
		}
		if tools == nil {
			tools = s.cfg.Tools(ctx)
		}
		if spec := tools.Lookup(r.recordedCallOf(d.CallID).Tool); spec != nil && spec.Fingerprint() != d.Fingerprint {
			ids = append(ids, d.CallID)
		}
	}
	return ids
}

// ID is that of the question.
func (a *Accepted) ID() string { return a.record.ID }

// isStored reports whether the waiting turn belongs to a task: then the claim of the task uses the
// answer up, and Claim does nothing.
func (a *Accepted) isStored() bool { return a.record.Task != "" }

// Claim uses the token up. If several answers come, one succeeds, as far as this process and, if
// there is one, the store can know.
func (a *Accepted) Claim(ctx context.Context) error {
	if a.isStored() {
		return nil
	}
	var err error
	if a.claim, err = a.service.claimRecord(ctx, a.record); err != nil {
		return a.service.refuseAnswer(ctx, a.record, err)
	}
	a.Decided(ctx)
	return nil
}

// Unclaim releases the claim of a turn that does not run. The answer can be given again.
func (a *Accepted) Unclaim() {
	if !a.isStored() {
		a.service.releaseUse(a.record, a.claim)
	}
}

// Decided logs and counts an answer that was taken, and marks the stored question as used.
func (a *Accepted) Decided(ctx context.Context) {
	r, s := a.record, a.service
	action := a.decidedAction()
	s.counts.Inc(string(r.Kind), action)
	r.logQuestion(ctx, "approval_decided", action, a.by)
	if s.cfg.Store == nil || r.Handle == nil {
		return
	}
	s.removeFromIndexes(ctx, r)
	// A failure changes nothing for the answer, as it was claimed before: the question expires at
	// its time at the latest.
	data, _ := json.Marshal(stored{Used: true, Remainder: r.remainder()})
	if v, err := s.cfg.Store.Value(ctx, store.ApprovalKey(r.ID)); err == nil {
		v.Data = data
		_, _ = s.cfg.Store.PutValue(ctx, store.ApprovalKey(r.ID), v, time.Until(r.expiryTime())+grace)
	}
}

// decidedAction returns the common action of all decisions, mixed, or tool_changed.
func (a *Accepted) decidedAction() string {
	if len(a.Request.Resumed.Changed) > 0 {
		return reasonChanged
	}
	action := a.decisions[0].Action
	for _, d := range a.decisions {
		if d.Action != action {
			return "mixed"
		}
	}
	return string(action)
}

// logQuestion writes a line about a question: of the arguments their hashes. by has asked, or answered.
func (r *record) logQuestion(ctx context.Context, event, action string, by chat.Principal) {
	e := zerolog.Ctx(ctx).Info()
	if !e.Enabled() {
		return
	}
	var tools, hashes []string
	for _, c := range r.Calls {
		tools, hashes = append(tools, chat.Clip(c.Tool, 128)), append(hashes, c.Hash)
	}
	d := zerolog.Dict().Str("approval_id", r.ID).Str("kind", string(r.Kind))
	if action != "" {
		d.Str("action", action)
	}
	if action != "" && by.ID != "" { // a sender who is responsible for the answer
		e.Bool("audit", true)
		d.Str("decided_by", by.Sender())
		if by.IsNamed() {
			d.Str("for", by.ID)
		}
	}
	e.Dict("details", d.Strs("tools", tools).Strs("argument_hashes", hashes).Str("principal", by.ID)).Msg(event)
}
