package config

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"sluice/internal/base/check"
)

// Address takes host:port or :port; without a host it means all of ours.
func Address(variable string, p *string, def, meaning string) Setting {
	return Func(variable, def, "host:port", meaning, func(value string) error {
		host, port, err := net.SplitHostPort(value)
		if err != nil || host != "" && !check.Host(host) || !check.Port(port) {
			message := "must be host:port or :port, with a port from 0 to 65535"
			if check.Port(value) {
				message += "; did you mean :" + value + "?"
			}
			return errors.New(message)
		}
		*p = value
		return nil
	})
}

// Port parses a port alone into a listen address of all our hosts, for Setting.Or.
func Port(p *string) func(value string) error {
	return func(value string) error {
		if !check.Port(value) {
			return errors.New("must be a port from 0 to 65535")
		}
		*p = ":" + value
		return nil
	}
}

// BaseURL takes the root of an http or https server, without its trailing slash.
func BaseURL(variable string, p *string, def, meaning string) Setting {
	return Func(variable, def, "URL", meaning, func(value string) error {
		*p = strings.TrimRight(value, "/")
		return check.BaseURL(value)
	})
}

// Origins takes a comma-separated list of origins, or * alone: what browsers send as
// Origin, because it is compared as a whole.
func Origins(variable string, p *[]string, meaning string) Setting {
	return Func(variable, "", "origins", meaning, func(value string) error {
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
	}).As("none")
}

// checkOrigin accepts one entry of a list of origins.
func checkOrigin(entry string) error {
	if entry == "*" {
		return errors.New("must not be *, which stands alone")
	}
	return check.Origin(entry)
}

// Hosts takes a comma-separated list of names and addresses, as a Host header holds them
// without its port.
func Hosts(variable string, p *[]string, meaning string) Setting {
	return Func(variable, "", "hosts", meaning, func(value string) error {
		var list []string
		for i, entry := range strings.Split(value, ",") {
			name := strings.ToLower(strings.TrimSpace(entry))
			bare := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
			if !check.Host(bare) {
				return fmt.Errorf("entry %d must be a host name or address, without scheme and port", i+1)
			}
			list = append(list, bare)
		}
		*p = list
		return nil
	})
}
