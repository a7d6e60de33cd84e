package task

import (
	"context"
	_ "embed"
	"maps"
	"time"

	"sluice/internal/base/config/file"
)

//go:embed retention.json
var retentionSchema string

// Retention configures for how many days the records of a task are kept after its end. Its zero
// value is the policy without a section retention.
type Retention struct {
	// Set says that the file has the section. It then counts for plain turns too, which
	// else are kept for Spec.TTL.
	Set bool
	// Days is the default; 0: records are removed when the task ends.
	Days int `key:"default_days"`
	// ByTask has days by kind of task, ByStatus by completed and failed. Both may be nil.
	ByTask   map[string]int `key:"by_task"`
	ByStatus map[string]int `key:"by_status"`
}

// Statuses of a task that has ended, as records name them.
const (
	statusCompleted = "completed"
	statusFailed    = "failed" // or canceled
)

// RetentionSection is the section retention of the configuration file.
func RetentionSection(r *Retention) file.Section {
	return file.Section{Name: "retention", Schema: retentionSchema, Read: func(n *file.Node) {
		*r = Retention{Set: true, Days: defaultDays}
		n.Decode(r)
	}}
}

// defaultDays is the default time to keep a run, in days.
const defaultDays = 7

// Settled returns r, or the contract's days if the file lacks the section.
func (r Retention) Settled() Retention {
	if r.Set {
		return r
	}
	return Retention{
		Days: defaultDays, ByTask: map[string]int{"critical": 30, "debug": 3},
		ByStatus: map[string]int{statusCompleted: 7, statusFailed: 14},
	}
}

// DaysOf returns for how many days a task is kept. The most specific setting counts. own is the
// setting of the task's request or workflow, or nil.
func (r Retention) DaysOf(own *int, kind, status string) int {
	if own != nil {
		return *own
	}
	r = r.Settled()
	if days, ok := r.ByTask[kind]; ok && kind != "" {
		return days
	}
	if days, ok := r.ByStatus[status]; ok {
		return days
	}
	return r.Days
}

// equals reports whether two policies keep all tasks for as long.
func (r Retention) equals(other Retention) bool {
	return r.Set == other.Set && r.Days == other.Days && maps.Equal(r.ByTask, other.ByTask) && maps.Equal(r.ByStatus, other.ByStatus)
}

// appliesTo reports whether retention counts for a task, and not Spec.TTL.
func (r Retention) appliesTo(d *document) bool { return r.Set || d.Metadata.Workflow != "" }

// retentionDays returns for how many days a document's task is kept after its end.
func (r Retention) retentionDays(d *document) int {
	status := statusFailed
	if d.Status.State == Completed {
		status = statusCompleted
	}
	return r.DaysOf(d.Metadata.RetentionDays, d.Metadata.Kind, status)
}

// removalTime returns the time at which the records of an ended task are removed. It is zero if the
// end is unknown: then they are removed now.
func (r Retention) removalTime(d *document) time.Time {
	ended, err := time.Parse(time.RFC3339, d.Status.Timestamp)
	if err != nil {
		return time.Time{}
	}
	return ended.Add(time.Duration(r.retentionDays(d)) * day)
}

// Forget removes some records of a task. It may be called twice.
type Forget func(ctx context.Context, task string) error
