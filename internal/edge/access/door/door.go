// Package door finds the sender of a request.
//
// A Door tries the methods in the order of their strength: a key or token of the client, the
// headers of a proxy in front, anonymous access. A credential that does not count is refused: its
// sender never becomes another user or an anonymous one.
//
// The verbs: identify (the method), verify (the credential), refuse (a request), log (to the
// audit).
package door

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/access"
	"sluice/internal/edge/access/jwt"
	"sluice/internal/turn/chat"
)

// Keys verifies API keys. Its errors are of the type *access.Refused.
type Keys interface {
	Verify(credential string) (*access.Identity, error)
	Len() int
	// Renew reports whether a key that counted earlier still does.
	Renew(id *access.Identity) bool
	// IsCurrent is false while the key file is invalid and the previous keys count.
	IsCurrent() bool
}

// tokens verifies tokens, as jwt.Verifier does.
type tokens interface {
	Verify(ctx context.Context, token string, mayRead bool) (*access.Identity, error)
	State() []health.Issuer
	Close()
}

// keyPrefix is what every API key begins with, and no token.
const keyPrefix = "slk_"

// Config is the input of a Door besides its Spec.
type Config struct {
	Keys  Keys   // nil without a key file
	Peers *Peers // nil: no X-Forwarded-For is believed
	// Tenants reports whether a tenant exists, and whether it may be served. Without the section
	// tenants it is nil, and every name is accepted.
	Tenants func(id string) (known, enabled bool)
	// Audit writes a line of the audit; nil turns it off. details adds fields to those of the
	// request. Without a request the line is a count of events.
	Audit func(r *http.Request, event string, details func(*zerolog.Event))

	ReadFile   func(path string) ([]byte, error)     // of issuers' keys; nil: config.ReadFile
	FetchProxy func(*http.Request) (*url.URL, error) // what issuers are asked through; nil: nothing
	Metrics    *metrics.Registry
	Log        zerolog.Logger
}

// Door finds the sender of a request. A nil Door does not ask. It is safe for concurrent use; Open
// makes one.
type Door struct {
	cfg       Config
	tokens    tokens // nil without an issuer
	proxy     *proxy // nil: none is believed
	anonymous *access.Identity
	failures  failures
	audit     *audit
	methods   []string
	outcomes  metrics.Counter
}

// Open returns a Door that the caller must close, or nil if no method is configured.
func Open(s Spec, cfg Config) (*Door, error) {
	if !s.IsOn() {
		return nil, nil
	}
	d := &Door{
		cfg: cfg, proxy: newProxy(s.Proxy), failures: newFailures(s.Failures),
		outcomes: cfg.Metrics.Counter("auth_total", "requests by the sender's method, and the outcome", "method", "outcome"),
	}
	if cfg.Keys != nil {
		d.methods = append(d.methods, string(access.ByKey))
	}
	if len(s.Tokens) > 0 {
		v, err := jwt.Open(jwt.Config{Issuers: s.Tokens, ReadFile: cfg.ReadFile, Proxy: cfg.FetchProxy, Metrics: cfg.Metrics, Log: cfg.Log})
		if err != nil {
			return nil, err
		}
		d.tokens, d.methods = v, append(d.methods, string(access.ByToken))
	}
	if s.Proxy != nil {
		d.methods = append(d.methods, string(access.ByProxy))
	}
	if s.Anonymous != nil {
		d.methods = append(d.methods, string(access.Anonymous))
		d.anonymous = &access.Identity{Method: access.Anonymous, Principal: chat.Principal{
			ID: chat.AnonymousID, Scopes: scopesOf(s.Anonymous.Scopes), Class: s.Anonymous.Limits,
		}}
	}
	d.audit = newAudit(cfg.Audit)
	return d, nil
}

// Close ends the background work of the Door, and waits for it. It closes no Config.Keys.
func (d *Door) Close() {
	if d == nil {
		return
	}
	if d.tokens != nil {
		d.tokens.Close()
	}
	d.audit.close()
}

// Check implements health.Checker.
func (d *Door) Check() health.Status {
	s := health.Auth{Methods: d.methods, Issuers: []health.Issuer{}}
	if d.cfg.Keys != nil {
		s.Keys, s.Rejected = d.cfg.Keys.Len(), !d.cfg.Keys.IsCurrent()
	}
	if d.tokens != nil {
		s.Issuers = d.tokens.State()
	}
	return s
}

// limitName is what refusals call the limit of failed credentials.
const limitName = "failures"

// Limited is the refusal of a token that is not read, because too many credentials of its
// address were bad.
type Limited struct {
	fault *fault.Error
	rate  access.Quota
}

// Error returns the text of the fault.
func (e *Limited) Error() string { return e.fault.Error() }

// Unwrap leads to the fault.
func (e *Limited) Unwrap() error { return e.fault }

// ViolatedPolicies names the limits that were broken.
func (e *Limited) ViolatedPolicies() []string { return []string{limitName} }

// SetHeader adds the limit to the head of the reply, in the form of
// draft-ietf-httpapi-ratelimit-headers-11.
func (e *Limited) SetHeader(h http.Header) {
	h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", limitName, e.rate.N, int(e.rate.Unit.Length().Seconds())))
	h.Set("RateLimit", fmt.Sprintf("%q;r=0;t=%d", limitName, int((e.fault.RetryAfter+time.Second-1)/time.Second)))
}

// outcome is the result of a request at the door.
type outcome string

const (
	accepted    outcome = "ok"
	missing     outcome = "missing" // no credential was shown, and one is needed
	refused     outcome = "refused"
	forbidden   outcome = "forbidden" // its tenant is unknown, or may not be served
	unavailable outcome = "unavailable"
	limited     outcome = "limited"
)

