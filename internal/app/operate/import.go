// This file makes a configuration file of a folder in the layout of Export: agents, workflows,
// servers and the policy of retention. A table in each file of this kind has the renamings.

package operate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/base/redact"
	"sluice/internal/model"
	"sluice/internal/turn/chat"
	"sluice/mcpclient/servers"
)

// Imported is a configuration file that was made of a folder.
type Imported struct {
	Text []byte
	// Warnings are lines for people: missing values, and members without a key in the file.
	Warnings []string
}

// Import returns the configuration file of a folder in the layout of Export: agents, workflows,
// config/mcp_servers.yaml and config/retention_policy.yaml. It reads no tasks. Each file may be JSON
// or YAML, and each may be missing, but not all of them.
//
// If the folder has config/sluice.yaml, that file is the result wherever the others agree with it.
// An agent, a workflow, the servers or the policy that differ take the place of its own.
//
// load reads a configuration: that of a file, or of the variables alone if path is empty. No
// literal secret is in the result: a variable stands for each, and a warning names it.
func Import(dir string, load func(path string) (settings.Config, error)) (Imported, error) {
	im := &importing{dir: dir, tree: members{}, servers: map[string]bool{}}
	docs, err := im.readDocuments()
	if err != nil {
		return Imported{}, err
	}
	same, err := im.loadConfiguration(load)
	if err != nil {
		return Imported{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if same && reflect.DeepEqual(im.exports[name], any(docs[name])) {
			delete(docs, name)
		}
	}
	if same && len(docs) == 0 && !im.hasPromptFile() {
		return Imported{im.text, im.warnings}, nil
	}
	im.importAll(docs)
	im.inOrder()
	text := printYAML(im.tree)
	return Imported{text, im.warnings}, nil
}

// errNoImport is the error of a folder without a document of the layout.
var errNoImport = errors.New("has neither agents, workflows, config/mcp_servers.yaml nor config/retention_policy.yaml")

// members holds the members of an object by their names.
type members = map[string]any

// importing is one import.
type importing struct {
	dir      string
	text     []byte         // config/sluice.yaml
	tree     members        // the file as it is made; at first that of config/sluice.yaml
	exports  map[string]any // files that the configuration gives, by their paths
	cfg      settings.Config
	servers  map[string]bool // names
	warnings []string
}

// addWarning adds a line for people about a file of the folder.
func (im *importing) addWarning(name, format string, args ...any) {
	im.warnings = append(im.warnings, name+": "+fmt.Sprintf(format, args...))
}

// readDocuments returns the documents of the folder, by the paths that Export gives them.
func (im *importing) readDocuments() (map[string]members, error) {
	docs := map[string]members{}
	for pattern, name := range map[string]func(string) string{
		"agents/*": agentFile, "workflows/*": workflowFile,
		"config/mcp_servers.*": fixedName(serversFile), "config/retention_policy.*": fixedName(retentionFile),
	} {
		found, err := filepath.Glob(filepath.Join(im.dir, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, path := range found {
			base, ext := filepath.Base(path), filepath.Ext(path)
			if !slices.Contains([]string{".json", ".yaml", ".yml"}, ext) {
				continue
			}
			doc, err := readDocument(path)
			if err != nil {
				return nil, err
			}
			docs[name(strings.TrimSuffix(base, ext))] = doc
		}
	}
	if len(docs) == 0 {
		return nil, fmt.Errorf("%s: %w", im.dir, errNoImport)
	}
	return docs, nil
}

func fixedName(name string) func(string) string { return func(string) string { return name } }

// readDocument reads a file of the layout. A list at the top of one is the list of its servers.
func readDocument(path string) (members, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := file.Literal(path, text)
	if err == nil {
		return doc, nil
	}
	nested := "servers:\n  " + strings.ReplaceAll(string(text), "\n", "\n  ")
	if doc, nestedErr := file.Literal(path, []byte(nested)); nestedErr == nil && isList(doc["servers"]) {
		return doc, nil
	}
	return nil, err
}

func isList(value any) bool { _, ok := value.([]any); return ok }

// loadConfiguration loads config/sluice.yaml, if there is one that can be read, else the variables alone.
// same reports whether the result may be that file.
func (im *importing) loadConfiguration(load func(path string) (settings.Config, error)) (same bool, err error) {
	const name = "config/sluice.yaml"
	path := filepath.Join(im.dir, filepath.FromSlash(name))
	if text, found := os.ReadFile(path); found == nil {
		if im.cfg, err = load(path); err == nil {
			im.tree, err = file.Literal(path, text)
		}
		if same = err == nil; same {
			im.text = text
		} else {
			im.tree = members{}
			im.addWarning(name, "is not read: %v", err)
		}
		if strings.Contains(string(text), redact.Mark) {
			im.addWarning(name, "write a value in place of each %s", redact.Mark)
		}
	}
	if !same {
		if im.cfg, err = load(""); err != nil {
			return false, err
		}
	}
	im.exports = map[string]any{}
	hide := redact.New(im.cfg.Secrets())
	for name, value := range configurationFiles(im.cfg) {
		im.exports[name] = readBack(value, hide)
	}
	return same, nil
}

// readBack returns a value as a reader of its file gets it.
func readBack(value any, hide *redact.Scrubber) any {
	text, err := json.Marshal(value)
	if err != nil { // an export fails too
		return nil
	}
	doc, err := file.Literal("", hide.JSON(text))
	if err != nil {
		return nil
	}
	return any(doc)
}

// hasPromptFile reports whether an agent of config/sluice.yaml has its prompt in another file.
func (im *importing) hasPromptFile() bool {
	for _, agent := range membersOf(im.tree["agents"]) {
		if _, ok := membersOf(agent)["prompt_file"]; ok {
			return true
		}
	}
	return false
}

// ordered is an object whose members are printed in the order of names, and the others behind them.
type ordered struct {
	members
	names []string
}

// membersOf returns the members of an object; nil: the value is not one.
func membersOf(value any) members {
	if o, ok := value.(ordered); ok {
		return o.members
	}
	m, _ := value.(members)
	return m
}

// inOrder gives agents and models the order of the configuration: without a router the first agent
// answers.
func (im *importing) inOrder() {
	var agents, models []string
	for _, a := range im.cfg.Team.Agents {
		agents = append(agents, a.ID)
	}
	for _, m := range im.cfg.Models {
		models = append(models, m.Key)
	}
	for name, order := range map[string][]string{"agents": agents, "models": append(models, model.DefaultKey)} {
		if section := membersOf(im.tree[name]); section != nil {
			im.tree[name] = ordered{section, order}
		}
	}
}

// sectionOf returns a section of the file, made if it is missing.
func (im *importing) sectionOf(name string) members {
	if membersOf(im.tree[name]) == nil {
		im.tree[name] = members{}
	}
	return membersOf(im.tree[name])
}

// importAll puts the documents into the file. Servers come first: tools name them.
func (im *importing) importAll(docs map[string]members) {
	if doc, ok := docs[serversFile]; ok {
		im.importServers(doc)
	}
	for name := range membersOf(im.tree["mcpServers"]) {
		im.servers[name] = true
	}
	for _, s := range config.Of[servers.List](&im.cfg.Config) {
		im.servers[s.Name] = true
	}
	im.inlinePrompts()
	im.importAgents(docs)
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if strings.HasPrefix(name, "workflows/") {
			im.importWorkflow(name, docs[name])
		}
	}
	if doc, ok := docs[retentionFile]; ok && !(im.isExport() && reflect.DeepEqual(im.exports[retentionFile], any(doc))) {
		im.tree["retention"] = im.renameMembers(retentionFile, doc, nil, "default_days", "by_task", "by_status")
	}
}

// isExport reports whether Export wrote the folder: it has a task under an id of ours. Export writes
// the built-in policy also for a configuration without the section, and with the section plain turns
// would get the days of the policy.
func (im *importing) isExport() bool {
	tasks, _ := filepath.Glob(filepath.Join(im.dir, "tasks", chat.TaskPrefix+"*"))
	return len(tasks) > 0
}

// inlinePrompts puts prompts of other files into the agents: the result may stand in another folder.
func (im *importing) inlinePrompts() {
	for id, agent := range membersOf(im.tree["agents"]) {
		if _, ok := membersOf(agent)["prompt_file"]; !ok {
			continue
		}
		delete(membersOf(agent), "prompt_file")
		for _, spec := range im.cfg.Team.Agents {
			if spec.ID == id {
				membersOf(agent)["prompt"] = escapeDollars(spec.Prompt)
			}
		}
	}
}

// renameMembers returns the members of a document under our names. renames has the names that differ,
// by those of the document, and same those that are equal. Others cost a warning; null and
// empty texts count as missing.
func (im *importing) renameMembers(name string, doc members, renames map[string]string, same ...string) members {
	out := members{}
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		ours := cmp.Or(renames[key], key)
		switch {
		case doc[key] == nil || doc[key] == "":
		case ours != key || slices.Contains(same, key):
			out[ours] = escapeDollarsIn(doc[key])
		default:
			im.addWarning(name, "%s is left out: the configuration has no key for it", key)
		}
	}
	return out
}

// variable matches a variable as a configuration file names it.
var variable = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^}]*)?\}`)

// escapeDollars returns the text that the reader of a configuration file reads as this one. Variables
// stay variables.
func escapeDollars(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if m := variable.FindString(text[i:]); m != "" {
			b.WriteString(m)
			i += len(m) - 1
			continue
		}
		b.WriteByte(text[i])
		if text[i] == '$' && i+1 < len(text) && (text[i+1] == '$' || text[i+1] == '{') {
			b.WriteByte('$')
		}
	}
	return b.String()
}

// escapeDollarsIn escapes the dollars of each text in a value.
func escapeDollarsIn(value any) any {
	switch v := value.(type) {
	case string:
		return escapeDollars(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = escapeDollarsIn(v[i])
		}
		return out
	case members:
		out := members{}
		for name, member := range v {
			out[name] = escapeDollarsIn(member)
		}
		return out
	}
	return value
}

// notName matches the characters that the name of a variable does not have.
var notName = regexp.MustCompile(`[^A-Z0-9]+`)

// replaceSecret returns the text in the file for a secret. A text with a variable in it stays, and the
// name of a variable becomes the variable. A variable of these words replaces any other text; a
// warning names it.
func (im *importing) replaceSecret(name, value string, words ...string) string {
	switch {
	case strings.Contains(value, "${"):
		return escapeDollars(value)
	case environmentName.MatchString(value):
		return "${" + strings.TrimPrefix(value, "$") + "}"
	}
	made := strings.Trim(notName.ReplaceAllString(strings.ToUpper(strings.Join(words, "_")), "_"), "_")
	im.addWarning(name, "set the variable %s: the value of %s is not copied", made, words[len(words)-1])
	return "${" + made + "}"
}

// environmentName matches the name of a variable that stands where its value is meant.
var environmentName = regexp.MustCompile(`^\$?[A-Z][A-Z0-9]*_[A-Z0-9_]+$`)
