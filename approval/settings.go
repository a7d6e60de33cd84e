package approval

import (
	"fmt"
	"time"

	"sluice/config"
)

// Settings registers what can be set of approvals from outside.
func Settings(c *config.Config) config.Section {
	return config.Section{Name: "approval", Settings: []config.Setting{
		config.OneOf("SLUICE_CONFIRM", &c.Confirm, string(Off), []string{string(Off), string(Destructive), string(Writes), string(All)},
			"tool calls that a person must [allow](docs/approvals.md): none, those that may destroy, those that write, all"),
		config.Func("SLUICE_APPROVAL_KEY", "", "32 bytes in base64; several separated by commas",
			"seals the tokens of approvals: the first one seals, all open; gateways behind one address need the same", func(value string) error {
				_, err := ParseKeys(value)
				c.ApprovalKey = config.Secret(value)
				return err
			}).As("random").Hidden(),
		config.Func("SLUICE_APPROVAL_TTL", "", "duration, 10s to 24h; to 720h with a store",
			"how long an approval can be answered", func(value string) error {
				d, err := time.ParseDuration(value)
				if err != nil || d < MinTTL || d > MaxStoredTTL {
					return fmt.Errorf("must be a duration from %v to %v", MinTTL, MaxStoredTTL)
				}
				c.ApprovalTTL = d
				return nil
			}).As("`5m`; `24h` with a store"),
	}}
}
