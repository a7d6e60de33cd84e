package door

import (
	"net/netip"
	"path/filepath"

	"sluice/internal/base/config"
	"sluice/internal/edge/access/keys"
)

// Mode says when requests must authenticate.
type Mode string

// Modes.
const (
	Auto         Mode = "auto"     // as soon as there is a method
	requiredMode Mode = "required" // always: the start fails without a method
)

// Environment is the part of the environment about authentication.
type Environment struct {
	Mode           Mode
	Keys           string // path of the key file
	TrustedProxies []netip.Prefix
}

// keysVariable names the key file.
const keysVariable = "SLUICE_API_KEYS"

// joinKeys completes s with the key file of the environment.
func joinKeys(own *Environment, s *Spec, fault func(string)) {
	switch {
	case own.Keys == "":
	case s.Keys != "" && filepath.Clean(s.Keys) != filepath.Clean(own.Keys):
		fault("auth.keys of the configuration file names another file")
	default:
		s.Keys = own.Keys
	}
}

// Settings registers the settings of the environment. It is bound to c's part of type Environment,
// and completes s, the configuration file's part.
func Settings(c *config.Config, s *Spec) config.Section {
	return newSection(c, s, func(own *Environment, fault func(string)) {
		if own.Mode == requiredMode && !s.IsOn() && own.Keys == "" {
			fault("needs a method: SLUICE_API_KEYS, or the section auth of the configuration file")
		}
	})
}

// SettingsOfStart is Settings for a gateway that starts. The key file is read, so that its faults are
// listed with all others.
func SettingsOfStart(c *config.Config, s *Spec) config.Section {
	all := Settings(c, s)
	for i := range all.Settings {
		if all.Settings[i].Variable == keysVariable {
			all.Settings[i] = all.Settings[i].Finally(func(fault func(string)) {
				own := config.Bind[Environment](c)
				if joinKeys(own, s, fault); own.Keys == "" {
					return
				}
				for _, f := range keys.Check(own.Keys) {
					fault(f.Name + ": " + f.Message)
				}
			})
		}
	}
	return all
}

// SettingsOfClient is Settings for a client of a gateway: the gateway may have its method from
// elsewhere.
func SettingsOfClient(c *config.Config, s *Spec) config.Section {
	return newSection(c, s, func(*Environment, func(string)) {})
}

// newSection is the section in which required looks for what requiredMode wants.
func newSection(c *config.Config, s *Spec, required func(own *Environment, fault func(string))) config.Section {
	own := config.Bind[Environment](c)
	return config.Section{Name: "auth", Settings: []config.Setting{
		config.OneOf("SLUICE_AUTH", &own.Mode, Auto, []Mode{Auto, requiredMode},
			"`auto`: clients must prove who they are as soon as a method is configured ([auth](docs/configuration.md#auth)); `required`: the start fails without one").
			Finally(func(fault func(string)) { required(own, fault) }),
		config.Text(keysVariable, &own.Keys, "", "file of API keys").As("none").
			Finally(func(fault func(string)) { joinKeys(own, s, fault) }),
		config.Func("SLUICE_TRUSTED_PROXIES", "", "addresses, CIDRs",
			"comma-separated peers whose `X-Forwarded-For` is believed; not `/0`",
			func(value string) (err error) {
				own.TrustedProxies, err = parseRanges(value)
				return err
			}).As("none"),
	}}
}
