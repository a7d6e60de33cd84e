// This file puts the door together: the key file, the issuers, the proxies, and who of the tenants
// may be served. The packages below access have the methods themselves.

package gateway

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"

	"github.com/rs/zerolog"

	"sluice/handlers"
	"sluice/internal/app/settings"
	"sluice/internal/base/config"
	"sluice/internal/edge/access/door"
	"sluice/internal/edge/access/keys"
	"sluice/internal/edge/access/limit"
)

// entrance authenticates senders and knows their addresses and tenants.
type entrance struct {
	ring  *keys.Ring // nil without a key file
	door  *door.Door // nil if nobody is authenticated
	given handlers.Door
	peers *door.Peers
	// tenants are the tenants of the newest file; they are nil without such a section.
	tenants atomic.Pointer[limit.Tenants]
	log     zerolog.Logger
}

// openEntrance opens the key file and the door, if the settings have some. A fault of the key file
// is a *config.Error. The caller must call close.
func openEntrance(c *commonParts) (_ *entrance, err error) {
	e := &entrance{given: c.seams.Door, peers: door.NewPeers(settings.Of[door.Environment](&c.cfg).TrustedProxies), log: c.log}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	cfg := door.Config{Peers: e.peers, Audit: e.writeAudit, FetchProxy: c.cfg.Proxy.Func(), Metrics: c.metrics, Log: c.log}
	if c.cfg.Auth.Keys != "" {
		e.ring, err = keys.Open(keys.Config{Path: c.cfg.Auth.Keys, Reloaded: e.keysReloaded, Rejected: e.keysRejected})
		if err != nil {
			return nil, settingError("auth.keys", err)
		}
		cfg.Keys = e.ring
	}
	e.useTenants(c.cfg.Tenants)
	if c.cfg.Tenants != nil {
		cfg.Tenants = e.tenantOf
	}
	if e.door, err = door.Open(c.cfg.Auth, cfg); err != nil {
		return nil, err
	}
	if e.door != nil {
		c.health.Add(e.door)
	}
	return e, nil
}

// settingError returns err as a fault of a setting, unless it is a *config.Error already.
func settingError(setting string, err error) error {
	if _, ok := errors.AsType[*config.Error](err); ok {
		return err
	}
	return &config.Error{Faults: []config.Fault{{Name: setting, Message: err.Error()}}}
}

// httpDoor returns the door that authenticates requests, or nil if no request is authenticated.
func (e *entrance) httpDoor() handlers.Door {
	if e.given != nil {
		return e.given
	}
	if e.door == nil {
		return nil
	}
	return e.door
}

// useTenants takes over the tenants of a file.
func (e *entrance) useTenants(t limit.Tenants) { e.tenants.Store(&t) }

// tenantOf reports whether a tenant is configured, and whether it may be served.
func (e *entrance) tenantOf(id string) (known, enabled bool) {
	t, known := (*e.tenants.Load())[id]
	return known, !t.Disabled
}

// lookAtKeys reads the key file if it has changed.
func (e *entrance) lookAtKeys() {
	if e.ring != nil {
		e.ring.Look()
	}
}

func (e *entrance) keysReloaded(added, removed []string) {
	e.writeAudit(nil, "keys_reloaded", func(d *zerolog.Event) { d.Strs("added", added).Strs("removed", removed) })
}

func (e *entrance) keysRejected(err error) {
	e.writeAudit(nil, "keys_rejected", func(d *zerolog.Event) { d.Strs("faults", faultsOf(err)) })
}

// writeAudit writes a line of the audit. A line without a request has counts of many requests.
func (e *entrance) writeAudit(r *http.Request, event string, details func(*zerolog.Event)) {
	if r == nil {
		d := zerolog.Dict()
		details(d)
		e.log.Info().Bool("audit", true).Dict("details", d).Msg(event)
		return
	}
	handlers.Audit(r, e.clientOf(r), event, details)
}

// clientOf returns the address that a request comes from.
func (e *entrance) clientOf(r *http.Request) string { return e.peers.Client(r).String() }

// close ends the goroutines of the door and the key file. It works on nil.
func (e *entrance) close() {
	if e == nil {
		return
	}
	e.door.Close()
	if e.ring != nil {
		e.ring.Close()
	}
}

// warnOfOpenAdmin logs that anybody who reaches the operators' address may send their requests.
func warnOfOpenAdmin(c *commonParts) {
	at := settings.Of[settings.Process](&c.cfg).AdminAddr
	host, _, err := net.SplitHostPort(at)
	if err != nil || c.asksWho() {
		return
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		c.log.Warn().Dict("details", zerolog.Dict().Str("setting", "SLUICE_ADMIN_ADDR").
			Str("message", "anybody who reaches this address may change the agents; give it an address of loopback, or configure auth")).Msg("admin_open")
	}
}
