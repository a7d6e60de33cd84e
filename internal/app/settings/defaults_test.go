package settings

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sluice/internal/base/config"
	"sluice/internal/base/config/configtest"
	"sluice/internal/quality/deliver"
	"sluice/internal/quality/style"
	"sluice/internal/state/task"
	"sluice/internal/state/task/conversation"
	"sluice/internal/turn/chat"
	"sluice/mcpclient/servers"
)

// schemaDefault is a default that the schema of the configuration file reports.
type schemaDefault struct {
	path string // with dots; a name that is the user's is *, an item of a list is 0
	text string
	// isList says that text lists items.
	isList bool
}

// schemaDefaults collects what the schema says of defaults.
func schemaDefaults(path string, schema map[string]any) (all []schemaDefault) {
	text, _ := schema["description"].(string)
	if m := regexp.MustCompile(`Default: (.+)$`).FindStringSubmatch(text); m != nil {
		all = append(all, schemaDefault{strings.TrimPrefix(path, "."), strings.TrimSuffix(m[1], "."), schema["type"] == "array"})
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		all = append(all, schemaDefaults(path+"."+name, properties[name].(map[string]any))...)
	}
	if of, ok := schema["additionalProperties"].(map[string]any); ok {
		all = append(all, schemaDefaults(path+".*", of)...)
	}
	if of, ok := schema["items"].(map[string]any); ok {
		all = append(all, schemaDefaults(path+".0", of)...)
	}
	return all
}

// saidDefaults are defaults that are no value of their key: words, or what depends on another key. The model default and
// the failure text are what an empty name or text means.
func saidDefaults() []string {
	// The defaults of auth are no values of its fields: internal/edge/access/door and internal/edge/access/jwt test what holds without them.
	return strings.Fields(`auth.keys auth.failures auth.anonymous.scopes auth.jwt.0.algorithms auth.jwt.0.leeway auth.jwt.0.types auth.jwt.0.scopes auth.jwt.0.scope_map
		auth.jwt.0.claims.user auth.proxy.headers.user auth.proxy.scopes a2a.public_url agents.*.card agents.*.max_output_tokens agents.*.model router.model quality.judge.model quality.planner.model agents.*.name agents.*.prompt agents.*.timeout
		budget.turn_tokens channels.*.extends channels.*.greeting mcpServers.*.identity mcpServers.*.timeout mcpServers.*.type models.*.api models.*.api_key
		models.*.context_tokens models.*.endpoint models.*.max_output_tokens models.*.prefill models.*.temperature models.*.timeout quality.criteria.0.channels
		quality.criteria.0.check quality.drafts router.clarification_template router.system_prompt router.user_template
		style.emojis.max tasks.take_over style.texts.*.failure_text style.texts.*.greeting_text style.texts.*.sign_off_text workflows.*.answer workflows.*.edges.0.condition
		workflows.*.entry_point workflows.*.nodes.*.input workflows.*.nodes.*.speak workflows.*.nodes.*.timeout workflows.*.retention_days`)
}

// leastFile is a file that has an instance of everything for which defaults are reported.
const leastFile = `{
	"a2a": {}, "aggregate": {}, "conversations": {}, "dispatch": {}, "limits": {}, "memory": {}, "retention": {}, "router": {}, "tasks": {}, "tenants": {"t": {}}, "trace": {},
	"style": {"version": "1", "emojis": {}, "formatting": {}, "humor": {}, "texts": {"en": {}}, "tone": {}},
	"models": {"default": {"provider": "gemini", "model": "x"}, "m": {"provider": "ollama", "model": "x"}},
	"agents": {"a": {"description": "Does one thing."}, "remote": {"description": "Runs elsewhere.", "card": "https://h/card.json"}},
	"channels": {"sms": {"deliver": {"url": "https://h/x", "secret": "${SECRET}"}}},
	"mcpServers": {"s": {"command": "x"}},
	"quality": {"judge": {}, "planner": {}, "criteria": [{"id": "c", "description": "It is short."}]},
	"workflows": {"w": {"nodes": {
		"n": {"type": "agent", "agent": "a", "repeat": {"until": "true"}},
		"person": {"type": "human"}
	}, "edges": [{"from": "n", "to": "person"}]}}
}`

// defaultsOf says of which instance a default is reported, where the first one has no such key.
func defaultsOf(path string) string {
	if strings.HasSuffix(path, ".refresh") || strings.HasSuffix(path, ".streaming") {
		return strings.Replace(path, "*", "remote", 1)
	}
	if strings.HasSuffix(path, ".approvers") || strings.HasSuffix(path, ".on_timeout") || strings.HasSuffix(path, ".nodes.*.prompt") {
		return strings.Replace(path, "nodes.*", "nodes.person", 1)
	}
	return strings.Replace(path, "models.*.think_tags", "models.m.think_tags", 1)
}

