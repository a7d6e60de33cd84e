// This file connects the MCP servers. A gateway starts without them: a server that does not
// answer is tried again in the background, and its tools are missing until then.

package gateway

import (
	"context"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/server"
	"github.com/rs/zerolog"

	"sluice/breaker"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/engine/agent"
	"sluice/internal/engine/toolcache"
	"sluice/internal/sim/home"
	"sluice/internal/sim/todo"
	"sluice/internal/state/task/recording"
	"sluice/internal/turn/chat"
	"sluice/mcpclient"
	"sluice/mcpclient/servers"
	"sluice/stream"
)

// builtinTodo names the built-in todo server.
const builtinTodo = "todo"

// serverTools are the tools of all MCP servers, behind the tape and the cache of results.
//
// The fields below client are set by start, and do not change afterwards.
type serverTools struct {
	client *mcpclient.Client
	tape   *turnTape
	todos  *todo.Store // nil unless the built-in todo server is used
	lists  *toolLists

	cache       *toolcache.Cache // nil unless results of tools are cached
	passCallers bool             // a tool or the cache needs the caller of a turn
}

// connectTools returns the client of all MCP servers, which start connects. Without any server it
// serves the built-in todo server, in memory if the file of todos cannot be written. The caller
// must call close.
//
// A gateway that runs a recorded turn connects to no server: the recording has the tools.
func connectTools(ctx context.Context, c *commonParts, tape *turnTape) (_ *serverTools, err error) {
	t := &serverTools{tape: tape, lists: new(toolLists)}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	all := slices.Clone(c.seams.Servers)
	configured := config.Of[servers.List](&c.cfg.Config)
	if _, isReplay := c.seams.Tape.(*recording.Player); isReplay {
		all, configured = nil, nil
	} else if len(all)+len(configured) == 0 {
		configured = servers.List{{Name: builtinTodo, Transport: mcpclient.InProcess, Builtin: builtinTodo}}
	}
	for _, s := range configured {
		server := mcpServer(c, s)
		if s.Builtin != "" {
			if server.InProcess, err = t.openBuiltin(ctx, c, s.Builtin); err != nil {
				return nil, err
			}
		}
		all = append(all, server)
	}
	t.client, err = mcpclient.New(mcpclient.Config{
		Servers: all,
		Log:     c.log,
		Version: c.cfg.Version,
		Timeout: settings.Of[servers.Common](&c.cfg).Timeout,
		BaseEnv: c.cfg.ChildEnv,
		Lists:   t.lists,
	})
	if err != nil {
		return nil, &config.Error{Faults: []config.Fault{{Name: "MCP_CONFIG", Message: err.Error()}}}
	}
	return t, nil
}

// openBuiltin returns a server that the program brings along. All todo servers share their todos; each
// other server has its own state.
func (t *serverTools) openBuiltin(ctx context.Context, c *commonParts, name string) (*server.MCPServer, error) {
	if name != builtinTodo {
		return home.NewServer(name, c.cfg.Version), nil
	}
	if t.todos == nil {
		todos, at, unwritable, err := OpenTodos(ctx, c.cfg.Config)
		t.todos = todos
		config.Change(&c.cfg.Config, func(t *settings.Todos) { t.DB = at })
		if err != nil {
			return nil, fmt.Errorf("built-in todo server (SLUICE_TODO_DB): %w", err)
		}
		if unwritable != nil {
			c.log.Warn().Dict("details", zerolog.Dict().AnErr("reason", unwritable)).Msg("todo_db_in_memory")
		}
	}
	return todo.NewServer(t.todos, c.cfg.Version), nil
}

// startTools opens the sessions with the servers, and the cache of results if a server has tools whose
// results are cached. The cache is in the store, or in this process if s is nil.
func (t *serverTools) startTools(ctx context.Context, c *commonParts, s *storedState) {
	var keeper toolcache.Keeper
	if s != nil {
		t.lists.store, keeper = s.store, s.store
	}
	t.client.Start(ctx)
	all := allServers(c)
	if slices.ContainsFunc(all, func(s mcpclient.Server) bool { return len(s.Policy.Cache) > 0 }) {
		t.cache = toolcache.New(keeper, c.metrics)
	}
	t.passCallers = t.cache != nil || c.asksWho() || slices.ContainsFunc(all, func(s mcpclient.Server) bool { return s.Identity })
}

