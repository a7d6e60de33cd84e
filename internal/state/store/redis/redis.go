// Package redis keeps state in Redis from 6.2 on or Valkey, for any number of processes.
// It needs one primary, behind Sentinel if need be, and no Cluster: its scripts touch
// several keys.
//
// Every change of more than one key is a script, so it runs as a whole or not at all. A command is
// sent once: after a lost connection it may have run or not, and only the caller knows whether it
// may run twice. Signals travel by Pub/Sub and may get lost, so waiting code looks for itself now
// and then.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"sluice/internal/base/telemetry/health"
	"sluice/internal/state/store"
)

// connections bounds those of one process; one more is for signals.
const connections = 15

// Config describes a Store.
type Config struct {
	Location store.Location
	Prefix   string       // before every key and channel
	Calls    *store.Calls // nil: with defaults
}

// Store is an engine. Use New.
type Store struct {
	client   *goredis.Client
	prefix   string
	calls    *store.Calls
	signals  *listener
	warnings atomic.Pointer[[]string]
	scripts  sync.Map // *goredis.Script by operation
	batches  batches
}

var (
	_ store.Store    = (*Store)(nil)
	_ store.Together = (*Store)(nil)
	_ store.Ender    = (*Store)(nil)
)

// New returns a Store. It connects when it is needed, so that the process can start before the
// store. The caller closes it.
func New(cfg Config) *Store {
	goredis.SetLogger(silent{}) // it would repeat each error on stderr
	if cfg.Calls == nil {
		cfg.Calls = store.NewCalls(store.CallsConfig{})
	}
	cfg.Calls.Share(connections-trips, trips*maxTogether)
	client := newClient(cfg.Location, cfg.Calls.Timeout())
	return &Store{
		client: client, prefix: cfg.Prefix, calls: cfg.Calls, signals: newListener(client, cfg.Prefix+"sluice:signal:"),
		batches: batches{client: client, calls: cfg.Calls},
	}
}

// silent takes the place of the client's own logger.
type silent struct{}

// Printf drops a line.
func (silent) Printf(context.Context, string, ...any) {}

// newClient returns a client that sends each command once: only the caller knows whether a command
// may run twice.
func newClient(l store.Location, timeout time.Duration) *goredis.Client {
	options := &goredis.FailoverOptions{
		MasterName: l.Master, SentinelAddrs: l.Addrs,
		Username: l.User, Password: l.Password, DB: l.DB,
		Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout,
		PoolSize: connections, PoolTimeout: timeout,
	}
	if l.Master != "" {
		options.Dialer = countingDialer((&net.Dialer{Timeout: timeout}).DialContext)
		return goredis.NewFailoverClient(options)
	}
	single := &goredis.Options{
		Network: "tcp", Addr: l.Addrs[0],
		Username: l.User, Password: l.Password, DB: l.DB,
		Protocol: options.Protocol, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: options.DialTimeout, ReadTimeout: options.ReadTimeout, WriteTimeout: options.WriteTimeout,
		PoolSize: connections, PoolTimeout: options.PoolTimeout,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if l.Socket {
		single.Network = "unix"
	}
	if l.TLS {
		host, _, _ := net.SplitHostPort(l.Addrs[0])
		single.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	}
	single.Dialer = countingDialer(goredis.NewDialer(single))
	return goredis.NewClient(single)
}

// Close ends the connections, and waits for their goroutines.
func (s *Store) Close() error {
	s.signals.close()
	return s.client.Close()
}

// runCommand runs one command, when there is a connection for it.
func (s *Store) runCommand(ctx context.Context, op string, command func(context.Context) error) error {
	return s.calls.Do(ctx, op, func(ctx context.Context) error { return storeError(command(ctx)) })
}

// runWriteScript is runScript for a script that adds data, and may send it together with others.
func (s *Store) runWriteScript(ctx context.Context, op string, body string, decode func(any) error, keys []string, args ...any) (err error) {
	size := sizeOfTexts(args)
	defer func() { s.calls.Wrote(op, size, err) }()
	if size >= alone {
		return s.runScript(ctx, op, body, decode, keys, args...)
	}
	one := &scripted{script: s.scriptOf(op, body), keys: s.prefixKeys(keys), args: args, size: size}
	return s.calls.DoTogether(ctx, op, func(ctx context.Context) error {
		reply, err := s.batches.runScript(ctx, one)
		return storeError(readReply(reply, err, decode))
	})
}

// sizeOfTexts returns how many bytes the texts among args have.
func sizeOfTexts(args []any) (n int) {
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			n += len(arg)
		case []byte:
			n += len(arg)
		}
	}
	return n
}

