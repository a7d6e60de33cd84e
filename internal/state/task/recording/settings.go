package recording

import (
	"errors"
	"strconv"
	"strings"
	"unicode"

	"sluice/internal/base/config"
)

// Settings registers the settings of a Recorder. It is bound to c's part of type Config.
func Settings(c *config.Config) config.Section {
	own := config.Bind[Config](c)
	return config.Section{Name: "recording", Settings: []config.Setting{
		config.Func("SLUICE_RECORD", "", "path", "folder into which each turn is [recorded](docs/operations.md#recordings), with all texts and without keys", func(value string) error {
			if strings.ContainsFunc(value, unicode.IsControl) {
				return errors.New("must be the path of a folder")
			}
			own.Dir = value
			return nil
		}).As("none"),
		config.Func("SLUICE_RECORD_MAX", "256MiB", "`1MiB` to `64GiB`", "recordings that stay in the folder; the oldest go", func(value string) (err error) {
			own.Max, err = parseSize(value)
			return err
		}),
	}}
}

// parseSize reads a number of bytes with its unit.
//
// The unit is required: a bare number could mean bytes or megabytes.
func parseSize(text string) (int64, error) {
	for unit, bytes := range map[string]int64{"MiB": 1 << 20, "GiB": 1 << 30} {
		number, ok := strings.CutSuffix(text, unit)
		n, err := strconv.ParseInt(number, 10, 32)
		if ok && err == nil && n > 0 && n*bytes <= 64<<30 {
			return n * bytes, nil
		}
	}
	return 0, errors.New("must be a whole number with MiB or GiB, from 1MiB to 64GiB")
}
