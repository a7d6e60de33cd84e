package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Task is a stored task: a document that engines do not read, with the data that they need next to
// it.
type Task struct {
	Doc []byte // one JSON object
	Meta
	// Side changes in the same step as the task, and is kept as long. No method returns it.
	Side Side
}

// Meta is the data of a task besides its document. If another program wrote the document, Meta is
// zero.
type Meta struct {
	Version                    int64 // counts the changes: 1 is the task as it was created
	Holder                           // the process that runs it now
	Tenant, User, Conversation string
	Turn                       string // its last one
	State                      string
	Created                    time.Time // in milliseconds
	Cancel                     bool      // somebody asked that it be cancelled. Only CancelTask sets it
}

// Lives reports whether a task runs or waits: for its turn, or for a person. An engine never removes
// such a task, nor a record of it, to make room.
func (m *Meta) Lives() bool {
	return m.Owner != "" || slices.Contains(livingStates, m.State)
}

// livingStates are the states of tasks that have not ended.
var livingStates = []string{"submitted", "queued", "working", "input-required", "auth-required"}

// Tasks keep tasks. Document and Meta change together or not at all.
type Tasks interface {
	// CreateTask adds a task, whose version is 1 then. ErrConflict: the id is taken.
	CreateTask(ctx context.Context, id string, t Task, ttl time.Duration) error
	// Task returns a task.
	Task(ctx context.Context, id string) (Task, error)
	// UpdateTask replaces the task whose version is t.Version, which then grows by one.
	// Tenant, User, Conversation and Created stay as they were created. After
	// ErrUnavailable a second try may get ErrConflict because the first one succeeded.
	UpdateTask(ctx context.Context, id string, t Task, ttl time.Duration) error
	// CancelTask asks the task's holder to cancel it: it sets Cancel, leaves the version
	// as it is, and signals CancelTopic of the owner. It returns the task.
	CancelTask(ctx context.Context, id string) (Task, error)
	// DeleteTask removes a task, if it is there.
	DeleteTask(ctx context.Context, id string) error
	// Tasks lists tasks, newest first.
	Tasks(ctx context.Context, q Query) (Page, error)
	// Orphans returns up to limit ids of tasks whose holder lacks a lease.
	Orphans(ctx context.Context, limit int) ([]string, error)
	// CloseTask ends a task in place of its holder. If several callers try, one succeeds.
	CloseTask(ctx context.Context, id string, c Closing) error
}

// Closing is how an orphan ends.
type Closing struct {
	// Task replaces the task whose version is Task.Version. ErrConflict: it has another one, or its
	// holder has its lease.
	Task
	TTL time.Duration
	// Log is added to the log of the turn LogOf as AppendLog does, in the same step; its
	// Task and Holder are not looked at. With an empty LogOf no log is written.
	LogOf string
	Log   Append
}

// Query asks for tasks of a tenant's user. The empty tenant and the empty user are one
// like others.
type Query struct {
	Tenant, User string
	Conversation string // empty: all
	State        string // empty: all
	Limit        int    // 1 to MaxPage
	Cursor       string // Next of the page before; empty: this is the first page
	Bare         bool   // without the documents
}

// AllUsers is the User of a Query for the tasks of all proved users of a tenant. The Conversation of such
// a query must be empty.
const AllUsers = "\x00"

// IsOfAll reports whether AllUsers lists the tasks of a user. It lists no tasks of a claimed name or of
// the anonymous (chat.Principal.Owner).
func IsOfAll(user string) bool { return len(user) > 1 && user[0] == 0 && user[1] != 0 }

// Page is a part of a list of tasks.
type Page struct {
	IDs   []string
	Tasks []Task // as long as IDs
	// Next is the cursor of the next page; empty on the last page. A page may be short, or empty,
	// and have one: a search for rare states is done in pieces, and MaxPageBytes ends a page.
	Next string
}

// NewCursor returns the cursor of the page that follows a task.
func NewCursor(id string, created time.Time) string {
	return strconv.FormatInt(created.UnixMilli(), 10) + "_" + id
}

// ReadCursor returns after which task a page begins; the empty cursor is before all.
func ReadCursor(cursor string) (Member, error) {
	if cursor == "" {
		return Member{Score: 1 << 53}, nil
	}
	ms, id, ok := strings.Cut(cursor, "_")
	score, err := strconv.ParseInt(ms, 10, 64)
	if !ok || err != nil || score < -1<<53 || score > 1<<53 || id == "" {
		return Member{}, fmt.Errorf("%w: not a time and an id", ErrCursor)
	}
	return Member{id, score}, nil
}
