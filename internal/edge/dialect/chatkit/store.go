package chatkit

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Thread is one conversation.
type Thread struct {
	ID        string
	Title     string // empty: none
	CreatedAt time.Time
}

// Item is a part of a thread that is complete.
type Item struct {
	ID    string
	Input string         // of a user's message: the model's input. Else empty
	Body  jsontext.Value // the item as clients see it, a JSON object
	// Turn and Task are the stored turn that it is part of, and its task; empty: it is not stored.
	Turn, Task string
}

// Query asks for a page of a list.
type Query struct {
	Limit      int // at least 1
	Descending bool
	// After is the id of the last one of the page before; empty: this is the first
	// page. After an id that is not in the list nothing comes.
	After string
}

// ErrNotFound is wrapped by a Store's error if the thread or the item is not there,
// or the thread is somebody else's.
var ErrNotFound = errors.New("not found")

// Store keeps threads. Each method acts for an owner, a user, and hides threads of others. The
// owner is empty for users without an id. A Store is safe for concurrent use. A stream waits for
// it, but never longer than for a few seconds.
type Store interface {
	// Create adds a thread without items.
	Create(ctx context.Context, owner string, t Thread) error
	Thread(ctx context.Context, owner, threadID string) (Thread, error)
	// Threads lists threads by the time of their creation. more says that others follow.
	Threads(ctx context.Context, owner string, q Query) (list []Thread, more bool, err error)
	Rename(ctx context.Context, owner, threadID, title string) (Thread, error)
	Delete(ctx context.Context, owner, threadID string) error

	// Append adds an item at the end.
	Append(ctx context.Context, owner, threadID string, item Item) error
	Item(ctx context.Context, owner, threadID, itemID string) (Item, error)
	// Items lists items in the order of their Append.
	Items(ctx context.Context, owner, threadID string, q Query) (list []Item, more bool, err error)
	// RemoveAfter removes the items behind one, which stays.
	RemoveAfter(ctx context.Context, owner, threadID, itemID string) error
}
