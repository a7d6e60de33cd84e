// This file turns the agents, models and servers of a folder into sections of the configuration
// file.

package operate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/internal/app/providers"
	"sluice/internal/base/redact"
	"sluice/internal/engine/router"
	"sluice/internal/model"
	"sluice/mcpclient/servers"
)

// agentKeys has the members of an agent by their names in the layout.
var agentKeys = map[string]string{"system_prompt": "prompt", "max_iterations": "max_steps"}

// importAgents puts the agents into the file. Models are named first, all together: the key
// default is for one of them only.
func (im *importing) importAgents(docs map[string]members) {
	asked := &askedModels{im: im, keys: map[string]string{}}
	var ids []string
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if strings.HasPrefix(name, "agents/") {
			ids = append(ids, name)
			asked.addModel(name, docs[name])
		}
	}
	asked.nameModels()
	for _, name := range ids {
		im.importAgent(name, docs[name], asked)
	}
}

// importAgent puts an agent into the file, over the keys that the file has of it and the layout
// does not know.
func (im *importing) importAgent(name string, doc members, asked *askedModels) {
	id := idOf(name, doc)
	known := []string{"role", "tools", "temperature", "description"}
	out := im.renameMembers(name, withoutMembers(doc, "name", "llm_config"), agentKeys, known...)
	had := membersOf(im.sectionOf("agents")[id])
	role, _ := out["role"].(string)
	if had == nil {
		// The role is the purpose of the agent. A prompt says that purpose too.
		out["description"] = shortenText(cmp.Or(textOf(out["description"]), role, id), 300)
		if out["prompt"] != nil {
			delete(out, "role")
		}
	} else if textOf(had["role"]) == "" {
		out["description"] = shortenText(cmp.Or(role, textOf(had["description"])), 300)
		delete(out, "role")
	}
	if role := textOf(out["role"]); role != "" {
		out["role"] = shortenText(role, 200)
	}
	for key, usual := range map[string]string{"max_steps": "10", "temperature": "0.7"} {
		if number, ok := out[key].(json.Number); ok && number.String() == usual && had[key] == nil {
			delete(out, key)
		}
	}
	if tools := im.toolsOf(name, out["tools"]); len(tools) > 0 {
		out["tools"] = tools
	} else {
		delete(out, "tools")
	}
	if key := asked.keyOf(name, doc); key != "" && key != model.DefaultKey {
		out["model"] = key
	}
	for key, value := range had {
		if _, mapped := out[key]; !mapped && !slices.Contains([]string{"role", "prompt", "tools", "model", "max_steps", "temperature"}, key) {
			out[key] = value
		}
	}
	im.sectionOf("agents")[id] = out
}

// idOf returns the name that a document has, in it or as a file.
func idOf(name string, doc members) string {
	_, base, _ := strings.Cut(name, "/")
	return cmp.Or(textOf(doc["name"]), strings.TrimSuffix(base, ".json"))
}

func textOf(value any) string { text, _ := value.(string); return text }

