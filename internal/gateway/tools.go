// This file connects the MCP servers. A gateway starts without them: a server that does not
// answer is tried again in the background, and its tools are missing until then.

package gateway

import (
	"context"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/chat"
	"sluice/config"
	"sluice/internal/home"
	"sluice/internal/todo"
	"sluice/mcpclient"
	"sluice/mcpclient/servers"
	"sluice/recording"
	"sluice/tool"
)

// builtinTodo names the built-in todo server.
const builtinTodo = "todo"

// connectTools makes the client of all MCP servers. Without any it serves the built-in todo
// server, in memory if its file cannot be written.
//
// A gateway that runs a recording again has no servers; the recording has their tools.
func (g *Gateway) connectTools(ctx context.Context) (err error) {
	all := slices.Clone(g.with.Servers)
	configured := config.Of[servers.List](&g.cfg.Config)
	if _, rerun := g.with.tape.(*recording.Player); rerun { // it has the tools
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
		Timeout: g.cfg.ToolTimeout,
		BaseEnv: g.cfg.ChildEnv,
	})
	if err != nil {
		return &config.Error{Faults: []config.Fault{{Name: "MCP_CONFIG", Message: err.Error()}}}
	}
	g.tools.Start(ctx)
	return nil
}

// builtin returns a server that the program brings along. What the todo server keeps, all
// of that kind share; of the others each has a state of its own.
func (g *Gateway) builtin(ctx context.Context, name string) (*server.MCPServer, error) {
	if name != builtinTodo {
		return home.NewServer(name, g.cfg.Version), nil
	}
	if g.todos == nil {
		var unwritable, err error
		g.todos, g.cfg.TodoDB, unwritable, err = OpenTodos(ctx, g.cfg.Config)
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
		Policy: tool.Policy{
			ReadOnly: s.ReadOnly, Idempotent: s.Idempotent, Destructive: s.Destructive,
			Untrusted: s.Untrusted, Fallback: s.Fallback, Confirm: confirmed(s.Confirm),
			Cache: s.Cache, CacheShared: s.CacheShared,
		},
		Identity: s.Identity,
		Breaker:  newBreaker("mcp:"+s.Name, g.cfg.MCPBreaker, g.log),
	}
}

// confirmed returns what the operator says of the confirmation of tools.
func confirmed(how map[string]string) map[string]tool.Confirm {
	if how == nil {
		return nil
	}
	all := make(map[string]tool.Confirm, len(how))
	for name, value := range how {
		all[name] = tool.Confirm(value)
	}
	return all
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

// toolAccess returns what a GET may call; an unknown setting means nothing.
//
// A setting that was not foreseen thus never opens tools to a GET, which a link can cause.
func toolAccess(setting string) chat.ToolAccess {
	switch setting {
	case config.GetToolsAll:
		return chat.ToolsAll
	case config.GetToolsReadOnly:
		return chat.ToolsReadOnly
	}
	return chat.ToolsOff
}
