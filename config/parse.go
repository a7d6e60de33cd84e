package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/check"
)

// Each function here returns a parser that stores a good value in *p. The error for
// a bad one tells the rule and does not repeat the value.

// text takes any text that a system call takes.
func text(p *string) func(string) error {
	return func(value string) error {
		if !check.Plain(value) {
			return errors.New("must not hold a NUL")
		}
		*p = value
		return nil
	}
}

// boolean takes what strconv.ParseBool takes: true, false, 1, 0 and their like.
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

// integer takes whole numbers within bounds, both included.
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

// number takes numbers above 0 up to highest.
func number(p *float64, highest float64) func(string) error {
	return func(value string) error {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n > 0 && n <= highest) { // not a number is refused as well
			return fmt.Errorf("must be a number above 0, up to %.0f", highest)
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

// oneOf takes one of a few words, in exactly this case.
func oneOf(p *string, words []string) func(string) error {
	return func(value string) error {
		if !slices.Contains(words, value) {
			return errors.New("must be one of " + strings.Join(words, ", "))
		}
		*p = value
		return nil
	}
}

// apiKey takes what can stand in a header.
func apiKey(p *Secret) func(string) error {
	return func(value string) error {
		if !check.Key(value) {
			return errors.New("must be printable ASCII without spaces")
		}
		*p = Secret(value)
		return nil
	}
}

// timezone takes a name of the IANA database, which is part of the program.
func timezone(p **time.Location) func(string) error {
	return func(value string) error {
		zone, ok := check.Location(value)
		if !ok {
			return errors.New("must be an IANA time zone such as UTC or Europe/Berlin")
		}
		*p = zone
		return nil
	}
}
