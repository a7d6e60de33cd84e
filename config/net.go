package config

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"sluice/internal/check"
)

// address takes host:port; the host may be empty, which means all of ours.
func address(p *string) func(string) error {
	return func(value string) error {
		host, port, err := net.SplitHostPort(value)
		if err != nil || host != "" && !check.Host(host) || !check.Port(port) {
			return errors.New("must be host:port or :port, with a port from 0 to 65535")
		}
		*p = value
		return nil
	}
}

// portOnly takes a port, and makes an address of all interfaces of it.
func portOnly(p *string) func(string) error {
	return func(value string) error {
		if !check.Port(value) {
			return errors.New("must be a port from 0 to 65535")
		}
		*p = ":" + value
		return nil
	}
}

// baseURL takes the root of a server, without its trailing slash.
func baseURL(p *string) func(string) error {
	return func(value string) error {
		err := check.BaseURL(value)
		*p = strings.TrimRight(value, "/")
		return err
	}
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

// checkOrigin accepts one entry of a list of origins.
func checkOrigin(entry string) error {
	if entry == "*" {
		return errors.New("must not be *, which stands alone")
	}
	return check.Origin(entry)
}

// hosts takes names as a Host header holds them, without a port.
func hosts(p *[]string) func(string) error {
	return func(value string) error {
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
	}
}
