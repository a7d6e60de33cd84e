package mcpclient

import (
	"context"
	stdjson "encoding/json"
	"time"

	"sluice/mcpclient/internal/wire"
)

const (
	// keepEvery is how often a list that does not change is kept again.
	keepEvery = time.Hour
	// listsTimeout bounds one use of Config.Lists.
	listsTimeout = 5 * time.Second
)

// usesLists reports whether the list of the server is kept: while the server is unavailable, only
// tools with a fallback are offered.
func (u *upstream) usesLists() bool { return u.lists != nil && len(u.Policy.Fallback) > 0 }

// offerLastTools offers the tools that the server had last, until it gives its own list.
func (u *upstream) offerLastTools() {
	ctx, cancel := context.WithTimeout(u.life, listsTimeout)
	defer cancel()
	var list wire.List
	text := u.lists.Load(ctx, u.Name)
	if u.catalogue.Load() != nil || stdjson.Unmarshal(text, &list.Tools) != nil {
		return
	}
	if c := newCatalogue(u.Server, list.Tools, nil, u.log); u.catalogue.CompareAndSwap(nil, c) {
		u.checkPolicy(c)
		u.checkCache(c)
	}
}

// keepList keeps a list that the server gave, without the secrets of the configuration, if it
// is new or was kept long ago.
func (u *upstream) keepList(tools []stdjson.RawMessage, changed bool) {
	last := u.keptList.Load()
	if !u.usesLists() || !changed && last != nil && time.Since(*last) < keepEvery {
		return
	}
	now := time.Now()
	u.keptList.Store(&now)
	text, err := stdjson.Marshal(tools)
	if err != nil {
		return
	}
	// Goroutine (storing of a list): stores the list of a server's tools.
	// Ends: it is stored, or the time for it is over.
	// Waits: the group.
	u.group.Run(func() {
		ctx, cancel := context.WithTimeout(u.life, listsTimeout)
		defer cancel()
		u.lists.Replace(ctx, u.Name, text)
	})
}
