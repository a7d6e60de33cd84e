package breaker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rs/zerolog"

	"sluice/internal/base/config"
)

// mostCalls bounds the counts that can be set from outside.
const mostCalls = 1000

// Setting registers a variable that sets a breaker as "failures,recovery,half-open
// calls". Its default is what New makes of d.
func Setting(variable string, p *Config, d Config, meaning string) config.Setting {
	d = d.withDefaults()
	def := fmt.Sprintf("%d,%s,%d", d.Failures, config.DurationText(d.Recovery), d.HalfOpenCalls)
	return config.Func(variable, def, fmt.Sprintf("counts from 1 to %d", mostCalls), meaning, func(value string) error {
		return p.UnmarshalText([]byte(value))
	})
}

// UnmarshalText reads "failures,recovery,half-open calls", for example "3,60s,3". Its error states
// the form and does not repeat the text. With an error c is unchanged.
func (c *Config) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ",")
	if len(parts) != 3 {
		return errForm
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	failures, wrong := strconv.Atoi(parts[0])
	recovery, wrongTime := config.ParseDuration(parts[1])
	calls, wrongCalls := strconv.Atoi(parts[2])
	if errors.Join(wrong, wrongTime, wrongCalls) != nil || !inRange(failures) || recovery <= 0 || !inRange(calls) {
		return errForm
	}
	c.Failures, c.Recovery, c.HalfOpenCalls = uint32(failures), recovery, uint32(calls)
	return nil
}

// errForm states the form of a breaker's text.
var errForm = fmt.Errorf("must be failures, recovery time and half-open calls such as 5,30s,3, with counts from 1 to %d", mostCalls)

// inRange reports whether a number of calls is from 1 to mostCalls.
func inRange(calls int) bool { return calls >= 1 && calls <= mostCalls }

// Of makes the breaker of a service from its setting. turnOf is Config.TurnOf. Services never share
// a breaker.
func Of(service string, b Config, turnOf func(context.Context) any, log zerolog.Logger) *Breaker {
	b.Service, b.TurnOf, b.Log = service, turnOf, log
	return New(b)
}
