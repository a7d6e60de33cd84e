// This file connects the MCP servers. A gateway starts without them: a server that does not
// answer is tried again in the background, and its tools are missing until then.

package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/sim/home"
	"sluice/internal/sim/todo"
	"sluice/internal/state/store"
	"sluice/internal/state/task/recording"
	"sluice/internal/turn/chat"
	"sluice/mcpclient"
	"sluice/mcpclient/servers"
)

// builtinTodo names the built-in todo server.
const builtinTodo = "todo"

// connectTools makes the client of all MCP servers, which is started once the store is open. Without any it serves the built-in todo
// server, in memory if its file cannot be written.
//
// A gateway that runs a recording again has no servers; the recording has their tools.
func (g *Gateway) connectTools(ctx context.Context) (err error) {
	all := slices.Clone(g.seams.Servers)
	configured := config.Of[servers.List](&g.cfg.Config)
	if _, rerun := g.seams.Tape.(*recording.Player); rerun { // it has the tools
		all, configured = nil, nil
	} else if len(all)+len(configured) == 0 {
		configured = servers.List{{Name: builtinTodo, Transport: mcpclient.InProcess, Builtin: builtinTodo}}
	}
	for _, s := range configured {
		server := g.mcpServer(s)
		if s.Builtin != "" {
			if server.InProcess, err = g.builtin(ctx, s.Builtin); err != nil {
				return err
			}
		}
		all = append(all, server)
	}
	g.tools, err = mcpclient.New(mcpclient.Config{
		Servers: all,
		Log:     g.log,
		Version: g.cfg.Version,
		Timeout: settings.Of[servers.Common](&g.cfg).Timeout,
		BaseEnv: g.cfg.ChildEnv,
		Lists:   toolLists{g},
	})
	if err != nil {
		return &config.Error{Faults: []config.Fault{{Name: "MCP_CONFIG", Message: err.Error()}}}
	}
	return nil
}

// listMemory is how long the list of a server's tools is kept after it was seen last.
const listMemory = 24 * time.Hour

// toolLists implements mcpclient.Lists in the store, if there is one.
type toolLists struct{ g *Gateway }

// Load implements mcpclient.Lists.
func (l toolLists) Load(ctx context.Context, server string) []byte {
	if l.g.state == nil {
		return nil
	}
	v, err := l.g.state.store.Value(ctx, store.ToolsKey(server))
	if err != nil {
		return nil
	}
	return v.Data
}

// Keep implements mcpclient.Lists.
func (l toolLists) Keep(ctx context.Context, server string, list []byte) {
	if l.g.state == nil {
		return
	}
	v := store.Value{Data: list}
	if there, err := l.g.state.store.PutValue(ctx, store.ToolsKey(server), v, listMemory); errors.Is(err, store.ErrConflict) {
		v.Version = there.Version
		_, _ = l.g.state.store.PutValue(ctx, store.ToolsKey(server), v, listMemory) // else it is another gateway's, as new
	}
}

// builtin returns a server that the program brings along. What the todo server keeps, all
// of that kind share; of the others each has a state of its own.
func (g *Gateway) builtin(ctx context.Context, name string) (*server.MCPServer, error) {
	if name != builtinTodo {
		return home.NewServer(name, g.cfg.Version), nil
	}
	if g.todos == nil {
		todos, at, unwritable, err := OpenTodos(ctx, g.cfg.Config)
		g.todos = todos
		config.Change(&g.cfg.Config, func(t *settings.Todos) { t.DB = at })
		if err != nil {
			return nil, fmt.Errorf("built-in todo server (SLUICE_TODO_DB): %w", err)
		}
		if unwritable != nil {
			g.log.Warn().Dict("details", zerolog.Dict().AnErr("reason", unwritable)).Msg("todo_db_in_memory")
		}
	}
	return todo.NewServer(g.todos, g.cfg.Version), nil
}

// mcpServer returns what mcpclient needs of a configured server. It reveals secrets: the
// result must not be logged.
func (g *Gateway) mcpServer(s servers.Server) mcpclient.Server {
	return mcpclient.Server{
		Name:            s.Name,
		Transport:       s.Transport,
		URL:             s.URL,
		Headers:         reveal(s.Headers),
		Command:         s.Command,
		Args:            s.Args,
		Env:             reveal(s.Env),
		Dir:             s.Dir,
		Timeout:         s.Timeout,
		ProtocolVersion: s.ProtocolVersion,
		Allow:           s.Allow,
		Deny:            s.Deny,
		Policy:          s.Policy,
		Identity:        g.identifies(s),
		Breaker:         breaker.Of("mcp:"+s.Name, settings.Of[servers.Common](&g.cfg).Breaker, chat.TurnKeyOf, g.log),
	}
}

// identifies says whether a server receives for whom its tools are called.
func (g *Gateway) identifies(s servers.Server) bool {
	if s.Identity != nil {
		return *s.Identity
	}
	return s.Builtin != "" && g.asksWho()
}

// reveal returns the plain values of secrets.
//
// The result goes to mcpclient alone.
func reveal(secrets map[string]config.Secret) map[string]string {
	plain := make(map[string]string, len(secrets))
	for k, v := range secrets {
		plain[k] = v.Reveal()
	}
	return plain
}
