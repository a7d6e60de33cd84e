package gateway

import (
	"context"
	"errors"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/engine/agent"
	"sluice/internal/sim/todo"
)

// InMemory is the place of todos that end with the process.
const InMemory = ":memory:"

// OpenTodos opens the store of the built-in todo server and says where it is kept. If a default
// place cannot be written, as in a container without a home, the todos are in memory, and
// unwritable says why. A chosen place that cannot be written is an error.
func OpenTodos(ctx context.Context, cfg config.Config) (store *todo.Store, place string, unwritable, err error) {
	open := func(path string) (*todo.Store, error) {
		return todo.Open(ctx, todo.Config{Path: path, Location: config.Of[agent.Config](&cfg).Location})
	}
	at := config.Of[settings.Todos](&cfg)
	store, err = open(at.DB)
	if err == nil || !at.IsDefault || !errors.Is(err, todo.ErrUnwritable) {
		return store, at.DB, nil, err
	}
	unwritable = err
	store, err = open(InMemory)
	return store, InMemory, unwritable, err
}
