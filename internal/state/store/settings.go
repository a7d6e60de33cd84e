package store

import (
	"errors"
	"strings"

	"sluice/internal/base/config"
)

// Config holds the settings of the store.
type Config struct {
	At       Location
	Prefix   string // stands before every key
	Required bool   // while the store is unavailable no turn begins
}

// On reports whether there is a store.
func (c Config) On() bool { return c.At.Kind != "" && c.At.Kind != None }

// maxPrefix bounds SLUICE_STORE_PREFIX.
const maxPrefix = 64

// printable are the characters of a prefix.
const printable = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// Settings registers the settings of the store. It is bound to c's part of type Config. The
// password of the location is hidden.
func Settings(c *config.Config) config.Section {
	own := config.Bind[Config](c)
	return config.Section{Name: "store", Settings: []config.Setting{
		config.Func("SLUICE_STORE", string(None), strings.ReplaceAll("`"+strings.Join(locationForms(), "`, `")+"`", "://", "://…"),
			"where turns are [kept](docs/state.md), so that they outlive their connection", func(value string) (err error) {
				_, credentials, _ := strings.Cut(value, "://")
				if userinfo, _, ok := strings.Cut(credentials, "@"); ok {
					_, password, _ := strings.Cut(userinfo, ":")
					c.Hide("", config.Secret(password))
				}
				if own.At, err = ParseLocation(value); err != nil {
					own.At.Kind = unknown
				}
				return err
			}).OrFile(),
		config.Func("SLUICE_STORE_PREFIX", "", "up to 64 printable ASCII characters", "stands before every key in the store", func(value string) error {
			if len(value) > maxPrefix || strings.Trim(value, printable) != "" {
				return errors.New("must be up to 64 printable ASCII characters without spaces")
			}
			own.Prefix = value
			return nil
		}).As("none"),
		config.Bool("SLUICE_STORE_REQUIRED", &own.Required,
			"`true`: while the store is unavailable turns get `503` and `/readyz` fails"),
	}}
}

// unknown is the engine of a faulty location. Its author wants a store, so other settings are not
// refused for lack of one.
const unknown Kind = "unknown"
