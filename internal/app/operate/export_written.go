// This file finds out which values of the configuration came out of variables: a value does
// not say it, so that the files are read again as they are written.

package operate

import (
	"os"
	"strconv"
	"strings"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/config/file"
	"sluice/internal/base/redact"
	"sluice/mcpclient/servers"
)

// written is a file of the configuration with ${NAME} in place of the values of variables.
// nil: there is none.
type written map[string]any

// readWritten reads a file; nil: it has gone since it was read, or there is none.
func readWritten(path string) written {
	if path == "" {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return file.Written(content)
}

// serversWritten returns the objects of the MCP servers, of the configuration file and of
// MCP_CONFIG, and that of MCP_SERVER_URL. No name has two.
func serversWritten(cfg settings.Config, f written) written {
	all := written{servers.URLName: map[string]any{"url": "${MCP_SERVER_URL}"}}
	for _, source := range []written{readWritten(string(config.Of[servers.Path](&cfg.Config))), f} {
		if object, ok := source["mcpServers"].(map[string]any); ok {
			for name, server := range object {
				all[name] = server
			}
		}
	}
	return all
}

// text returns what is written at a place, keys and numbers of a list, if a variable stands
// in it; else the value.
func (w written) text(value string, place ...string) string {
	if text, ok := w.at(place); ok && strings.Contains(text, "${") {
		return text
	}
	return value
}

// secret is text for a value that may be a secret by its name: one that is written without
// a variable is not shown then.
func (w written) secret(name, value string, place ...string) string {
	if text := w.text("", place...); text != "" {
		return text
	}
	if _, ok := w.at(place); !ok || redact.SecretName(name) {
		return redact.Mark
	}
	return value
}

// at returns the text at a place.
func (w written) at(place []string) (string, bool) {
	var value any = map[string]any(w)
	for _, key := range place {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return "", false
			}
			value = v[i]
		default:
			return "", false
		}
	}
	text, ok := value.(string)
	return text, ok
}
