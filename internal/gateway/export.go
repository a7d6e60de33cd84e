package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sluice/config"
	"sluice/model"
	"sluice/router"
	"sluice/store"
	"sluice/store/redis"
	"sluice/store/sqlite"
	"sluice/task"
)

// ErrNoExport says that the store of a configuration cannot be read by another process.
var ErrNoExport = errors.New("there is nothing to read: SLUICE_STORE must name a file (sqlite:PATH) or a Redis; what a process keeps in its memory no other one sees")

// Export writes a task, its trace, and what is configured, as files under dir. It reads
// only, so a gateway may run beside it. The configuration is that which is given, which
// may be newer than the task.
func Export(ctx context.Context, cfg Config, id, dir string) error {
	st, err := openToRead(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	doc, trace, err := task.Export(ctx, st, cfg.Tasks, cfg.Trace, id)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no task %s; it may have expired", id)
	}
	if err != nil {
		return err
	}
	files := map[string]any{
		filepath.Join("tasks", id, "task.json"):     doc,
		filepath.Join("tasks", id, "trace.json"):    json.RawMessage(trace),
		filepath.Join("config", "mcp_servers.yaml"): exportedServers(cfg.MCPServers), // JSON is YAML
	}
	for _, a := range cfg.Team.Agents {
		files[filepath.Join("agents", a.ID+".json")] = exportedAgent(a, cfg)
	}
	for _, w := range cfg.Workflows {
		files[filepath.Join("workflows", w.Definition().Name+".json")] = w.Definition()
	}
	for name, value := range files {
		if err := replace(filepath.Join(dir, name), value); err != nil {
			return err
		}
	}
	return nil
}

// openToRead opens the configured store without the owner's lock.
func openToRead(ctx context.Context, cfg Config) (store.Store, error) {
	at, err := store.ParseLocation(cfg.Store.Reveal())
	switch {
	case err != nil:
		return nil, err
	case at.Kind == store.SQLite:
		return sqlite.Open(ctx, sqlite.Config{Path: at.Path, ReadOnly: true})
	case at.Kind == store.Redis:
		return redis.New(redis.Config{Location: at, Prefix: cfg.StorePrefix}), nil
	}
	return nil, ErrNoExport
}

// replace writes a file whole or not at all.
func replace(path string, value any) (err error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".export-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text.Bytes())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// exportAgent is an agent as it is exported.
type exportAgent struct {
	Name          string      `json:"name"`
	Role          string      `json:"role"`
	SystemPrompt  string      `json:"system_prompt"`
	Tools         []string    `json:"tools"`
	MaxIterations int         `json:"max_iterations"`
	Model         exportModel `json:"llm_config"`
	Temperature   *float64    `json:"temperature,omitempty"`
}

// exportModel is a model as it is exported, without its key.
type exportModel struct {
	Endpoint string `json:"endpoint"`
	Model    string `json:"model"`
	APIKey   string `json:"api_key"`
}

func exportedAgent(a router.AgentSpec, cfg Config) exportAgent {
	out := exportAgent{
		Name: a.ID, Role: a.Role, SystemPrompt: a.Prompt, Tools: a.Tools, MaxIterations: a.MaxSteps, Temperature: a.Temperature,
		Model: exportModel{Endpoint: cfg.GeminiBaseURL, Model: cfg.GeminiModel, APIKey: "${GEMINI_API_KEY}"},
	}
	if out.Role == "" {
		out.Role = a.Description
	}
	if out.Tools == nil {
		out.Tools = []string{}
	}
	for _, m := range cfg.Models {
		if m.Key == a.Model || a.Model == "" && m.Key == model.DefaultKey {
			out.Model = exportModel{Endpoint: m.Endpoint, Model: m.Model, APIKey: keyOf(m)}
		}
	}
	return out
}

// keyOf names the key of a model. Those of servers of one's own have none.
func keyOf(m model.Spec) string {
	if m.APIKey.Reveal() == "" {
		return ""
	}
	return variable(m.Key, "API_KEY")
}

// exportServer is an MCP server as it is exported.
type exportServer struct {
	Transport string            `json:"transport"`
	URL       string            `json:"url,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Command   string            `json:"command,omitempty"`
	Args      []string          `json:"args,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// exportedServers returns the servers, with ${NAME} for all that may be a secret: values of
// headers and variables, and what came out of the environment.
func exportedServers(servers []config.MCPServer) map[string]map[string]exportServer {
	all := map[string]exportServer{}
	for _, s := range servers {
		hide := func(text string) string {
			for i, secret := range s.Expanded {
				if secret.Reveal() != "" {
					text = strings.ReplaceAll(text, secret.Reveal(), variable(s.Name, fmt.Sprint("VALUE_", i+1)))
				}
			}
			return text
		}
		out := exportServer{Transport: s.Transport, URL: hide(s.URL), Command: s.Command}
		for _, arg := range s.Args {
			out.Args = append(out.Args, hide(arg))
		}
		for name := range maps.Keys(s.Env) {
			if out.Env == nil {
				out.Env = map[string]string{}
			}
			out.Env[name] = variable(name)
		}
		for name := range maps.Keys(s.Headers) {
			if out.Headers == nil {
				out.Headers = map[string]string{}
			}
			out.Headers[name] = variable(s.Name, name)
		}
		all[s.Name] = out
	}
	return map[string]map[string]exportServer{"mcpServers": all}
}

var notInNames = regexp.MustCompile("[^A-Z0-9_]+")

// variable returns ${NAME}.
func variable(parts ...string) string {
	return "${" + notInNames.ReplaceAllString(strings.ToUpper(strings.Join(parts, "_")), "_") + "}"
}
