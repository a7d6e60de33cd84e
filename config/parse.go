package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
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

func timezone(p **time.Location) func(string) error {
	return func(value string) error {
		zone, err := time.LoadLocation(value)
		// Both names mean whatever this machine is set to.
		if err != nil || value == "Local" || value == "localtime" {
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

// address takes host:port; the host may be empty, which means all of ours.
func address(p *string) func(string) error {
	return func(value string) error {
		host, port, err := net.SplitHostPort(value)
		if err != nil || !isHost(host) || !isPort(port) {
			return errors.New("must be host:port or :port, with a port from 0 to 65535")
		}
		*p = value
		return nil
	}
}

func portOnly(p *string) func(string) error {
	return func(value string) error {
		if !isPort(value) {
			return errors.New("must be a port from 0 to 65535")
		}
		*p = ":" + value
		return nil
	}
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && s == strconv.FormatUint(n, 10)
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9.])?$`)

func isHost(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil || s == "" || hostName.MatchString(s)
}

// baseURL takes the root of a server, without its trailing slash.
func baseURL(p *string) func(string) error {
	return func(value string) error {
		err := checkURL(value)
		*p = strings.TrimRight(value, "/")
		return err
	}
}

func serverURL(p *string) func(string) error {
	return func(value string) error {
		*p = value
		return checkURL(value)
	}
}

// checkURL accepts the http and https URLs that can be logged: those without
// user information, query and fragment, which is where keys sit.
func checkURL(value string) error {
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("must begin with http:// or https://")
	case u.Hostname() == "" || !isHost(u.Hostname()) || u.Port() != "" && !isPort(u.Port()):
		return errors.New("must name a host, and a port up to 65535 if any")
	case u.User != nil:
		return errors.New("must not hold a user name or password")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(value, "#"):
		return errors.New("must not hold a query or fragment")
	}
	return nil
}

// origins takes what browsers send as Origin, because it is compared as a whole.
func origins(p *[]string) func(string) error {
	return func(value string) error {
		if value == "*" {
			*p = []string{"*"}
			return nil
		}
		var list []string
		for i, entry := range strings.Split(value, ",") {
			entry = strings.TrimSpace(entry)
			if err := checkOrigin(entry); err != nil {
				return fmt.Errorf("entry %d %w", i+1, err)
			}
			list = append(list, entry)
		}
		*p = list
		return nil
	}
}

func checkOrigin(entry string) error {
	u, err := url.Parse(entry)
	if entry == "*" {
		return errors.New("must not be *, which stands alone")
	}
	if err != nil || u.Scheme == "" || u.Hostname() == "" || entry != u.Scheme+"://"+u.Host || u.Port() != "" && !isPort(u.Port()) {
		return errors.New("must be scheme://host or scheme://host:port, without a path or slash at the end")
	}
	if entry != strings.ToLower(entry) {
		return errors.New("must be in lower case, as browsers send it")
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		return errors.New("must not name the scheme's own port, which browsers leave out")
	}
	return nil
}
