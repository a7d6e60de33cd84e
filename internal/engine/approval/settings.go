package approval

import (
	"fmt"
	"strings"

	"sluice/internal/base/config"
)

// Settings registers the settings of approvals. It is bound to c's part of type Config. The keys
// are hidden.
func Settings(c *config.Config) config.Section {
	own := config.Bind[Config](c)
	return config.Section{Name: "approval", Settings: []config.Setting{
		config.OneOf("SLUICE_CONFIRM", &own.Mode, Off, []Mode{Off, modeDestructive, Writes, modeAll},
			"tool calls that a person must [allow](docs/approvals.md): none, those that may destroy, those that write, all"),
		config.Func("SLUICE_APPROVAL_KEY", "", "32 bytes in base64; several separated by commas",
			"seals the tokens of approvals: the first one seals, all open; gateways behind one address need the same", func(value string) (err error) {
				for key := range strings.SplitSeq(value, ",") {
					c.Hide("", config.Secret(key))
				}
				own.Keys, err = parseKeys(value)
				return err
			}).As("random").Hidden(),
		config.Func("SLUICE_APPROVAL_TTL", "", "duration, 10s to 24h; to 720h with a store",
			"how long an approval can be answered", func(value string) (err error) {
				own.TTL, err = config.ParseDuration(value)
				if err != nil || own.TTL < minTTL || own.TTL > maxStoredTTL {
					return fmt.Errorf("must be a duration from %v to %v", minTTL, maxStoredTTL)
				}
				return nil
			}).As("`5m`; `24h` with a store"),
	}}
}
