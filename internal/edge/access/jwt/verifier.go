// Package jwt verifies tokens of known issuers: JSON Web Tokens (RFC 7519) in compact form,
// signed by keys that each issuer publishes or shares.
//
// The order of the checks is cheap and reveals nothing: size and form, the cache, the header, the
// issuer, the key, the signature. The claims come last. Keys belong to their issuer: a key of
// another issuer with the same id is another key. All that a token can cause is one fetch of its
// issuer's keys, twice a minute at most.
package jwt

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"sluice/internal/base/config"
	"sluice/internal/base/fault"
	"sluice/internal/base/telemetry/health"
	"sluice/internal/base/telemetry/metrics"
	"sluice/internal/edge/access"
)

// Bounds.
const (
	maxToken  = 16 << 10 // bytes
	maxCached = 10_000
	cacheTime = 5 * time.Minute
)

// ErrUnread is Verify's error for a token that is not in the cache, if only those were asked
// for.
var ErrUnread = errors.New("the token was not verified lately, and is not read now")

// Config is the input of a Verifier. Without issuers it refuses every token.
type Config struct {
	Issuers  []Spec
	ReadFile func(path string) ([]byte, error) // nil: config.ReadFile
	// Proxy is where fetches go through, as http.Transport has it; nil: nowhere.
	Proxy   func(*http.Request) (*url.URL, error)
	Metrics *metrics.Registry
	Log     zerolog.Logger

	transport http.RoundTripper // of tests
}

// Verifier verifies tokens. It is safe for concurrent use; Open makes one.
type Verifier struct {
	issuers map[string]*issuer
	order   []*issuer
	cached  metrics.Counter
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex // guards the field below
	cache *access.Recent[[sha256.Size]byte, *verified]
}

// verified is a token that was verified.
type verified struct {
	identity *access.Identity
	by       *issuer
	set      *keySet // that it was verified by
	times    times
	until    time.Time // of the cache
}

// Open returns a Verifier that the caller must close. It reads files at once and returns their
// faults. It fetches from issuers in the background: an unavailable one must not delay the others.
func Open(cfg Config) (*Verifier, error) {
	if cfg.ReadFile == nil {
		cfg.ReadFile = config.ReadFile
	}
	if cfg.transport == nil {
		cfg.transport = newTransport(cfg.Proxy)
	}
	fetches := cfg.Metrics.Counter("jwks_fetches_total", "fetches of key sets", "issuer", "outcome")
	ctx, stop := context.WithCancel(context.Background())
	v := &Verifier{
		issuers: map[string]*issuer{},
		cached:  cfg.Metrics.Counter("auth_cache_total", "tokens looked for among those that were verified lately", "outcome"),
		stop:    stop,
		cache:   access.NewRecent[[sha256.Size]byte, *verified](maxCached),
	}
	client := newClient(cfg.transport)
	var faults []error
	for _, spec := range cfg.Issuers {
		i := &issuer{
			spec: spec, algorithms: spec.algorithmList(), source: sourceOf(&spec, &cfg, client), log: cfg.Log, wake: make(chan struct{}, 1),
			count: func(string) {},
		}
		if i.source.isRemote() {
			i.count = func(outcome string) { fetches.Inc(spec.Issuer, outcome) }
		}
		faults = append(faults, i.prepareKeys(ctx))
		v.issuers[spec.Issuer] = i
		v.order = append(v.order, i)
	}
	if err := errors.Join(faults...); err != nil {
		stop()
		return nil, err
	}
	for _, i := range v.order {
		// Goroutine (keys of an issuer): reads its keys when they are due, or when a token with
		// an unknown one asks.
		// Ends: `Close`.
		// Waits: `Close`.
		v.running.Go(func() { i.runRefresh(ctx) })
	}
	cfg.Metrics.GaugesFunc("jwks_age_seconds", "time since an issuer's keys were read", []string{"issuer"}, v.reportAges)
	return v, nil
}

// Close ends the reading of keys, and waits for it.
func (v *Verifier) Close() {
	v.stop()
	v.running.Wait()
}