// shortenText returns the beginning of a text, with at most so many characters.
func shortenText(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// withoutMembers returns members without some of them.
func withoutMembers(m members, names ...string) members {
	out := maps.Clone(m)
	for _, name := range names {
		delete(out, name)
	}
	return out
}

// toolsOf returns the tools of an agent as server/tool. A tool of an unknown server is left out, with
// a warning.
func (im *importing) toolsOf(name string, value any) (out []any) {
	for _, item := range itemsOf(value) {
		tool, err := im.qualifyTool(textOf(item))
		if err != nil {
			im.addWarning(name, "the tool %s is left out: %v", textOf(item), err)
			continue
		}
		if !slices.Contains(out, any(tool)) {
			out = append(out, tool)
		}
	}
	return out
}

func itemsOf(value any) []any { l, _ := value.([]any); return l }

// qualifyTool returns a tool as server/tool, or a server for all of its tools.
func (im *importing) qualifyTool(text string) (string, error) {
	names := slices.Sorted(maps.Keys(im.servers))
	if len(names) == 0 {
		names = []string{servers.URLName} // the built-in one
	}
	if slices.Contains(names, text) {
		return text, nil
	}
	for _, separator := range []string{"/", ":", ".", "__"} {
		server, tool, ok := strings.Cut(text, separator)
		if ok && slices.Contains(names, server) && tool != "" {
			return server + "/" + tool, nil
		}
	}
	switch {
	case strings.Contains(text, "/"):
		return "", fmt.Errorf("there is no such server")
	case len(names) > 1:
		return "", fmt.Errorf("write it as server/tool, the server one of %s", strings.Join(names, ", "))
	}
	return names[0] + "/" + text, nil
}

// importServers puts the servers into the file, without the servers that variables add.
func (im *importing) importServers(doc members) {
	known := map[string]any{}
	for _, s := range itemsOf(membersOf(im.exports[serversFile])["servers"]) {
		known[textOf(membersOf(s)["name"])] = s
	}
	had := membersOf(im.tree["mcpServers"])
	out := ordered{members: members{}}
	for _, s := range listedServers(doc) {
		name := textOf(s["name"])
		im.servers[name] = true
		out.names = append(out.names, name)
		same := reflect.DeepEqual(known[name], any(s))
		switch {
		case name == servers.URLName && textOf(membersOf(s["config"])["url"]) == "${MCP_SERVER_URL}":
		case same && had[name] == nil:
		case same:
			out.members[name] = had[name]
		default:
			out.members[name] = im.serverSection(name, s, membersOf(had[name]))
		}
	}
	if delete(im.tree, "mcpServers"); len(out.members) > 0 {
		im.tree["mcpServers"] = out
	}
}

// listedServers returns the servers of a document: a list of them, or an object of them by name,
// at the top or under servers or mcpServers.
func listedServers(doc members) (all []members) {
	for _, key := range []string{"servers", "mcpServers", "mcp_servers"} {
		if named := membersOf(doc[key]); named != nil {
			doc = named
			break
		}
		if isList(doc[key]) {
			for _, s := range itemsOf(doc[key]) {
				all = append(all, membersOf(s))
			}
			return all
		}
	}
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		if s := membersOf(doc[name]); s != nil {
			s = maps.Clone(s)
			s["name"] = name
			all = append(all, s)
		}
	}
	return all
}

// serverSection returns a server of the file. had is that of config/sluice.yaml: keys that the layout
// does not know stay.
func (im *importing) serverSection(name string, doc, had members) members {
	flat := withoutMembers(doc, "name", "config", "transport", "type", "timeout_seconds")
	maps.Copy(flat, membersOf(doc["config"]))
	known := []string{"command", "args", "env", "url", "headers", "builtin", "fallback"}
	out := im.renameMembers(serversFile, flat, nil, known...)
	for key, value := range had {
		if !slices.Contains(append(known, "type", "timeout"), key) {
			out[key] = value
		}
	}
	for _, key := range []string{"env", "headers"} {
		for member, value := range membersOf(out[key]) {
			if text := textOf(value); redact.SecretName(member) || redact.KeyLike(text) != text || strings.Contains(text, redact.Mark) {
				membersOf(out[key])[member] = im.replaceSecret(serversFile, text, name, member)
			}
		}
	}
	for i, arg := range itemsOf(out["args"]) {
		if strings.Contains(textOf(arg), redact.Mark) {
			itemsOf(out["args"])[i] = im.replaceSecret(serversFile, redact.Mark, name, "argument", fmt.Sprint(i+1))
		}
	}
	setTimeout(out, doc)
	if transport := cmp.Or(textOf(doc["transport"]), textOf(doc["type"])); transport == "sse" {
		out["type"] = transport
	}
	return out
}

// askedModels holds the models of the agents.
type askedModels struct {
	im *importing
	// configs are their settings in the layout, each once.
	configs []askedModel
	keys    map[string]string // keys of models, by llm_config
}

// askedModel is one llm_config.
type askedModel struct {
	text   string // as JSON, in which members are sorted
	doc    members
	name   string // of the first document that has it
	agents int
}

// ownText returns the llm_config of a document; empty: the agent takes the model that there is.
func ownText(doc members) string {
	own := membersOf(doc["llm_config"])
	if textOf(own["model"]) == "" && textOf(own["endpoint"]) == "" {
		return ""
	}
	text, _ := json.Marshal(own)
	return string(text)
}

