// This file writes a task of the store and the configuration around it as files, in the layout that
// the contract gives: tasks, agents, workflows and config under one folder. It reads the store
// while a gateway may run. No secret is written: a value from a variable stands as ${NAME}, as in
// the file, and any other secret is left out.

package operate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sluice/internal/app/providers"
	"sluice/internal/app/records"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/redact"
	"sluice/internal/engine/router"
	flow "sluice/internal/engine/workflow/records"
	"sluice/internal/model"
	"sluice/internal/state/store"
	"sluice/internal/state/task"
	"sluice/internal/state/task/record"
	"sluice/mcpclient/servers"
)

// ErrNoExport says that the store of a configuration cannot be read by another process.
var ErrNoExport = errors.New("there is nothing to read: SLUICE_STORE must name a file (sqlite:PATH) or a Redis; a store in memory belongs to one process")

// Export writes a task, its records and the configuration as files under dir. It reads only, so a
// gateway may run at the same time. The configuration is cfg, and may be newer than the task.
//
// A task that does not exist is an error with a text for people; ErrNoExport says that another
// process cannot read the store. Files of an earlier export are replaced one by one.
func Export(ctx context.Context, cfg settings.Config, id, dir string) error {
	st, err := openShared(ctx, cfg, true, ErrNoExport)
	if err != nil {
		return err
	}
	defer st.Close()
	doc, trace, err := task.Export(ctx, st, cfg.Tasks, cfg.Retention, cfg.Traces(), id)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no task %s; it may have expired", id)
	}
	if err != nil {
		return err
	}
	x := &exporting{dir: dir, id: id, hide: redact.New(secretsOf(cfg)), messages: map[string]int{}}
	if err := errors.Join(x.writeCheckpoints(ctx, st), x.writeSessions(ctx, st)); err != nil {
		return err
	}
	doc.Agent = cmp.Or(x.agent, doc.Agent)
	// The document is written behind the records: who finds it finds them.
	if err := errors.Join(x.writeJSON(x.pathOf("trace.json"), x.countMessages(trace)), x.writeJSON(x.pathOf("task.json"), doc)); err != nil {
		return err
	}
	return errors.Join(x.writeConfiguration(cfg), x.writeFile(cfg.Path))
}

// exporting is one export.
type exporting struct {
	dir, id  string
	hide     *redact.Scrubber
	agent    string         // that answers a run; empty: it is not a run
	messages map[string]int // of sessions
}

// pathOf returns the path of a file of the task.
func (x *exporting) pathOf(name string) string { return filepath.Join(x.dir, "tasks", x.id, name) }

// countMessages returns the trace with the numbers of messages that the records of its sessions
// have.
func (x *exporting) countMessages(trace []byte) any {
	t := new(record.Trace)
	if err := json.Unmarshal(trace, t); err != nil { // it was encoded here: cannot happen
		return json.RawMessage(trace)
	}
	for id, n := range x.messages {
		if s, ok := t.Sessions[id]; ok {
			s.MessageCount = n
			t.Sessions[id] = s
		}
	}
	return json.RawMessage(t.Encode())
}

// promptFile matches the name of a file with a prompt in a configuration file.
var promptFile = regexp.MustCompile(`(?m)\bprompt_file["']?:\s*["']?([^"'\s,}#]+)`)

// writeFile writes the configuration file as it is, and the files with prompts that it names. So
// values of the environment stand there by the names of their variables. A secret that somebody
// wrote into it is left out.
func (x *exporting) writeFile(path string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) { // it has gone since it was read
		return nil
	}
	if err != nil {
		return err
	}
	into := filepath.Join(x.dir, "config")
	if err := x.writePrompts(path, text, into); err != nil {
		return err
	}
	return writeWhole(filepath.Join(into, "sluice.yaml"), []byte(quoteMarks(x.hide.Text(string(text)))))
}

// quoteMarks quotes the marks of the redaction in YAML: without quotes [redacted] would be a list. A
// mark within a longer text without quotes loses its brackets: "Bearer redacted".
func quoteMarks(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for {
			before, after, found := strings.Cut(line, redact.Mark)
			if b.WriteString(before); !found {
				break
			}
			switch {
			case isQuoted(before):
				b.WriteString(redact.Mark)
			case endsBeforeValue(before) && beginsBehindValue(after):
				b.WriteString(strconv.Quote(redact.Mark))
			default:
				b.WriteString(strings.Trim(redact.Mark, "[]"))
			}
			line = after
		}
	}
	return b.String()
}

