package settings

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/internal/base/config"
	"sluice/internal/edge/access"
	"sluice/internal/edge/access/door"
	"sluice/internal/edge/access/jwt"
	"sluice/internal/edge/access/limit"
	"sluice/internal/edge/dialect"
	"sluice/internal/engine/router"
	"sluice/internal/engine/workflow/graph"
	"sluice/internal/model"
	"sluice/internal/quality"
	"sluice/internal/quality/channel"
	"sluice/internal/quality/deliver"
	"sluice/internal/quality/style"
	"sluice/internal/state/task"
	"sluice/internal/state/task/conversation"
	"sluice/internal/state/task/record"
	"sluice/internal/turn/chat"
	"sluice/mcpclient/servers"
)

// A key of the file is a line of its section's schema and a field: what has no field is in
// the list of those that a reader knows by name, and no field has a key that does not exist.
func TestKeysAreFields(t *testing.T) {
	t.Parallel()
	fields := map[string]bool{}
	for _, of := range []any{
		model.Spec{}, servers.Server{}, quality.Settings{}, quality.Criterion{}, router.Spec{}, router.AgentSpec{}, router.Remote{}, router.Config{}, router.Rule{},
		router.Dispatch{}, router.Aggregate{}, channel.Spec{}, deliver.Config{}, style.Guide{}, style.Texts{}, task.Spec{}, task.Retention{}, record.Spec{}, A2A{},
		conversation.Spec{}, conversation.JournalSpec{}, graph.Definition{}, graph.Node{}, graph.Repeat{}, graph.Edge{}, dialect.Rules{}, chat.HistoryRules{}, limit.Tenant{}, limit.Spec{}, limit.Limit{}, limit.ModelQuota{}, access.Quota{}, access.Rate{},
		door.Spec{}, door.Proxy{}, door.Anonymous{}, jwt.Spec{},
	} {
		keysOfFields(reflect.TypeOf(of), fields)
	}
	read := map[string][]string{ // by name, by who reads them
		"model": {"provider", "endpoint", "api_key", "headers", "turn_tokens", "prefill"}, "servers": {"timeout", "cache"},
		"quality": {"criteria", "check", "args", "planner", "judge"}, "router": {"prompt_file", "card", "quality", "rules", "match"},
		"channel": {"channel", "extends", "markdown_features", "deliver"}, "a2a": {"public_url"}, "style": {"formatting"},
		"task":     {"completed", "failed"}, // of a map
		"workflow": {"patterns", "critic", "nodes", "edges", "repeat", "arguments"},
	}
	for _, names := range read {
		for _, name := range names {
			fields[name] = true
		}
	}
	var schema any
	if err := json.Unmarshal(FileSections(new(config.Config), new(File)).Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, section := range schema.(map[string]any)["properties"].(map[string]any) {
		keysOfSchema(section, keys)
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !fields[key] {
			t.Errorf("%s is in a schema, and in no field that is decoded", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !keys[key] {
			t.Errorf("%s is the key of a field, and in no schema", key)
		}
	}
}

// keysOfFields collects the keys that the fields of a struct, and those within it, have.
func keysOfFields(of reflect.Type, keys map[string]bool) {
	for i := range of.NumField() {
		f := of.Field(i)
		paths, ok := f.Tag.Lookup("key")
		if !ok {
			if f.Anonymous && f.Type.Kind() == reflect.Struct {
				keysOfFields(f.Type, keys)
			}
			continue
		}
		for name := range strings.FieldsFuncSeq(paths, func(c rune) bool { return c == ',' || c == '/' }) {
			if name != "@" && name != "." {
				keys[name] = true
			}
		}
		if f.Type.Kind() == reflect.Struct {
			keysOfFields(f.Type, keys)
		}
	}
}

// keysOfSchema collects the names of all properties.
func keysOfSchema(part any, keys map[string]bool) {
	object, _ := part.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	for name, inner := range properties {
		keys[name] = true
		keysOfSchema(inner, keys)
	}
	for _, inner := range []any{object["additionalProperties"], object["items"]} {
		if inner != nil {
			keysOfSchema(inner, keys)
		}
	}
}
