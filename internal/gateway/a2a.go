// This file puts the dialects together, and gives A2A what it needs of the others: the
// agents as other agents see them, and the turns that the store keeps. The protocol itself
// is in dialect/a2a; here are only adapters between its interfaces and package task.

package gateway

import (
	"cmp"
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"sluice/approval"
	"sluice/chat"
	"sluice/dialect"
	a2awire "sluice/dialect/a2a"
	"sluice/dialect/sluice"
	"sluice/handlers"
	"sluice/internal/settings"
	"sluice/store"
	"sluice/stream"
	"sluice/task"
)

// newDialects returns the protocols that are served.
//
// The order is that in which routes are registered. It is called once, before the server is
// made.
func (g *Gateway) newDialects() []dialect.Dialect {
	list := []dialect.Dialect{
		sluice.Dialect{GetTools: settings.Of[handlers.Policy](&g.cfg).GetTools, Stored: g.state != nil, OnDisconnect: g.cfg.Tasks.OnDisconnect},
		newChatKit(settings.Of[settings.ChatKit](&g.cfg).History, g.state),
	}
	if g.cfg.A2A.Enabled {
		list = append(list, g.newA2A())
	}
	return g.with.dialects(list...)
}

// newA2A returns the dialect of A2A.
func (g *Gateway) newA2A() *a2awire.Server {
	cfg := a2awire.Config{
		Version: g.cfg.Version, PublicURL: g.cfg.A2A.PublicURL, V03: !g.cfg.A2A.NoV03, Agents: g.exposed,
		Native: func(requestID string) stream.Encoder { return sluice.NewEncoder(requestID, false, 0) },
	}
	if g.state != nil {
		cfg.Tasks = keptTasks{g.state.tasks, g.approvals}
	}
	return a2awire.New(cfg)
}

// exposed returns the team as other agents see it.
//
// It is asked for each card, so that a card follows the registry. nil while the gateway
// starts.
func (g *Gateway) exposed() (list []a2awire.Agent) {
	r := g.registry.Load()
	if r == nil {
		return nil
	}
	for _, a := range r.spec.Agents {
		list = append(list, a2awire.Agent{
			ID: a.ID, Name: cmp.Or(a.Name, a.ID), Description: a.Description, Capabilities: a.Capabilities, Examples: a.Examples,
			Exposed: !a.Closed, Routable: !a.Hidden,
		})
	}
	return list
}

// keptTasks shows A2A the turns that are kept.
type keptTasks struct {
	*task.Service
	approvals *approval.Service // nil: nobody is asked
}

// Questions implements a2a.Tasks.
func (k keptTasks) Questions(ctx context.Context, who chat.Principal, ids []string) ([]*stream.Approval, error) {
	if k.approvals == nil {
		return nil, nil
	}
	return k.approvals.Shown(ctx, approval.Caller{Principal: who}, ids)
}

// Task implements a2a.Tasks.
func (k keptTasks) Task(ctx context.Context, who chat.Principal, id string) ([]byte, string, error) {
	return k.Recorded(ctx, task.Caller{Principal: who}, id)
}

// List implements a2a.Tasks.
func (k keptTasks) List(ctx context.Context, who chat.Principal, q store.Query, artifacts bool, most int) ([]byte, error) {
	list, err := k.Service.List(ctx, task.Caller{Principal: who}, q, task.Shown{Artifacts: artifacts, Most: most})
	if err != nil {
		return nil, err
	}
	return json.Marshal(list, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// Count implements a2a.Tasks.
func (k keptTasks) Count(ctx context.Context, who chat.Principal, q store.Query, most int) (int, error) {
	return k.Service.Count(ctx, task.Caller{Principal: who}, q, most)
}

// Cancel implements a2a.Tasks.
func (k keptTasks) Cancel(ctx context.Context, who chat.Principal, id string) error {
	_, _, err := k.Service.Cancel(ctx, task.Caller{Principal: who}, id)
	return err
}

// Log implements a2a.Tasks.
func (k keptTasks) Log(ctx context.Context, turn string) (a2awire.Log, error) {
	log, err := k.OpenLog(ctx, turn)
	if err == nil {
		k.Resumed("resumed")
	}
	return keptLog{log}, gone(err)
}

// gone translates the error of a log that is not there.
//
// Packages of one layer do not know each other's errors, so that they are translated where
// both are known.
func gone(err error) error {
	if errors.Is(err, task.ErrGone) {
		return a2awire.ErrGone
	}
	return err
}

// keptLog is one turn's log as A2A reads it: first what was reported before, then what comes.
type keptLog struct{ *task.Log }

// Past implements a2a.Log.
func (l keptLog) Past(ctx context.Context, use func(stream.Event)) (bool, error) {
	ended, err := l.Log.Past(ctx, use)
	return ended, gone(err)
}

// Rest implements a2a.Log.
//
// It flushes behind each batch, and ends with the log, with ctx, or with the first error of
// flush.
func (l keptLog) Rest(ctx context.Context, use func(stream.Stamp, stream.Event), flush func() error) error {
	for events, err := range l.Events(ctx) {
		for _, e := range events {
			use(e.Stamp, e.Event)
		}
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
