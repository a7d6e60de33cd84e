// This file keeps the agents that operators add while gateways run (PUT and DELETE
// /agents). All gateways share one list in the store; each reads it again every second and
// makes a new registry if it has changed. A change is a compare-and-swap on the whole list:
// it is small (maxAgents), and two operators seldom meet.
//
// Only remote agents can be added. An agent of the configuration file wins over one that
// was added with the same id.

package gateway

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/config"
	"sluice/config/file"
	"sluice/fault"
	"sluice/handlers"
	"sluice/router"
	"sluice/store"
)

const (
	// followTime is how often the store is asked for agents that were added elsewhere.
	followTime = time.Second
	// maxAgents bounds a team, with the agents that are added.
	maxAgents = 64
)

// added are the agents that operators have added while gateways run. They are one value in
// the store, or of this process where there is no store.
//
// busy is a channel and not a mutex, so that a caller can stop waiting when its request
// ends.
type added struct {
	values  store.Values
	busy    chan struct{} // holds one token: who changes or reads the list has it
	version int64
	list    []entry // as it was read last
}

// entry is one agent as it is kept: what was sent, with its variables not put in.
type entry struct {
	ID    string         `json:"id"`
	Agent jsontext.Value `json:"agent"`
}

// follow reads the list again and again until ctx ends.
//
// It has a goroutine of its own, for which close waits.
func (m *remotes) follow(ctx context.Context) {
	tick := time.NewTicker(followTime)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.read(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// read takes over the list of the store. While the store is unavailable the agents stay.
//
// An unchanged version costs one read of the store and nothing else.
func (m *remotes) read(ctx context.Context) {
	a := &m.added
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
	m.take(v)
}

// take takes over a list, which may be one of a newer version: what cannot be read of it is
// left out. The caller holds the token.
func (m *remotes) take(v store.Value) {
	list, err := decode(v)
	if err != nil {
		m.gateway.log.Error().Dict("details", zerolog.Dict().AnErr("cause", err)).Msg("agents_damaged")
	}
	var specs []router.AgentSpec
	for _, e := range list {
		spec, err := readAgent(e.ID, e.Agent)
		if err != nil {
			m.gateway.log.Error().Dict("details", zerolog.Dict().Str("agent_id", chat.Line(e.ID, 64)).AnErr("cause", err)).Msg("agent_rejected")
			continue
		}
		specs = append(specs, spec)
	}
	m.making.Lock()
	defer m.making.Unlock()
	m.added.list, m.added.version = list, v.Version
	m.extra = specs
	if m.closed || m.gateway.registry.Load() == nil {
		return
	}
	before, now := m.remake()
	m.gateway.logChanges(before, now)
}

// decode reads the list as it is kept. No value is an empty list.
func decode(v store.Value) (list []entry, err error) {
	if len(v.Data) > 0 {
		err = json.Unmarshal(v.Data, &list)
	}
	return list, err
}

// change changes the list in the store, and takes it over.
//
// edit gets the list as it is in the store and may be called several times, whenever
// another gateway was faster; its error ends the change and is returned as it is. After
// eight tries the change fails with store_unavailable.
func (m *remotes) change(ctx context.Context, edit func([]entry) ([]entry, error)) error {
	a := &m.added
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
		if list, err = decode(v); err != nil {
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
			m.take(v)
			return nil
		}
		if errors.Is(err, store.ErrConflict) { // somebody else was faster
			err = nil
		}
	}
	return &fault.Error{Type: fault.StoreUnavailable, Message: "The list of agents could not be changed", Service: "store", Err: err}
}

// PutAgent implements handlers.Agents.
//
// The new agent is in this process's registry when it returns, and within followTime in
// that of others. isNew says that there was none of that id.
func (m *remotes) PutAgent(ctx context.Context, id string, body []byte) (told handlers.TeamAgent, isNew bool, err error) {
	if _, err := readAgent(id, body); err != nil {
		return told, false, err
	}
	e := entry{ID: id, Agent: jsontext.Value(bytes.Clone(body))}
	_ = e.Agent.Compact()
	inFile := m.inFile()
	err = m.change(ctx, func(list []entry) ([]entry, error) {
		if slices.Contains(inFile, id) {
			return nil, refusal("", chat.CodeNotAllowed, "an agent of the configuration file has this id")
		}
		at := slices.IndexFunc(list, func(e entry) bool { return e.ID == id })
		if isNew = at < 0; !isNew {
			list[at] = e
			return list, nil
		}
		if len(list)+len(inFile) >= maxAgents {
			return nil, refusal("", chat.CodeTooLong, "a team has at most "+strconv.Itoa(maxAgents)+" agents")
		}
		return append(list, e), nil
	})
	if err != nil {
		return told, false, err
	}
	m.settle(ctx)
	for _, a := range m.gateway.team().Agents {
		if a.ID == id {
			told = a
		}
	}
	return told, isNew, nil
}

// DeleteAgent implements handlers.Agents.
func (m *remotes) DeleteAgent(ctx context.Context, id string) error {
	inFile := m.inFile()
	return m.change(ctx, func(list []entry) ([]entry, error) {
		at := slices.IndexFunc(list, func(e entry) bool { return e.ID == id })
		switch {
		case at >= 0:
			return slices.Delete(list, at, at+1), nil
		case slices.Contains(inFile, id):
			return nil, refusal("", chat.CodeNotAllowed, "an agent of the configuration file stays as long as the file has it")
		}
		return nil, &fault.Error{Type: fault.NotFound, Message: "There is no such agent; GET /agents lists them"}
	})
}

// inFile lists the agents of the configuration file.
func (m *remotes) inFile() (ids []string) {
	m.making.Lock()
	defer m.making.Unlock()
	for _, a := range m.file.Team.Agents {
		ids = append(ids, a.ID)
	}
	return ids
}

// refusal is the fault of one field.
//
// field is a JSON pointer; "": the body as a whole.
func refusal(field, code, message string) error {
	return &chat.ValidationError{Fields: []chat.FieldError{{Field: field, Code: code, Message: message}}}
}

// readAgent reads an agent that is added, by the rules of the configuration file. Its
// errors are *chat.ValidationError, with pointers into body.
//
// It has the section agents of the file read a file of one agent, so that the rules are the
// same ones. Variables are taken from those that an added agent may use
// (config.AgentVariable), not from the whole environment.
func readAgent(id string, body []byte) (router.AgentSpec, error) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members); err != nil {
		return router.AgentSpec{}, refusal("", chat.CodeInvalidJSON, "must be an object of JSON, in which no key is given twice")
	}
	quoted, _ := jsontext.AppendQuote(nil, id)
	content := slices.Concat([]byte(`{"agents":{`), quoted, []byte(":"), body, []byte("}}"))
	var spec router.Spec
	faults := file.Table{router.AgentsSection(&spec, new(config.Config))}.ReadFrom("", content, config.Sources{Lookup: config.AgentVariable}).Faults
	wrong := new(chat.ValidationError)
	prefix := "/agents/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(id)
	for _, f := range faults {
		pointer, message, found := strings.Cut(f.Message, ": ")
		if !found || !strings.HasPrefix(pointer, "/agents") {
			pointer, message = prefix, f.Message
		}
		wrong.Add(strings.TrimPrefix(pointer, prefix), &chat.FieldError{Code: codeOf(message), Message: message})
	}
	if members["card"] == nil {
		wrong.Add("/card", &chat.FieldError{Code: chat.CodeRequired, Message: "is required: only remote agents can be added"})
	}
	if members["quality"] != nil {
		wrong.Add("/quality", &chat.FieldError{Code: chat.CodeUnsupported, Message: "belongs into the configuration file"})
	}
	if len(wrong.Fields) > 0 {
		return router.AgentSpec{}, wrong
	}
	if len(spec.Agents) != 1 {
		return router.AgentSpec{}, refusal("", chat.CodeInvalidJSON, "must be an agent")
	}
	return spec.Agents[0], nil
}

// codeOf returns the code of a fault, by the words that the configuration file's faults have.
//
// A fault whose words it does not know is of an invalid format.
func codeOf(message string) string {
	switch {
	case strings.HasPrefix(message, "there is no such key"):
		return chat.CodeUnsupported
	case strings.HasPrefix(message, "must not be longer"):
		return chat.CodeTooLong
	case message == "is required":
		return chat.CodeRequired
	case strings.HasPrefix(message, "is not taken"):
		return chat.CodeNotAllowed
	}
	return chat.CodeInvalidFormat
}

// logChanges logs which agents came and went.
func (g *Gateway) logChanges(before, now *registry) {
	if added, removed := changed(before, now); len(added)+len(removed) > 0 {
		g.log.Info().Dict("details", zerolog.Dict().Strs("added", added).Strs("removed", removed)).Msg("registry_changed")
	}
}