// addModel counts the model of an agent.
func (a *askedModels) addModel(name string, doc members) {
	text := ownText(doc)
	if text == "" {
		return
	}
	i := slices.IndexFunc(a.configs, func(m askedModel) bool { return m.text == text })
	if i < 0 {
		i = len(a.configs)
		a.configs = append(a.configs, askedModel{text: text, doc: membersOf(doc["llm_config"]), name: name})
	}
	a.configs[i].agents++
}

// nameModels gives a key to each new model. The model of most agents is default, unless the configuration
// has a default model for some agent.
func (a *askedModels) nameModels() {
	a.knownKeys()
	slices.SortStableFunc(a.configs, func(x, y askedModel) int { return y.agents - x.agents })
	models := membersOf(a.im.tree["models"])
	free := models[model.DefaultKey] == nil && !slices.Contains(slices.Collect(maps.Values(a.keys)), model.DefaultKey)
	for _, m := range a.configs {
		if _, ok := a.keys[m.text]; ok {
			continue
		}
		key := model.DefaultKey
		if !free {
			key = a.freeKey(m.doc)
		}
		free = false
		a.keys[m.text] = key
		a.im.sectionOf("models")[key] = a.im.modelSection(m.name, key, m.doc)
	}
}

// knownKeys gives the keys of the configuration to the models that it has.
func (a *askedModels) knownKeys() {
	cfg := a.im.cfg
	agents := []router.AgentSpec{{}}
	for _, m := range cfg.Models {
		agents = append(agents, router.AgentSpec{Model: m.Key})
	}
	w := readWritten(cfg.Path)
	hide := redact.New(cfg.Secrets())
	for _, agent := range agents {
		doc := membersOf(readBack(exportedAgent(agent, cfg, w), hide))
		if text := ownText(doc); text != "" && a.keys[text] == "" {
			a.keys[text] = cmp.Or(agent.Model, model.DefaultKey)
		}
	}
	for text := range a.keys {
		if !slices.ContainsFunc(a.configs, func(m askedModel) bool { return m.text == text }) {
			delete(a.keys, text)
		}
	}
}

// notKey matches the characters that the key of a model does not have.
var notKey = regexp.MustCompile(`[^a-z0-9_-]+`)

// freeKey returns a key for a model that no other one has.
func (a *askedModels) freeKey(doc members) string {
	base := strings.Trim(notKey.ReplaceAllString(strings.ToLower(textOf(doc["model"])), "-"), "-_")
	base = cmp.Or(base[:min(len(base), 48)], "model")
	key := base
	for n := 2; a.im.sectionOf("models")[key] != nil || key == model.DefaultKey; n++ {
		key = fmt.Sprintf("%s-%d", base, n)
	}
	return key
}

// keyOf returns the key of an agent's model; empty: the default one.
func (a *askedModels) keyOf(name string, doc members) string {
	for _, member := range slices.Sorted(maps.Keys(membersOf(doc["llm_config"]))) {
		if !slices.Contains([]string{"endpoint", "model", "api_key"}, member) {
			a.im.addWarning(name, "llm_config/%s is left out: the configuration has no key for it", member)
		}
	}
	return a.keys[ownText(doc)]
}

// modelSection returns the section of a model.
func (im *importing) modelSection(name, key string, doc members) members {
	endpoint, id, secret := textOf(doc["endpoint"]), textOf(doc["model"]), textOf(doc["api_key"])
	provider, home := model.ProviderAt(endpoint, id, providers.Protocols())
	out := members{"provider": provider.Name}
	if id != "" {
		out["model"] = escapeDollars(id)
	}
	if endpoint != "" && strings.TrimRight(endpoint, "/") != provider.Endpoint {
		out["endpoint"] = escapeDollars(endpoint)
	}
	if secret != "" && !(home && len(provider.Keys) > 0 && secret == "${"+provider.Keys[0]+"}") {
		out["api_key"] = im.replaceSecret(name, secret, key, "api_key")
	}
	return out
}