// runScript runs the script body. The script returns a code, or a reply that decode reads. An
// operation always runs the same script.
func (s *Store) runScript(ctx context.Context, op string, body string, decode func(any) error, keys []string, args ...any) error {
	s.prefixKeys(keys)
	return s.runCommand(ctx, op, func(ctx context.Context) error {
		reply, err := s.scriptOf(op, body).Run(ctx, s.client, keys, args...).Result()
		return readReply(reply, err, decode)
	})
}

// prefixKeys puts the prefix before keys, and returns them.
func (s *Store) prefixKeys(keys []string) []string {
	for i := range keys {
		keys[i] = s.prefix + keys[i]
	}
	return keys
}

// readReply reads the reply of a script.
func readReply(reply any, err error, decode func(any) error) error {
	if err != nil {
		return err
	}
	if code, ok := reply.(int64); ok && code < 0 {
		return refusalOf(code)
	}
	if decode == nil {
		return nil
	}
	return decode(reply)
}

// refusalOf returns the error for a negative reply of a script.
func refusalOf(code int64) error {
	switch code {
	case -1:
		return store.ErrNotFound
	case -2:
		return store.ErrConflict
	case -3:
		return store.ErrTooLarge
	}
	return store.ErrDamaged
}

// storeError returns err as one of package store's. The first word of a server's reply names its
// kind. Before Redis 7 a script's error has that word behind a minus.
func storeError(err error) error {
	_, ours := errors.AsType[*store.EndError](err)
	_, answered := errors.AsType[goredis.Error](err)
	switch {
	case err == nil, ours, errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrDamaged):
		return err
	case errors.Is(err, goredis.Nil):
		return store.ErrNotFound
	case !answered:
		return store.Carried(movedBytes(err), fmt.Errorf("%w: %w", store.ErrUnavailable, err))
	case hasErrorCode(err, "OOM"):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case hasErrorCode(err, "READONLY"), hasErrorCode(err, "MISCONF"):
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, store.ErrReadOnly, err)
	case hasErrorCode(err, "WRONGTYPE"):
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// hasErrorCode whether an error is of that code.
func hasErrorCode(err error, code string) bool {
	return strings.HasPrefix(err.Error(), code+" ") || strings.Contains(err.Error(), "-"+code+" ")
}

// milliseconds returns a time to live as scripts take it.
func milliseconds(ttl time.Duration) int64 {
	if ttl > 0 {
		return max(ttl.Milliseconds(), 1)
	}
	return 0
}

// Check reports how the store is. It sends nothing: leases are renewed all the time, so the
// last command shows it.
func (s *Store) Check() health.Status {
	status := health.Store{Kind: string(store.Redis), State: s.calls.State(), Warnings: []string{}}
	if w := s.warnings.Load(); w != nil {
		status.Warnings = *w
	}
	return status
}

// Inspect asks the server for its configuration, and returns the ways in which it may forget
// confirmed writes. Check reports it from then on.
func (s *Store) Inspect(ctx context.Context) (warnings []string, err error) {
	var info string
	err = s.runCommand(ctx, "inspect", func(ctx context.Context) (err error) {
		info, err = s.client.Info(ctx).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	facts := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		facts[name] = value
	}
	warnings = warningsOf(facts)
	s.warnings.Store(&warnings)
	return warnings, nil
}

// warningsOf returns the warnings for a reply of INFO.
func warningsOf(facts map[string]string) []string {
	warnings := []string{}
	if facts["aof_enabled"] == "0" {
		warnings = append(warnings, "no append-only file: a restart forgets what was confirmed")
	}
	if policy := facts["maxmemory_policy"]; policy != "" && policy != "noeviction" {
		warnings = append(warnings, "maxmemory-policy "+policy+" removes records when memory is short; noeviction does not")
	}
	if facts["cluster_enabled"] == "1" {
		warnings = append(warnings, "a Cluster, which is not supported")
	}
	var major, minor int
	if _, err := fmt.Sscanf(facts["redis_version"], "%d.%d", &major, &minor); err == nil && (major < 6 || major == 6 && minor < 2) {
		warnings = append(warnings, "older than 6.2, which is not supported")
	}
	return warnings
}
