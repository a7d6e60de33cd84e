package store

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Kind is an engine, spelt as in /readyz.
type Kind string

// Engines.
const (
	None   Kind = "none"
	Memory Kind = "memory"
	SQLite Kind = "sqlite"
	Redis  Kind = "redis"
)

// locationForms are those of a location, as faults and the documentation list them. Behind :// stands more.
func locationForms() []string {
	return []string{string(None), string(Memory), "sqlite:PATH", "redis://", "rediss://", "unix://", "redis+sentinel://"}
}

// Location says where state is kept.
type Location struct {
	// Kind says which of the fields below count.
	Kind Kind
	Path string // of the file, owned by one process: SQLite's
	// Addrs are Redis's host and port, its socket's path if Socket is set, or those of
	// the sentinels if Master is.
	Addrs       []string
	Socket, TLS bool
	Master      string
	// User and Password are for the server; DB is the number of its database.
	User, Password string
	DB             int
}

// Shared reports whether other processes can open the store.
func (l Location) Shared() bool { return l.Kind == SQLite || l.Kind == Redis }

// Faults of locations. They report the rule and do not repeat the value, as it may hold a password.
var (
	errScheme   = errors.New("must be " + strings.Join(locationForms()[:len(locationForms())-1], ", ") + " or " + locationForms()[len(locationForms())-1])
	errPath     = errors.New("sqlite: needs the path of a file, as in sqlite:/var/lib/sluice/state.db")
	errAddress  = errors.New("must hold an address, as in redis://user:password@host:6379/0")
	errDB       = errors.New("must end with the number of a database from 0 to 1023, as in redis://host:6379/0, or with nothing")
	errSocket   = errors.New("must hold the path of a socket, as in unix:///run/redis/redis.sock?db=0")
	errSentinel = errors.New("must hold the sentinels and the master's name, as in redis+sentinel://host1:26379,host2:26379/mymaster/0")
	errQuery    = errors.New("must have no parameters but db of unix://")
	errReading  = errors.New("is not a URL; special characters in a password are written as %XX")
)

// ParseLocation reads a location. Its error states the rule for the value and does not repeat the
// value.
func ParseLocation(text string) (Location, error) {
	switch text {
	case "none", "":
		return Location{Kind: None}, nil
	case "memory":
		return Location{Kind: Memory}, nil
	}
	if path, ok := strings.CutPrefix(text, "sqlite:"); ok {
		if path == "" || path == ":memory:" || strings.HasPrefix(path, "//") || strings.ContainsRune(path, 0) {
			return Location{}, errPath
		}
		return Location{Kind: SQLite, Path: path}, nil
	}
	scheme, _, ok := strings.Cut(text, "://")
	if !ok || !slices.Contains([]string{"redis", "rediss", "unix", "redis+sentinel"}, scheme) {
		return Location{}, errScheme
	}
	return parseRedis(scheme, text)
}

// parseRedis reads redis:, rediss:, redis+sentinel: and redis+unix: URLs. Errors name the fault and
// do not repeat the URL, as it may hold a password.
func parseRedis(scheme, text string) (Location, error) {
	hosts := ""
	if scheme == "redis+sentinel" { // a URL has one host
		text, hosts = cutHosts(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return Location{}, errReading
	}
	l := Location{Kind: Redis, TLS: scheme == "rediss", User: u.User.Username()}
	l.Password, _ = u.User.Password()
	if u.Fragment != "" || u.RawQuery != "" && scheme != "unix" {
		return Location{}, errQuery
	}
	switch scheme {
	case "unix":
		return l.withSocket(u)
	case "redis+sentinel":
		return l.withSentinels(hosts, u.Path)
	}
	if u.Hostname() == "" {
		return Location{}, errAddress
	}
	addr, err := parseAddress(u.Host, "6379")
	if err != nil {
		return Location{}, err
	}
	l.Addrs = []string{addr}
	l.DB, err = parseDatabase(strings.TrimPrefix(u.Path, "/"))
	return emptyOnError(l, err)
}

// cutHosts puts one name in place of a list of hosts.
func cutHosts(text string) (without, hosts string) {
	scheme, rest, _ := strings.Cut(text, "://")
	authority, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@') + 1
	return scheme + "://" + authority[:at] + "hosts/" + path, authority[at:]
}

// withSocket completes the location of a socket, whose path is all of the URL's.
func (l Location) withSocket(u *url.URL) (Location, error) {
	if u.Host != "" || len(u.Path) < 2 {
		return Location{}, errSocket
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(query) > 1 || len(query) == 1 && len(query["db"]) != 1 {
		return Location{}, errQuery
	}
	l.Addrs, l.Socket = []string{u.Path}, true
	l.DB, err = parseDatabase(query.Get("db"))
	return emptyOnError(l, err)
}

// withSentinels completes the location of a primary that sentinels know:
// redis+sentinel://host[:port],…/master[/db].
func (l Location) withSentinels(hosts, path string) (Location, error) {
	master, db, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if master == "" || hosts == "" {
		return Location{}, errSentinel
	}
	for host := range strings.SplitSeq(hosts, ",") {
		addr, err := parseAddress(host, "26379")
		if err != nil {
			return Location{}, errSentinel
		}
		l.Addrs = append(l.Addrs, addr)
	}
	var err error
	l.Master = master
	l.DB, err = parseDatabase(db)
	return emptyOnError(l, err)
}

// emptyOnError returns no half of a location with an error.
func emptyOnError(l Location, err error) (Location, error) {
	if err != nil {
		return Location{}, err
	}
	return l, nil
}

// parseAddress returns host and port, with port as the default.
func parseAddress(host, port string) (string, error) {
	u, err := url.Parse("//" + host)
	if err != nil || u.Host != host || u.Hostname() == "" || strings.ContainsAny(u.Hostname(), " \t\r\n\x00@") {
		return "", errAddress
	}
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return "", errAddress
		}
		port = p
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// parseDatabase reads the number of a database.
func parseDatabase(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1023 || text[0] == '+' {
		return 0, errDB
	}
	return n, nil
}