// isQuoted reports whether a quotation is open at the end of the beginning of a line.
func isQuoted(line string) bool {
	var open byte
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case open == '"' && c == '\\':
			i++
		case open != 0 && c == open:
			open = 0
		case open == 0 && (c == '"' || c == '\'') && endsBeforeValue(line[:i]):
			open = c
		}
	}
	return open != 0
}

// endsBeforeValue reports whether a value may begin behind the beginning of a line.
func endsBeforeValue(line string) bool {
	trimmed := strings.TrimRight(line, " \t")
	if trimmed == "" || strings.ContainsAny(trimmed[len(trimmed)-1:], ",[{") {
		return true
	}
	return len(trimmed) < len(line) && strings.ContainsAny(trimmed[len(trimmed)-1:], ":-")
}

// beginsBehindValue reports whether a value ends before the rest of a line.
func beginsBehindValue(line string) bool {
	trimmed := strings.TrimLeft(line, " \t\r\n")
	return trimmed == "" || strings.ContainsAny(trimmed[:1], ",]}") || trimmed[0] == '#' && len(trimmed) < len(line)
}

// writePrompts writes the files with prompts that the configuration file at path, with text, names.
func (x *exporting) writePrompts(path string, text []byte, into string) error {
	for _, m := range promptFile.FindAllSubmatch(text, -1) {
		name := string(m[1])
		if !filepath.IsLocal(name) { // it is where it was
			continue
		}
		prompt, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if err == nil {
			err = writeWhole(filepath.Join(into, name), []byte(x.hide.Text(string(prompt))))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeCheckpoints writes those of a run, each with the whole state.
func (x *exporting) writeCheckpoints(ctx context.Context, st store.Store) error {
	run, err := records.Of(st).Runs.LoadShown(ctx, x.id)
	if errors.Is(err, store.ErrNotFound) {
		return nil // it is not a run
	}
	if err != nil {
		return fmt.Errorf("checkpoints of %s: %w", x.id, err)
	}
	for n := range run.Len() {
		c, err := run.Checkpoint(ctx, n)
		if err == nil {
			x.agent = c.State.CurrentAgent
			err = x.writeJSON(x.pathOf(fmt.Sprintf("checkpoint_%03d.json", n)), c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeSessions writes those of a task's sub-agents. Sessions that have expired meanwhile are left out.
func (x *exporting) writeSessions(ctx context.Context, st store.Store) error {
	sessions := records.Of(st).Sessions
	ids, err := sessions.Of(ctx, x.id)
	for _, session := range ids {
		var kept *flow.SubAgentSession
		if kept, err = sessions.Get(ctx, session); errors.Is(err, store.ErrNotFound) {
			err = nil
			continue
		}
		if err == nil {
			x.messages[session] = len(kept.MessageHistory)
			err = x.writeJSON(x.pathOf(filepath.Join("sessions", session+".json")), kept)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("sessions of %s: %w", x.id, err)
	}
	return nil
}

// writeConfiguration writes the files of the configuration. JSON is YAML, too.
//
// The files are JSON also where their names end in .yaml.
func (x *exporting) writeConfiguration(cfg settings.Config) error {
	for name, value := range configurationFiles(cfg) {
		if err := x.writeJSON(filepath.Join(x.dir, filepath.FromSlash(name)), value); err != nil {
			return err
		}
	}
	return nil
}

// The paths of the layout that do not depend on a name.
const (
	serversFile   = "config/mcp_servers.yaml"
	retentionFile = "config/retention_policy.yaml"
)

func agentFile(id string) string      { return "agents/" + id + ".json" }
func workflowFile(name string) string { return "workflows/" + name + ".json" }

// configurationFiles returns the files of the layout that a configuration gives, by their paths
// with slashes.
func configurationFiles(cfg settings.Config) map[string]any {
	w := readWritten(cfg.Path)
	files := map[string]any{
		serversFile:   exportedServers(config.Of[servers.List](&cfg.Config), serversWritten(cfg, w)),
		retentionFile: exportedRetention(cfg.Retention),
	}
	for _, a := range cfg.Team.Agents {
		files[agentFile(a.ID)] = exportedAgent(a, cfg, w)
	}
	for _, flow := range cfg.Workflows {
		d := flow.Definition()
		files[workflowFile(d.Name)] = exportedWorkflow(d, w)
	}
	return files
}

// writeJSON writes a value as JSON, without the secrets of the configuration.
func (x *exporting) writeJSON(path string, value any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return err
	}
	return writeWhole(path, x.hide.JSON(text.Bytes()))
}

// writeWhole writes a file whole or not at all.
//
// It is written next to its place and renamed, after it has reached the disk. The folder gets
// 0700 and the file 0600, as answers may be private.
func writeWhole(path string, text []byte) (err error) {
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
	_, err = file.Write(text)
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

// exportedAgent returns an agent under the names of the layout. An agent without a model of its own
// gets the default one, and a temperature only if it has its own.
func exportedAgent(a router.AgentSpec, cfg settings.Config, w written) exportAgent {
	google := providers.Google(cfg.Config)
	text := func(value, key string) string { return w.textAt(value, "agents", a.ID, key) }
	out := exportAgent{
		Name: a.ID, Role: text(a.Role, "role"), SystemPrompt: text(a.Prompt, "prompt"), Tools: a.Tools, MaxIterations: a.MaxSteps, Temperature: a.Temperature,
		Model: exportModel{Endpoint: google.BaseURL, Model: google.Model, APIKey: "${GEMINI_API_KEY}"},
	}
	if out.Role == "" {
		out.Role = text(a.Description, "description")
	}
	if out.Tools == nil {
		out.Tools = []string{}
	}
	for _, m := range cfg.Models {
		if m.Key == a.Model || a.Model == "" && m.Key == model.DefaultKey {
			out.Model = exportModel{
				Endpoint: w.textAt(m.Endpoint, "models", m.Key, "endpoint"), Model: w.textAt(m.Model, "models", m.Key, "model"), APIKey: keyOf(m, w),
			}
		}
	}
	return out
}

// keyOf names the key of a model. It is empty for a model without a key. A key in the file itself
// is not shown. A key that the file does not have comes from the variable of its provider.
func keyOf(m model.Spec, w written) string {
	if m.APIKey.Reveal() == "" {
		return ""
	}
	if _, ok := w.lookUp([]string{"models", m.Key, "api_key"}); ok {
		return w.textAt(redact.Mark, "models", m.Key, "api_key")
	}
	if name := model.KeyOf(cmp.Or(m.Preset, m.Provider), providers.Protocols()); name != "" {
		return "${" + name + "}"
	}
	return redact.Mark
}

// exportServer is an MCP server as it is exported. Members behind config are ours.
type exportServer struct {
	Name      string              `json:"name"`
	Transport string              `json:"transport"`
	Config    exportServerConfig  `json:"config"`
	Timeout   float64             `json:"timeout_seconds,omitempty"`
	Fallback  map[string][]string `json:"fallback,omitempty"`
}

// exportServerConfig is how a server is reached: by a URL, as a program, or within the
// process, by a name.
type exportServerConfig struct {
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Builtin string            `json:"builtin,omitempty"`
}

// exportedServers returns the servers as they are written. For a server whose file is missing,
// values that may be secret are not shown.
func exportedServers(configured servers.List, w written) map[string][]exportServer {
	all := []exportServer{}
	for _, s := range configured {
		shown := func(value string, place ...string) string {
			if _, ok := w[s.Name]; !ok {
				return hideExpanded(s, value)
			}
			return w.textAt(value, append([]string{s.Name}, place...)...)
		}
		out := exportServerConfig{Command: shown(s.Command, "command"), Builtin: s.Builtin}
		if s.URL != "" {
			out.URL = shown(s.URL, "url")
		}
		for i, arg := range s.Args {
			out.Args = append(out.Args, shown(arg, "args", strconv.Itoa(i)))
		}
		out.Env = w.secretValues(s.Env, s.Name, "env")
		out.Headers = w.secretValues(s.Headers, s.Name, "headers")
		all = append(all, exportServer{s.Name, string(s.Transport), out, s.Timeout.Seconds(), s.Fallback})
	}
	return map[string][]exportServer{"servers": all}
}

// hideExpanded returns a text of a server without the values of variables.
func hideExpanded(s servers.Server, text string) string {
	for _, secret := range s.Expanded {
		if secret.Reveal() != "" {
			text = strings.ReplaceAll(text, secret.Reveal(), redact.Mark)
		}
	}
	return text
}

// secretValues returns the values of an object of a server, each as it is written.
func (w written) secretValues(values map[string]config.Secret, server, key string) map[string]string {
	if len(values) == 0 {
		return nil
	}
	out := map[string]string{}
	for name, value := range values {
		out[name] = w.secretAt(name, value.Reveal(), server, key, name)
	}
	return out
}
