// This file finds the values of the configuration that came out of variables. A value does not show
// its origin, so the files are read again as they are written.

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

// written is a file of the configuration with ${NAME} in place of the values of variables. nil
// stands for a missing file.
type written map[string]any

// readWritten reads a file. It returns nil if path is empty or the file cannot be read.
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

// textAt returns the text at a place, keys and numbers of a list, if a variable stands in it; else
// the value.
func (w written) textAt(value string, place ...string) string {
	if text, ok := w.lookUp(place); ok && strings.Contains(text, "${") {
		return text
	}
	return value
}

// secretAt is textAt for a value that may be a secret by its name: a value that is written without
// a variable is not shown then.
func (w written) secretAt(name, value string, place ...string) string {
	if text := w.textAt("", place...); text != "" {
		return text
	}
	if _, ok := w.lookUp(place); !ok || redact.SecretName(name) {
		return redact.Mark
	}
	return value
}

// lookUp returns the text at a place.
func (w written) lookUp(place []string) (string, bool) {
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
