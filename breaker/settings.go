package breaker

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/config"
)

// mostCalls bounds the counts that can be set from outside.
const mostCalls = 1000

// Setting registers a variable that sets a breaker as "failures,recovery,half-open
// calls". Its default is what New makes of d.
func Setting(variable string, p *config.Breaker, d Config, meaning string) config.Setting {
	d = d.withDefaults()
	def := fmt.Sprintf("%d,%s,%d", d.Failures, config.DurationText(d.Recovery), d.HalfOpenCalls)
	return config.Func(variable, def, fmt.Sprintf("counts from 1 to %d", mostCalls), meaning, func(value string) error {
		b, err := Parse(value)
		if err != nil {
			return err
		}
		*p = b
		return nil
	})
}

// Parse reads "failures,recovery,half-open calls". Its error says what the value must be
// and does not repeat it.
func Parse(value string) (config.Breaker, error) {
	b, ok := parse(value)
	if !ok {
		return config.Breaker{}, fmt.Errorf("must be failures, recovery time and half-open calls such as 5,30s,3, with counts from 1 to %d", mostCalls)
	}
	return b, nil
}

// parse reads "failures,recovery,probes", for example "3,60s,3". ok is false unless
// all three are there and in range.
func parse(value string) (b config.Breaker, ok bool) {
	parts := strings.Split(value, ",")
	if len(parts) != 3 {
		return b, false
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	var errs [3]error
	b.Failures, errs[0] = strconv.Atoi(parts[0])
	b.Recovery, errs[1] = time.ParseDuration(parts[1])
	b.HalfOpenCalls, errs[2] = strconv.Atoi(parts[2])
	return b, errors.Join(errs[:]...) == nil && inRange(b.Failures) && b.Recovery > 0 && inRange(b.HalfOpenCalls)
}

// inRange reports whether a number of calls is from 1 to mostCalls.
func inRange(calls int) bool { return calls >= 1 && calls <= mostCalls }
