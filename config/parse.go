package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // time zones by name must not depend on the machine's files
)

// Each function here returns a parser that stores a good value in *p. The error
// for a bad one tells the rule and does not repeat the value.

func text(p *string) func(string) error {
	return func(value string) error {
		if strings.ContainsRune(value, 0) {
			return errors.New("must not hold a NUL")
		}
		*p = value
		return nil
	}
}

func boolean(p *bool) func(string) error {
	return func(value string) error {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return errors.New("must be true or false")
		}
		*p = b
		return nil
	}
}

func integer(p *int, lowest, highest int) func(string) error {
	return func(value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < lowest || n > highest {
			return fmt.Errorf("must be a whole number from %d to %d", lowest, highest)
		}
		*p = n
		return nil
	}
}

// duration takes durations of at least lowest, which is 0, or 1 for more than 0.
func duration(p *time.Duration, lowest time.Duration) func(string) error {
	return func(value string) error {
		d, err := time.ParseDuration(value)
		if err != nil {
			return errors.New("must be a duration with its unit, such as 15s, 500ms or 1m30s")
		}
		if d < lowest {
			if lowest > 0 {
				return errors.New("must be more than 0")
			}
			return errors.New("must not be less than 0")
		}
		*p = d
		return nil
	}
}

func oneOf(p *string, names ...string) func(string) error {
	return func(value string) error {
		if !slices.Contains(names, value) {
			return errors.New("must be one of " + strings.Join(names, ", "))
		}
		*p = value
		return nil
	}
}

// thinking takes a word or a budget. The largest budget is that of Gemini 2.5
// Pro; -1 means that the model decides.
func thinking(p *string) func(string) error {
	word := oneOf(p, "summary", "off", "low", "medium", "high")
	return func(value string) error {
		if word(value) == nil {
			return nil
		}
		var budget int
		if integer(&budget, -1, 32768)(value) != nil {
			return errors.New("must be one of summary, off, low, medium, high, or a budget from -1 to 32768")
		}
		*p = strconv.Itoa(budget)
		return nil
	}
}

var modelNames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// modelName takes what can stand as one segment of a URL's path.
func modelName(p *string) func(string) error {
	return func(value string) error {
		if !modelNames.MatchString(value) {
			return errors.New("must be a model's name such as gemini-flash-latest, without a path")
		}
		*p = value
		return nil
	}
}

// apiKey takes what can stand in a header.
func apiKey(p *Secret) func(string) error {
	return func(value string) error {
		if strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return errors.New("must be printable ASCII without spaces")
		}
		*p = Secret(value)
		return nil
	}
}

// Refused are the names that mean another thing on each machine, the trees that
// some systems add to IANA's own, and paths that only happen to end at a zone.
var (
	zoneName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)
	localZone = regexp.MustCompile(`^(Local|localtime|posixrules|posix/.*|right/.*)$`)
)

func timezone(p **time.Location) func(string) error {
	return func(value string) error {
		zone, err := time.LoadLocation(value)
		if err != nil || !zoneName.MatchString(value) || localZone.MatchString(value) {
			return errors.New("must be an IANA time zone such as UTC or Europe/Berlin")
		}
		*p = zone
		return nil
	}
}

// breaker takes "failures,recovery,half-open calls".
func breaker(p *Breaker) func(string) error {
	return func(value string) error {
		parts := strings.Split(value, ",")
		var b Breaker
		if len(parts) != 3 ||
			integer(&b.Failures, 1, 1000)(strings.TrimSpace(parts[0])) != nil ||
			duration(&b.Recovery, 1)(strings.TrimSpace(parts[1])) != nil ||
			integer(&b.HalfOpenCalls, 1, 1000)(strings.TrimSpace(parts[2])) != nil {
			return errors.New("must be failures, recovery time and half-open calls such as 5,30s,3, with counts from 1 to 1000")
		}
		*p = b
		return nil
	}
}
