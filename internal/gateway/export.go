// This file writes a task of the store and the configuration around it as files, in the
// layout that the contract gives: tasks, agents, workflows and config under one folder. It
// reads the store beside a running gateway. No secret is written: where one was there is
// the name of a variable.

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
	"sluice/mcpclient/servers"
	"sluice/model"
	"sluice/router"
	"sluice/store"
	"sluice/store/redis"
	"sluice/store/sqlite"
	"sluice/task"
	"sluice/workflow"
)

// ErrNoExport says that the store of a configuration cannot be read by another process.
var ErrNoExport = errors.New("there is nothing to read: SLUICE_STORE must name a file (sqlite:PATH) or a Redis; what a process keeps in its memory no other one sees")

// Export writes a task, what belongs to it, and what is configured, as files under dir. It
// reads only, so a gateway may run beside it. The configuration is that which is given,
// which may be newer than the task.
//
// A task that is not there is an error with a text for people; ErrNoExport says that the
// store is none which another process can read. Files of an earlier export are replaced one
// by one.
func Export(ctx context.Context, cfg Config, id, dir string) error {
	st, err := openToRead(ctx, cfg)
	if err != nil {
		return err
	}
	defer st.Close()
	doc, trace, err := task.Export(ctx, st, cfg.Tasks, cfg.Retention, cfg.Trace, id)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no task %s; it may have expired", id)
	}
	if err != nil {
		return err
	}
	of := func(name string) string { return filepath.Join(dir, "tasks", id, name) }
	if err := errors.Join(exportCheckpoints(ctx, st, id, of), exportSessions(ctx, st, id, of)); err != nil {
		return err
	}
	// The document is written behind the records: who finds it finds them.
	if err := errors.Join(replace(of("trace.json"), json.RawMessage(trace)), replace(of("task.json"), doc)); err != nil {
		return err
	}
	return exportConfiguration(cfg, dir)
}

// exportCheckpoints writes those of a run, each with the whole state.
func exportCheckpoints(ctx context.Context, st store.Store, id string, of func(string) string) error {
	run, err := workflow.NewRunStore(workflow.RunStoreConfig{Store: st}).Shown(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it is no run
	}
	if err != nil {
		return fmt.Errorf("checkpoints of %s: %w", id, err)
	}
	for n := range run.Len() {
		c, err := run.Checkpoint(ctx, n)
		if err == nil {
			err = replace(of(fmt.Sprintf("checkpoint_%03d.json", n)), c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exportSessions writes those of a task's sub-agents. What has gone meanwhile is left out.
func exportSessions(ctx context.Context, st store.Store, id string, of func(string) string) error {
	sessions := &workflow.Sessions{Store: st}
	ids, err := sessions.Of(ctx, id)
	for _, session := range ids {
		var record *workflow.SubAgentSession
		if record, err = sessions.Get(ctx, session); errors.Is(err, store.ErrNotFound) {
			err = nil
			continue
		}
		if err == nil {
			err = replace(of(filepath.Join("sessions", session+".json")), record)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("sessions of %s: %w", id, err)
	}
	return nil
}

// exportConfiguration writes what is configured. JSON is YAML, too.
//
// The files are JSON also where their names end in .yaml.
func exportConfiguration(cfg Config, dir string) error {
	files := map[string]any{
		filepath.Join("config", "mcp_servers.yaml"):      exportedServers(config.Of[servers.List](&cfg.Config)),
		filepath.Join("config", "retention_policy.yaml"): exportedRetention(cfg.Retention),
	}
	for _, a := range cfg.Team.Agents {
		files[filepath.Join("agents", a.ID+".json")] = exportedAgent(a, cfg)
	}
	for _, w := range cfg.Workflows {
		d := w.Definition()
		files[filepath.Join("workflows", d.Name+".json")] = exportedWorkflow(d)
	}
	for name, value := range files {
		if err := replace(filepath.Join(dir, name), value); err != nil {
			return err
		}
	}
	return nil
}

// openToRead opens the configured store without the owner's lock.
//
// Redis is not asked here: a server that cannot be reached is found by the first read.
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
//
// It is written beside its place and renamed, after it has reached the disk. The folder
// gets 0700 and the file 0600, as answers may be private.
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

// An agent without a model of its own gets the default one. Its temperature is left out
// where it is the model's.
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
	Name      string             `json:"name"`
	Transport string             `json:"transport"`
	Config    exportServerConfig `json:"config"`
}

// exportServerConfig is how a server is reached: by a URL, or as a program.
type exportServerConfig struct {
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// exportedServers returns the servers, with ${NAME} for all that may be a secret: values of
// headers and variables, and what came out of the environment. Those that the program
// itself brings along have no address, and are left out.
//
// A secret that came out of the environment into an address or an argument is replaced
// wherever it stands in that text.
func exportedServers(configured servers.List) map[string][]exportServer {
	all := []exportServer{}
	for _, s := range configured {
		if s.Builtin != "" {
			continue
		}
		hide := func(text string) string {
			for i, secret := range s.Expanded {
				if secret.Reveal() != "" {
					text = strings.ReplaceAll(text, secret.Reveal(), variable(s.Name, fmt.Sprint("VALUE_", i+1)))
				}
			}
			return text
		}
		out := exportServerConfig{URL: hide(s.URL), Command: hide(s.Command)}
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
		all = append(all, exportServer{s.Name, string(s.Transport), out})
	}
	return map[string][]exportServer{"servers": all}
}

// variable returns ${NAME}, where what cannot stand in a variable's name is an underscore.
func variable(parts ...string) string {
	notInNames := regexp.MustCompile("[^A-Z0-9_]+")
	return "${" + notInNames.ReplaceAllString(strings.ToUpper(strings.Join(parts, "_")), "_") + "}"
}