// Authenticate returns the sender of a request, from its header alone. The identity is shared and
// must not be changed. Errors are an *access.Challenged, a *Limited, or a *fault.Error. A nil Door
// returns nil.
func (d *Door) Authenticate(r *http.Request) (*access.Identity, error) {
	if d == nil {
		return nil, nil
	}
	id, method, err := d.identify(r)
	if err != nil {
		return nil, d.reportRefusal(r, method, err)
	}
	if d.cfg.Tenants != nil {
		if known, enabled := d.cfg.Tenants(id.Tenant); !known || !enabled {
			d.outcomes.Inc(string(method), string(forbidden))
			d.audit.logDenied(r, id)
			return nil, &fault.Error{Type: fault.Forbidden, Message: "The credential belongs to no tenant that is served here"}
		}
	}
	d.outcomes.Inc(string(method), string(accepted))
	d.audit.logFirstUse(r, id)
	return id, nil
}

// Knows reports whether the head of a request leads to somebody: it shows a credential, a proxy
// says who sent it, or none is needed.
func (d *Door) Knows(r *http.Request) bool {
	return len(r.Header["Authorization"])+len(r.Header["X-Api-Key"]) > 0 || d.anonymous != nil || d.proxy.namesUser(r)
}

// errNoCredential is the error of a request that shows none where one is needed.
var errNoCredential = errors.New("no credential")

// noMethod is the method of a request that shows nothing that any could judge.
const noMethod access.Method = "none"

// identify finds the method of a request and asks it. Errors are errNoCredential, an
// *access.Refused, a *Limited or a *fault.Error.
func (d *Door) identify(r *http.Request) (*access.Identity, access.Method, error) {
	if d.proxy.isImitated(r.Header) {
		return nil, access.ByProxy, refusedFor("header_name")
	}
	credential, isKey, ok := credentialOf(r.Header)
	if !ok {
		return nil, noMethod, refusedFor("form")
	}
	if isKey || credential != "" {
		return d.verifyCredential(r, credential, isKey)
	}
	if id, shown, err := d.proxy.identifyUser(r); shown {
		return id, access.ByProxy, err
	}
	if d.anonymous != nil {
		return d.anonymous, access.Anonymous, nil
	}
	return nil, noMethod, errNoCredential
}

// verifyCredential verifies a key or a token by its method.
func (d *Door) verifyCredential(r *http.Request, credential string, isKey bool) (*access.Identity, access.Method, error) {
	if isKey || strings.HasPrefix(credential, keyPrefix) {
		if d.cfg.Keys == nil {
			return nil, access.ByKey, refusedFor("method")
		}
		id, err := d.cfg.Keys.Verify(credential)
		return id, access.ByKey, err
	}
	if d.tokens == nil {
		return nil, access.ByToken, refusedFor("method")
	}
	id, err := d.verifyToken(r, credential)
	return id, access.ByToken, err
}

// credentialOf returns the credential that a client shows; empty: none. ok is false if there are
// several, or one of another form.
func credentialOf(h http.Header) (credential string, isKey, ok bool) {
	bearer, keys := h["Authorization"], h["X-Api-Key"]
	switch {
	case len(bearer)+len(keys) == 0:
		return "", false, true
	case len(bearer)+len(keys) > 1:
		return "", false, false
	case len(keys) == 1:
		return keys[0], true, keys[0] != ""
	}
	scheme, rest, _ := strings.Cut(bearer[0], " ")
	rest = strings.TrimLeft(rest, " ")
	return rest, false, rest != "" && strings.EqualFold(scheme, "Bearer")
}

// verifyToken verifies a token. A token that was not verified lately costs the check of a
// signature. It is not read if its address had too many failures.
func (d *Door) verifyToken(r *http.Request, token string) (*access.Identity, error) {
	id, err := d.tokens.Verify(r.Context(), token, false)
	if err != jwt.ErrUnread {
		return id, err
	}
	if wait := d.failures.retryAfter(d.limitedAddress(r)); wait > 0 {
		return nil, &Limited{rate: d.failures.rate, fault: &fault.Error{Type: fault.RateLimited, RetryAfter: wait,
			Message: "Too many credentials from this address were not valid; try again later"}}
	}
	return d.tokens.Verify(r.Context(), token, true)
}

// reportRefusal counts and reports a request that is not answered, and returns what its client gets.
func (d *Door) reportRefusal(r *http.Request, method access.Method, err error) error {
	if err == errNoCredential {
		d.outcomes.Inc(string(method), string(missing))
		d.audit.logFailed(r, d.cfg.Peers, method, "missing")
		return access.Missing()
	}
	if bad, ok := errors.AsType[*access.Refused](err); ok {
		d.outcomes.Inc(string(method), string(refused))
		d.failures.addFailure(d.limitedAddress(r))
		d.audit.logFailed(r, d.cfg.Peers, method, bad.Reason)
		if method == access.ByProxy {
			return access.Missing() // no token was shown
		}
		return access.Invalid(bad.Reason)
	}
	if _, ok := errors.AsType[*Limited](err); ok {
		d.outcomes.Inc(string(method), string(limited))
		d.audit.logLimited(r, d.cfg.Peers)
	} else {
		d.outcomes.Inc(string(method), string(unavailable))
	}
	return err
}

func refusedFor(reason string) error { return &access.Refused{Reason: reason} }

// scopesOf returns the scopes of names that the schema has checked; without any it is chat.
func scopesOf(names []string) chat.Scopes {
	if names == nil {
		return chat.ScopeChat
	}
	set, _ := chat.ParseScopes(names)
	return set
}