// toolsOf returns the tools of a source for an owner: the id of an agent, or an owner below.
func (t *serverTools) toolsOf(owner string, s toolcache.Source) agent.Tools {
	if t.tape.tape == nil {
		return t.withCache(s)
	}
	return t.tape.tape.Tools(owner, t.withCache(s))
}

// The owner of tools that belong to no agent.
const (
	toolsOfNodes   = "(workflow)"
	toolsOfPlanner = "(planner)"
	toolsOfAsking  = "(approvals)"
)

// withCache returns the tools of a source, behind the cache if there is one.
func (t *serverTools) withCache(s toolcache.Source) agent.Tools {
	if t.cache == nil {
		return s
	}
	return t.cache.Around(s)
}

// nameOf returns the name of a server's tool. It goes through the tape, so that a recorded turn
// finds the same name.
func (t *serverTools) nameOf(ctx context.Context, server, name string) string {
	if t.tape.tape == nil {
		return t.client.Named(ctx, server, name)
	}
	return t.tape.tape.Named(ctx, server, name, func() string { return t.client.Named(ctx, server, name) })
}

// withCaller returns r, with the caller of each turn for the tools, if one of them needs it.
func (t *serverTools) withCaller(r stream.Runner) stream.Runner {
	if !t.passCallers {
		return r
	}
	return forCaller{r}
}

// close ends the sessions and closes the todos. It works on nil.
func (t *serverTools) close() {
	if t == nil {
		return
	}
	if t.client != nil {
		_ = t.client.Close()
	}
	if t.todos != nil {
		_ = t.todos.Close()
	}
}

// forCaller runs turns whose tools know for whom they are called.
type forCaller struct{ stream.Runner }

// Run implements stream.Runner.
func (r forCaller) Run(ctx context.Context, req *chat.Request, sink stream.Sink) (stream.Result, error) {
	turn := chat.TurnOf(ctx)
	turn.Caller = req.Caller()
	return r.Runner.Run(chat.WithTurn(ctx, turn), req, sink)
}

// allServers returns all MCP servers with their policies. The breakers of this list are not used.
func allServers(c *commonParts) []mcpclient.Server {
	all := c.seams.Servers
	for _, s := range config.Of[servers.List](&c.cfg.Config) {
		all = append(all[:len(all):len(all)], mcpServer(c, s))
	}
	return all
}

// mcpServer returns a configured server for package mcpclient. The result has secrets in plain
// text: it must not be logged.
func mcpServer(c *commonParts, s servers.Server) mcpclient.Server {
	return mcpclient.Server{
		Name:            s.Name,
		Transport:       s.Transport,
		URL:             s.URL,
		Headers:         plainValues(s.Headers),
		Command:         s.Command,
		Args:            s.Args,
		Env:             plainValues(s.Env),
		Dir:             s.Dir,
		Timeout:         s.Timeout,
		ProtocolVersion: s.ProtocolVersion,
		Allow:           s.Allow,
		Deny:            s.Deny,
		Policy:          s.Policy,
		Identity:        isIdentified(c, s),
		Breaker:         breaker.Of("mcp:"+s.Name, settings.Of[servers.Common](&c.cfg).Breaker, chat.TurnKeyOf, c.log),
	}
}

// isIdentified reports whether a server receives for whom its tools are called.
func isIdentified(c *commonParts, s servers.Server) bool {
	if s.Identity != nil {
		return *s.Identity
	}
	return s.Builtin != "" && c.asksWho()
}

// plainValues returns the plain values of secrets.
//
// The result goes to mcpclient alone.
func plainValues(secrets map[string]config.Secret) map[string]string {
	plain := make(map[string]string, len(secrets))
	for k, v := range secrets {
		plain[k] = v.Reveal()
	}
	return plain
}
