package task

import (
	"cmp"
	"context"
	"errors"

	"sluice/internal/state/store"
	"sluice/internal/state/task/record"
)

// Record is a task as it is exported.
type Record struct {
	ID          string `json:"id"`
	Description string `json:"description"` // the user's first text
	Status      string `json:"status"`      // pending, running, completed or failed
	Agent       string `json:"assigned_agent"`
	Result      string `json:"result,omitempty"`
	Error       string `json:"error,omitempty"`
	CreatedAt   string `json:"created_at"`
	StartedAt   string `json:"started_at,omitempty"`
	CompletedAt string `json:"completed_at,omitempty"`
	Days        int    `json:"retention_days"`
	ParentTask  string `json:"parent_task_id,omitempty"`
}

// Export returns a task and its trace, whatever user it belongs to. It changes nothing: st may be open
// for reading only. The error of a task that is not there wraps store.ErrNotFound.
func Export(ctx context.Context, st Store, spec Spec, policy Retention, traces record.Spec, id string) (r Record, trace []byte, err error) {
	s := &turnLogs{taskStore: &taskStore{cfg: Config{Store: st, Trace: traces}}}
	t, err := st.Task(ctx, id)
	if err != nil {
		return r, nil, err
	}
	trace, err = s.traceOf(ctx, id, t)
	if err != nil {
		return r, nil, errors.Join(err, store.ErrUnavailable)
	}
	trace = record.Exported(trace)
	doc, err := s.fullDocument(ctx, id, t)
	if err != nil {
		return r, nil, errors.Join(err, store.ErrUnavailable)
	}
	days := int((cmp.Or(spec.TTL, DefaultTTL) + day - 1) / day)
	if policy.appliesTo(doc) {
		days = policy.retentionDays(doc)
	}
	return doc.exportRecord(t, days), trace, nil
}

// defaultAgent is the agent of a gateway without a team.
const defaultAgent = "assistant"

// exportRecord returns the task as it is exported.
func (d *document) exportRecord(t store.Task, days int) Record {
	r := Record{
		ID: d.ID, Status: "running", Agent: defaultAgent, CreatedAt: formatTime(t.Created),
		Days: days, ParentTask: d.Metadata.ParentTaskID,
	}
	r.Description = cmp.Or(d.firstInput(), "-")
	if d.Metadata.Routing != nil {
		r.Agent = cmp.Or(d.Metadata.Routing.AgentID, r.Agent)
	}
	r.Result = d.artifactText()
	switch {
	case d.Status.State == submitted:
		r.Status = "pending"
		return r
	case d.Status.State == Completed:
		r.Status = "completed"
	case isFinal(d.Status.State):
		r.Status, r.Error = "failed", d.Status.State
		if d.Status.Message != nil {
			r.Error = cmp.Or(d.Status.Message.Content, r.Error)
		}
	}
	r.StartedAt = r.CreatedAt
	if isFinal(d.Status.State) {
		r.CompletedAt = d.Status.Timestamp
	}
	return r
}

// firstInput returns the first text of the user.
func (d *document) firstInput() string {
	for i := range d.History {
		if d.History[i].Role == "user" && d.History[i].Content != "" {
			return d.History[i].Content
		}
	}
	return ""
}

// artifactText returns the text of all artifacts.
func (d *document) artifactText() (text string) {
	for _, a := range d.Artifacts {
		for _, p := range a.Parts {
			text += p.Text
		}
	}
	return text
}