// Verify returns whom a token proves. The identity is shared and must not be changed. If
// mayRead is false, a token that is not in the cache is ErrUnread. Other errors are an
// *access.Refused, or a *fault.Error if the issuer's keys are unavailable. Waits at most 2 s
// for keys.
func (v *Verifier) Verify(ctx context.Context, token string, mayRead bool) (*access.Identity, error) {
	if len(token) > maxToken {
		return nil, refusedFor("too_long")
	}
	sum := sumOf(token)
	now := time.Now()
	if hit := v.findVerified(sum, now); hit != nil {
		v.cached.Inc("hit")
		if err := hit.times.checkNow(now); err != nil {
			return nil, err
		}
		return hit.identity, nil
	}
	if !mayRead {
		return nil, ErrUnread
	}
	v.cached.Inc("miss")
	verified, err := v.verifyToken(ctx, token)
	if err != nil {
		return nil, err
	}
	v.cacheVerified(sum, verified)
	return verified.identity, nil
}

// sumOf returns the cache key of a token: a hash of all of it. The copy of one of usual length is
// on the stack.
func sumOf(token string) [sha256.Size]byte {
	var usual [2 << 10]byte
	if len(token) > len(usual) {
		return sha256.Sum256([]byte(token))
	}
	return sha256.Sum256(usual[:copy(usual[:], token)])
}

// findVerified returns the cached result for a token, or nil without one that still counts.
func (v *Verifier) findVerified(sum [sha256.Size]byte, now time.Time) *verified {
	v.mu.Lock()
	defer v.mu.Unlock()
	hit, ok := v.cache.Get(sum)
	switch {
	case !ok:
		return nil
	case !now.Before(hit.until), !hit.by.isCurrent(hit.set):
		v.cache.Delete(sum)
		return nil
	}
	return hit
}

// cacheVerified caches a verified token, unless it has expired.
func (v *Verifier) cacheVerified(sum [sha256.Size]byte, done *verified) {
	now := time.Now()
	done.until = now.Add(cacheTime)
	if done.times.expires.Before(done.until) {
		done.until = done.times.expires
	}
	if !now.Before(done.until) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cache.Put(sum, done)
}

// verifyToken reads a token.
func (v *Verifier) verifyToken(ctx context.Context, token string) (*verified, error) {
	t, err := parseToken(token)
	if err != nil {
		return nil, err
	}
	i := v.issuers[t.issuer]
	if i == nil {
		return nil, refusedFor("issuer")
	}
	if err := t.checkHeader(i); err != nil {
		return nil, err
	}
	set, public, err := i.keyOf(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := t.verifySignature(public); err != nil {
		return nil, err
	}
	identity, times, err := t.proveIdentity(&i.spec, time.Now())
	if err != nil {
		return nil, err
	}
	return &verified{identity: identity, by: i, set: set, times: times}, nil
}

// keyOf returns the key of a token, and the set that it is from.
func (i *issuer) keyOf(ctx context.Context, t *token) (*keySet, any, error) {
	ctx, cancel := context.WithTimeout(ctx, waitForKeys)
	defer cancel()
	set := i.currentKeys()
	if set == nil {
		i.awaitFetch(ctx)
		if set = i.currentKeys(); set == nil {
			return nil, nil, &fault.Error{Type: fault.AuthUnavailable, RetryAfter: i.retryAfter(),
				Message: "The keys that the credential could be checked with are not available; try again in a moment"}
		}
	}
	public, unknown := set.findKey(t.keyID, t.algorithm)
	if unknown {
		i.requestFetch(ctx)
		if now := i.currentKeys(); now != nil {
			set = now
		}
		public, unknown = set.findKey(t.keyID, t.algorithm)
	}
	switch {
	case unknown:
		return nil, nil, refusedFor("key_unknown")
	case public == nil:
		return nil, nil, refusedFor("key")
	}
	return set, public, nil
}

// State returns the state of each issuer, in the order of the file.
func (v *Verifier) State() []health.Issuer {
	states := make([]health.Issuer, len(v.order))
	for n, i := range v.order {
		states[n] = i.healthState()
	}
	return states
}

// reportAges reports the age of each issuer's keys.
func (v *Verifier) reportAges(report func(value float64, values ...string)) {
	for _, s := range v.State() {
		if s.AgeS != nil {
			report(float64(*s.AgeS), s.Issuer)
		}
	}
}

func refusedFor(reason string) error { return &access.Refused{Reason: reason} }
