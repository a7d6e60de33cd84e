package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

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

// hosts takes names as a Host header holds them, without a port.
func hosts(p *[]string) func(string) error {
	return func(value string) error {
		var list []string
		for i, entry := range strings.Split(value, ",") {
			name := strings.ToLower(strings.TrimSpace(entry))
			bare := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
			if bare == "" || !isHost(bare) {
				return fmt.Errorf("entry %d must be a host name or address, without scheme and port", i+1)
			}
			list = append(list, bare)
		}
		*p = list
		return nil
	}
}
