// This file keeps the agents that operators add while gateways run (PUT and DELETE
// /agents). All gateways share one list in the store; each reads it again every second and
// makes a new team if it has changed. A change is a compare-and-swap on the whole list:
// it is small (maxAgents), and two operators seldom meet.
//
// Only remote agents can be added. An agent of the configuration file wins over one that
// was added with the same id.

package roster

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/engine/router"
	"sluice/internal/state/store"
	"sluice/internal/turn/chat"
)

const (
	// followTime is how often the store is asked for agents that were added elsewhere.
	followTime = time.Second
	// maxAgents bounds a team, with the agents that are added.
	maxAgents = 64
)

// added are the agents that operators have added while gateways run. They are one value in the
// store, or in this process without a store.
//
// busy is a channel and not a mutex, so that a caller can stop waiting when its request
// ends.
type added struct {
	values  store.Values
	busy    chan struct{} // holds one token: who changes or reads the list has it
	version int64
}

// entry is one stored agent: its text as it was sent, before variables are put in.
type entry struct {
	ID    string         `json:"id"`
	Agent jsontext.Value `json:"agent"`
}

// followList reads the list again and again until ctx ends.
//
// It has a goroutine of its own, for which close waits.
func (r *Roster) followList(ctx context.Context) {
	tick := time.NewTicker(followTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.readShared(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// readShared takes over the list of the store. While the store is unavailable the agents stay.
//
// An unchanged version costs one read of the store and nothing else.
func (r *Roster) readShared(ctx context.Context) {
	a := &r.added
	select {
	case a.busy <- struct{}{}:
		defer func() { <-a.busy }()
	case <-ctx.Done():
		return
	}
	v, err := a.values.Value(ctx, store.AgentsKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) || v.Version == a.version {
		return
	}
	r.acceptList(v)
}

// acceptList makes a list the one in use. It may be one of a newer version: what cannot be read of it is
// left out. The caller holds the token.
func (r *Roster) acceptList(v store.Value) {
	list, err := decodeList(v)
	if err != nil {
		r.cfg.Log.Error().Dict("details", zerolog.Dict().AnErr("cause", err)).Msg("agents_damaged")
	}
	var specs []router.AgentSpec
	for _, e := range list {
		spec, err := readAgent(e.ID, e.Agent)
		if err != nil {
			r.cfg.Log.Error().Dict("details", zerolog.Dict().Str("agent_id", chat.Line(e.ID, 64)).AnErr("cause", err)).Msg("agent_rejected")
			continue
		}
		specs = append(specs, spec)
	}
	r.making.Lock()
	defer r.making.Unlock()
	r.added.version = v.Version
	r.extra = specs
	if r.begun && !r.closed {
		r.makeTeam(func(t Team) { r.cfg.Changed(t, true) })
	}
}

// decodeList reads the list as it is kept. No value is an empty list.
func decodeList(v store.Value) (list []entry, err error) {
	if len(v.Data) > 0 {
		err = json.Unmarshal(v.Data, &list)
	}
	return list, err
}

// changeList changes the list in the store, and takes it over.
//
// edit gets the stored list, and is called again whenever another gateway was faster. Its error
// ends the change and is returned as it is. After eight tries the change fails with
// store_unavailable.
func (r *Roster) changeList(ctx context.Context, edit func([]entry) ([]entry, error)) error {
	a := &r.added
	select {
	case a.busy <- struct{}{}:
		defer func() { <-a.busy }()
	case <-ctx.Done():
		return fault.Cause(ctx)
	}
	v, err := a.values.Value(ctx, store.AgentsKey)
	if errors.Is(err, store.ErrNotFound) {
		v, err = store.Value{}, nil
	}
	for range 8 {
		if err != nil {
			break
		}
		var list []entry
		if list, err = decodeList(v); err != nil {
			break
		}
		if list, err = edit(list); err != nil {
			return err
		}
		if v.Data, err = json.Marshal(list); err != nil {
			break
		}
		v, err = a.values.PutValue(ctx, store.AgentsKey, v, 0)
		if err == nil {
			r.acceptList(v)
			return nil
		}
		if errors.Is(err, store.ErrConflict) { // somebody else was faster
			err = nil
		}
	}
	return &fault.Error{Type: fault.StoreUnavailable, Message: "The list of agents could not be changed", Service: "store", Err: err}
}

// Put adds an agent, or replaces one that was added. body is the text of an agent as in the
// configuration file. Its faults are a *chat.ValidationError with pointers into it.
//
// The new agent is in this process's team when it returns, and within followTime in the teams of
// others. isNew is true if the id was free.
func (r *Roster) Put(ctx context.Context, id string, body []byte) (isNew bool, err error) {
	if _, err := readAgent(id, body); err != nil {
		return false, err
	}
	e := entry{ID: id, Agent: jsontext.Value(bytes.Clone(body))}
	_ = e.Agent.Compact()
	inFile := r.inFile()
	err = r.changeList(ctx, func(list []entry) ([]entry, error) {
		if slices.Contains(inFile, id) {
			return nil, fieldFault("", chat.CodeNotAllowed, "an agent of the configuration file has this id")
		}
		at := slices.IndexFunc(list, func(e entry) bool { return e.ID == id })
		if isNew = at < 0; !isNew {
			list[at] = e
			return list, nil
		}
		if len(list)+len(inFile) >= maxAgents {
			return nil, fieldFault("", chat.CodeTooLong, "a team has at most "+strconv.Itoa(maxAgents)+" agents")
		}
		return append(list, e), nil
	})
	if err == nil {
		r.AwaitCards(ctx)
	}
	return isNew, err
}

// Delete takes out an agent that was added.
func (r *Roster) Delete(ctx context.Context, id string) error {
	inFile := r.inFile()
	return r.changeList(ctx, func(list []entry) ([]entry, error) {
		at := slices.IndexFunc(list, func(e entry) bool { return e.ID == id })
		switch {
		case at >= 0:
			return slices.Delete(list, at, at+1), nil
		case slices.Contains(inFile, id):
			return nil, fieldFault("", chat.CodeNotAllowed, "an agent of the configuration file stays as long as the file has it")
		}
		return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such agent; GET /agents lists them"}
	})
}

// inFile lists the agents of the configuration file.
func (r *Roster) inFile() (ids []string) {
	r.making.Lock()
	defer r.making.Unlock()
	for _, a := range r.file {
		ids = append(ids, a.ID)
	}
	return ids
}
