package operate

import (
	"slices"

	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/base/redact"
	"sluice/mcpclient/servers"
)

// secretsOf returns the texts that an export leaves out. The log also hides the values of headers whose
// names are not those of secrets. An export keeps such a value: a configuration without it would send
// another one.
func secretsOf(cfg settings.Config) []string {
	list, sources := config.Of[servers.List](&cfg.Config), serversWritten(cfg, readWritten(cfg.Path))
	isPlain, isSecret := map[string]bool{}, map[string]bool{}
	for _, s := range list {
		for _, v := range s.Expanded {
			isSecret[v.Reveal()] = true
		}
		for name, v := range s.Headers {
			text, isWritten := sources.lookUp([]string{s.Name, "headers", name})
			if isWritten && text == v.Reveal() && !redact.SecretName(name) {
				isPlain[text], isPlain[v.Credentials()] = true, true
			}
		}
	}
	for _, h := range cfg.Hidden {
		isSecret[h.Value.Reveal()] = isSecret[h.Value.Reveal()] || h.Setting != ""
	}
	return slices.DeleteFunc(cfg.Secrets(), func(v string) bool { return isPlain[v] && !isSecret[v] })
}
