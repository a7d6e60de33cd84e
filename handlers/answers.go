package handlers

import (
	"context"
	"net/http"
	"slices"

	"sluice/internal/edge/dialect"
	"sluice/internal/engine/approval"
	"sluice/internal/state/task"
	"sluice/internal/turn/chat"
)

// answers reads the decisions of people about paused turns.
type answers struct {
	approvals *approval.Service // nil asks nobody
	tasks     *task.Service     // nil stores no turn
	senders   *senders
	catalogue *catalogue
}

// deciders are the scopes of senders that may allow anything to run. An answer needs one of them.
// With fewer scopes an answer can only reject: a credential causes no more than its own turns
// could.
const deciders = chat.ScopeChat | chat.ScopeApprove

// acceptAnswer makes the turn that continues a paused turn with its answer. It checks the key
// first: a used key has answered an earlier question, and must not answer another one.
func (a *answers) acceptAnswer(r *http.Request, t *turn) error {
	if a.approvals == nil {
		e := new(chat.ValidationError)
		e.Add(t.Approval.At, &chat.FieldError{Code: chat.CodeNotConfigured, Message: "is not configured: this gateway asks for no approvals (SLUICE_CONFIRM)"})
		return e
	}
	if t.identity != nil && !t.identity.May(deciders) && !t.Approval.OnlyRejects() {
		return a.senders.refuseScopes(r, t.identity, deciders)
	}
	sender := t.Request.Owner()
	t.sender = &sender
	if err := a.checkKey(r, t); err != nil {
		return err
	}
	acc, err := a.readAnswer(r.Context(), t)
	if err != nil {
		return err
	}
	t.accepted, t.Request = acc, acc.Request
	t.TaskID, t.askingTurn, t.question = acc.Request.Resumed.Task, acc.Request.Resumed.Turn, acc.ID()
	if t.RunsOn && isDurable(&t.Request) {
		t.Mode = dialect.Detached
	}
	return nil
}

// checkKey returns a *task.Replay if the key of a turn was used.
func (a *answers) checkKey(r *http.Request, t *turn) error {
	if t.Key == "" || a.tasks == nil {
		return nil
	}
	return a.tasks.Repeated(r.Context(), t.taskRequest(r, a.catalogue.hasAgents(t.Request.Principal.Tenant)))
}

// readAnswer reads the answer of a request: by its token, or to the task that it names.
func (a *answers) readAnswer(ctx context.Context, t *turn) (*approval.Accepted, error) {
	if t.Decides == "" {
		return a.approvals.Check(ctx, t.Approval, t.Request)
	}
	ids, err := a.questionsOf(ctx, t)
	if err != nil {
		return nil, err
	}
	id, err := chosenApproval(t.Approval.ApprovalID, ids)
	if err != nil {
		return nil, err
	}
	return a.approvals.CheckTask(ctx, id, t.Approval, t.Request)
}

// questionsOf returns the questions of the task that an answer is for: of another one's task those
// that the caller may answer. If the caller may answer nothing, the task counts as missing.
func (a *answers) questionsOf(ctx context.Context, t *turn) ([]string, error) {
	who := task.Caller{Principal: t.Request.Principal, UserID: t.Request.UserID}
	ids, own, err := a.tasks.OpenQuestions(ctx, who, t.Decides)
	if err != nil || own {
		return ids, err
	}
	shown, err := a.approvals.PendingFor(ctx, approval.Caller(who), ids)
	if err == nil && len(shown) == 0 {
		err = task.NotFound()
	}
	ids = nil
	for _, q := range shown {
		ids = append(ids, q.ID)
	}
	return ids, err
}

// chosenApproval returns the id of the approval that an answer is for. ids are those for which the
// task waits. If there are several, the answer must name one.
func chosenApproval(id string, ids []string) (string, error) {
	switch {
	case len(ids) == 0, id != "" && !slices.Contains(ids, id):
		return "", approval.Conflict()
	case id == "" && len(ids) > 1:
		e := new(chat.ValidationError)
		e.Add("/approval_id", &chat.FieldError{Code: chat.CodeRequired, Message: "is required: the task waits for several"})
		return "", e
	case id == "":
		return ids[0], nil
	}
	return id, nil
}