// readDefaults reads a file, and completes it with what packages put in where it says nothing.
func readDefaults(t *testing.T, doc any) []any {
	t.Helper()
	content, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	w := configtest.World{Env: map[string]string{"SLUICE_CONFIG": "s.yaml", "SLUICE_STORE": "memory", "SECRET": strings.Repeat("s", 40)}, Files: map[string]string{"s.yaml": string(content)}}
	var f File
	cfg, err := LoaderWith(&f).Load(nil, w.Lookup, w.ReadFile)
	if err != nil {
		t.Error(err)
		return nil
	}
	cfg.Warnings = nil // they have places
	f.Team, f.Retention, f.Limits = f.Team.Settled(), f.Retention.Settled(), f.Limits.Settled()
	f.Tasks.TTL, f.Tasks.EventTTL = cmp.Or(f.Tasks.TTL, task.DefaultTTL), cmp.Or(f.Tasks.EventTTL, task.DefaultEventTTL)
	f.Tasks.Lease, f.Tasks.MaxHistory = cmp.Or(f.Tasks.Lease, task.DefaultLease), cmp.Or(f.Tasks.MaxHistory, task.DefaultMaxHistory)
	f.Tasks.OnDisconnect = cmp.Or(f.Tasks.OnDisconnect, chat.OnDisconnectContinue)
	f.Conversations.TTL, f.Conversations.MaxTurns = cmp.Or(f.Conversations.TTL, 30*24*time.Hour), cmp.Or(f.Conversations.MaxTurns, 500)
	f.Memory.TTL = cmp.Or(f.Memory.TTL, conversation.DefaultTTL)
	f.Memory.MaxMessages, f.Memory.MaxTokens = cmp.Or(f.Memory.MaxMessages, conversation.DefaultMaxMessages), cmp.Or(f.Memory.MaxTokens, conversation.DefaultMaxTokens)
	for i := range f.Webhooks {
		w := &f.Webhooks[i]
		w.Timeout, w.Tries = cmp.Or(w.Timeout, deliver.DefaultTimeout), cmp.Or(w.Tries, deliver.DefaultTries)
	}
	var flows []string
	for _, w := range f.Workflows {
		text, _ := w.Stored() // the rest of it is made of this
		flows = append(flows, string(text))
	}
	f.Workflows = nil
	return []any{f, flows, config.Of[servers.List](&cfg)}
}

// set returns doc with a value at a path. A name that is the user's, and an item of a list, is the first there is.
func set(doc any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch doc := doc.(type) {
	case []any:
		changed := slices.Clone(doc)
		changed[0] = set(doc[0], path[1:], value)
		return changed
	case map[string]any:
		changed, name := maps.Clone(doc), path[0]
		if name == "*" {
			name = slices.Sorted(maps.Keys(doc))[0]
		}
		changed[name] = set(doc[name], path[1:], value)
		return changed
	}
	return map[string]any{path[0]: set(nil, path[1:], value)}
}

// A default that the schema reports is the value that holds: a file that says it is read as one
// without it. What the page and the help of editors say is made of the schema.
func TestDefaultsOfTheSchemaHold(t *testing.T) {
	t.Parallel()
	var schema, doc map[string]any
	if err := json.Unmarshal(FileSections(new(config.Config), new(File)).Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(leastFile), &doc); err != nil {
		t.Fatal(err)
	}
	without, said, compared := readDefaults(t, doc), saidDefaults(), 0
	for _, d := range schemaDefaults("", schema) {
		if d.text == "none" || slices.Contains(said, d.path) {
			continue
		}
		var value any
		text, _, _ := strings.Cut(d.text, ". ") // what follows is about it
		if quoted, found := strings.CutPrefix(d.text, "`"); found {
			text, _, _ = strings.Cut(quoted, "`")
		}
		if json.Unmarshal([]byte(text), &value) != nil {
			value = text
		}
		if d.isList {
			value = strings.Split(text, ", ")
		}
		compared++
		if diff := gocmp.Diff(without, readDefaults(t, set(doc, strings.Split(defaultsOf(d.path), "."), value)), gocmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s is told to be %s by default (-default +told):\n%s", d.path, d.text, diff)
		}
	}
	if got := string(FileSections(new(config.Config), new(File)).Schema()); !strings.Contains(got, style.Failure) {
		t.Errorf("the text of a failure is not %q", style.Failure)
	}
	if compared < 60 {
		t.Errorf("%d defaults compared", compared)
	}
}
