// This file puts the door together: the key file, the issuers, the proxies, and who of the
// tenants may be served. What each method does is in the packages below access.

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

// entrance is what asks who sends a request, and counts it. Its zero value asks nobody.
type entrance struct {
	ring  *keys.Ring // nil: there is no key file
	door  *door.Door // nil: nobody is asked
	peers *door.Peers
	// tenants are those of the file that was read last; nil without such a section.
	tenants atomic.Pointer[limit.Tenants]
	// limiter counts what is asked for; nil: nothing is limited.
	limiter *limit.Limiter
}

// openEntrance makes what asks, if anybody is to be asked. Faults of the key file are a
// *config.Error.
func (g *Gateway) openEntrance() (err error) {
	env := settings.Of[door.Environment](&g.cfg)
	e := &g.entrance
	e.peers = door.NewPeers(env.TrustedProxies)
	cfg := door.Config{Peers: e.peers, Audit: g.audit, FetchProxy: g.cfg.Proxy.Func(), Metrics: g.metrics, Log: g.log}
	if g.cfg.Auth.Keys != "" {
		e.ring, err = keys.Open(keys.Config{Path: g.cfg.Auth.Keys, Reloaded: g.keysReloaded, Rejected: g.keysRejected})
		if err != nil {
			return named("auth.keys", err)
		}
		cfg.Keys = e.ring
	}
	g.useTenants(g.cfg.Tenants)
	if g.cfg.Tenants != nil {
		cfg.Tenants = g.tenantOf
	}
	if e.door, err = door.Open(g.cfg.Auth, cfg); err != nil {
		return err
	}
	if e.door != nil {
		g.health.Add(e.door)
	}
	return nil
}

// named makes a fault of an error that is none yet.
func named(setting string, err error) error {
	if _, ok := errors.AsType[*config.Error](err); ok {
		return err
	}
	return &config.Error{Faults: []config.Fault{{Name: setting, Message: err.Error()}}}
}

// asker returns what asks who sends a request; nil: nobody does.
func (g *Gateway) asker() handlers.Door {
	if g.seams.Door != nil {
		return g.seams.Door
	}
	if g.door == nil {
		return nil
	}
	return g.door
}

// warnOfOpenAdmin says that operators' requests are answered for anybody who reaches their address.
func (g *Gateway) warnOfOpenAdmin() {
	at := settings.Of[settings.Process](&g.cfg).AdminAddr
	host, _, err := net.SplitHostPort(at)
	if err != nil || g.asksWho() {
		return
	}
	if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
		g.log.Warn().Dict("details", zerolog.Dict().Str("setting", "SLUICE_ADMIN_ADDR").
			Str("message", "anybody who reaches this address may change the agents; give it an address of loopback, or configure auth")).Msg("admin_open")
	}
}

// client returns the address that a request comes from.
func (g *Gateway) client(r *http.Request) string { return g.peers.Client(r).String() }

// useTenants takes over what a file says of tenants.
func (g *Gateway) useTenants(t limit.Tenants) { g.tenants.Store(&t) }

// tenantOf says whether there is a tenant, and whether it may be served.
func (g *Gateway) tenantOf(id string) (known, enabled bool) {
	t, known := (*g.tenants.Load())[id]
	return known, !t.Disabled
}

// audit writes a line of the audit. Without a request it counts what many have done.
func (g *Gateway) audit(r *http.Request, event string, details func(*zerolog.Event)) {
	if r == nil {
		d := zerolog.Dict()
		details(d)
		g.log.Info().Bool("audit", true).Dict("details", d).Msg(event)
		return
	}
	handlers.Audit(r, g.client(r), event, details)
}

func (g *Gateway) keysReloaded(added, removed []string) {
	g.audit(nil, "keys_reloaded", func(d *zerolog.Event) { d.Strs("added", added).Strs("removed", removed) })
}

func (g *Gateway) keysRejected(err error) {
	g.audit(nil, "keys_rejected", func(d *zerolog.Event) { d.Strs("faults", faultsOf(err)) })
}

// lookAtKeys reads the key file again, if it has changed.
func (g *Gateway) lookAtKeys() {
	if g.ring != nil {
		g.ring.Look()
	}
}

// close ends what the entrance does by itself.
func (e *entrance) close() {
	e.door.Close()
	e.limiter.Close()
	if e.ring != nil {
		e.ring.Close()
	}
}
