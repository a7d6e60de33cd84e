package file

import (
	"slices"
	"strings"

	"sluice/internal/base/config"
)

// unknownKey returns the fault of an unknown key, with the nearest known one.
func unknownKey(name string, known []string) string {
	if ours := otherWords[strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))]; slices.Contains(known, ours) {
		return "there is no such key; did you mean " + ours + "?"
	}
	return Unknown("key", name, known)
}

// otherWords has keys by the words that other programs have for them, in small letters and without
// - and _. docs/configuration.md lists them.
var otherWords = map[string]string{
	"agentexecutorwrapper": "dispatch", "chatclientkey": "model", "clarificationagentid": "clarification_agent", "connectionstrings": "models",
	"defaultfallbackmessage": "fallback_message", "defaulttimeoutms": "timeout", "enablenaturallanguagejoining": "natural_joining",
	"fallbackagentid": "fallback_agent", "fallbackreasontemplate": "fallback_template", "clarificationprompttemplate": "clarification_template",
	"includeagentcapabilities": "include_capabilities", "includeskillexamples": "include_examples", "llmconfig": "model",
	"maxiterations": "max_steps", "maxretries": "retries", "mcpservers": "mcpServers", "resultaggregator": "aggregate", "retentionpolicy": "retention",
	"retrydelayms": "retry_delay", "routerexecutor": "router", "systemprompt": "prompt", "agentcatalogheader": "catalogue_header",
	"timeoutseconds": "timeout", "transport": "type", "userprompttemplate": "user_template", "fallbacktools": "fallback",
}

// Unknown returns the fault of a thing, such as a key, that does not exist. It names the nearest
// one, or all.
func Unknown(thing, name string, known []string) string {
	text := "there is no such " + thing
	slices.Sort(known)
	if best, ok := config.Nearest(name, known); ok {
		return text + "; did you mean " + best + "?"
	}
	if len(known) == 0 {
		return text
	}
	return text + "; there are " + strings.Join(known, ", ")
}
