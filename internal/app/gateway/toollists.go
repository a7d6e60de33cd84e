package gateway

import (
	"context"
	"errors"
	"time"

	"sluice/internal/state/store"
)

// listMemory is how long the list of a server's tools is kept after it was seen last.
const listMemory = 24 * time.Hour

// toolLists implements mcpclient.Lists in the store. Without a store it caches nothing.
type toolLists struct{ store store.Store }

// Load implements mcpclient.Lists.
func (l *toolLists) Load(ctx context.Context, server string) []byte {
	if l.store == nil {
		return nil
	}
	v, err := l.store.Value(ctx, store.ToolsKey(server))
	if err != nil {
		return nil
	}
	return v.Data
}

// Replace implements mcpclient.Lists.
func (l *toolLists) Replace(ctx context.Context, server string, list []byte) {
	if l.store == nil {
		return
	}
	v := store.Value{Data: list}
	if there, err := l.store.PutValue(ctx, store.ToolsKey(server), v, listMemory); errors.Is(err, store.ErrConflict) {
		v.Version = there.Version
		_, _ = l.store.PutValue(ctx, store.ToolsKey(server), v, listMemory) // else it is another gateway's, as new
	}
}
