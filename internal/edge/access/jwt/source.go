package jwt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// How often keys are read.
const (
	fetchTimeout = 5 * time.Second
	refreshEach  = 15 * time.Minute // unless max-age says otherwise
	minAge       = time.Minute
	maxAge       = 24 * time.Hour
	lookEach     = 5 * time.Second // of a file
)

// source is where the keys of an issuer come from.
type source interface {
	// readKeys returns the keys, and when to read them again.
	readKeys(ctx context.Context) (*keySet, time.Duration, error)
	// isRemote reports whether tokens with unknown keys are a reason to read once more.
	isRemote() bool
}

func sourceOf(s *Spec, cfg *Config, client *http.Client) source {
	switch {
	case s.SecretFile != "":
		return &secretFile{s.SecretFile, cfg.ReadFile, s.algorithmList()}
	case s.JWKSFile != "":
		return &setFile{s.JWKSFile, cfg.ReadFile}
	case s.Discovery:
		return &remote{client: client, issuer: s.Issuer}
	}
	return &remote{client: client, url: s.JWKS}
}

// setFile is a key set in a file.
type setFile struct {
	path     string
	readFile func(string) ([]byte, error)
}

func (f *setFile) readKeys(context.Context) (*keySet, time.Duration, error) {
	text, err := f.readFile(f.path)
	if err != nil {
		return nil, lookEach, fileError(err)
	}
	set, err := parseKeySet(text)
	return set, lookEach, err
}

func (*setFile) isRemote() bool { return false }

// secretFile is a secret in a file, which both sides know.
type secretFile struct {
	path       string
	readFile   func(string) ([]byte, error)
	algorithms []jose.SignatureAlgorithm
}

func (f *secretFile) readKeys(context.Context) (*keySet, time.Duration, error) {
	secret, err := f.readFile(f.path)
	if err != nil {
		return nil, lookEach, fileError(err)
	}
	secret = withoutLineEnd(secret)
	if wrong := checkSecret(secret, f.algorithms); wrong != "" {
		return nil, lookEach, errors.New("the secret " + wrong)
	}
	return secretSet(secret), lookEach, nil
}

func (*secretFile) isRemote() bool { return false }

// withoutLineEnd drops one line end, as editors add it.
func withoutLineEnd(secret []byte) []byte {
	if cut, ok := bytes.CutSuffix(secret, []byte("\n")); ok {
		return bytes.TrimSuffix(cut, []byte("\r"))
	}
	return secret
}

// fileError returns the cause alone: its path stands in the configuration.
func fileError(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return fmt.Errorf("the file cannot be read: %w", err)
}

// remote is a key set behind a URL, or behind an issuer's discovery document.
type remote struct {
	client *http.Client
	url    string
	issuer string // empty: url is that of the keys
}

func (r *remote) isRemote() bool { return true }

// readKeys fetches the keys within fetchTimeout, discovery included: the document may name
// another place each time.
func (r *remote) readKeys(ctx context.Context) (*keySet, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	from := r.url
	if r.issuer != "" {
		var err error
		if from, err = r.discoverURL(ctx); err != nil {
			return nil, 0, err
		}
	}
	text, header, err := r.fetchDocument(ctx, from)
	if err != nil {
		return nil, 0, err
	}
	set, err := parseKeySet(text)
	return set, ageOf(header), err
}

// discoverURL returns where the keys are (OpenID Connect Discovery §4).
func (r *remote) discoverURL(ctx context.Context) (string, error) {
	text, _, err := r.fetchDocument(ctx, strings.TrimSuffix(r.issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return "", fmt.Errorf("discovery: %w", err)
	}
	var doc struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	switch err := json.Unmarshal(text, &doc); {
	case err != nil:
		return "", errors.New("discovery: the document is malformed")
	case doc.Issuer != r.issuer:
		return "", errors.New("discovery: the document is another issuer's")
	case !isFetched(doc.JWKS) || isEncrypted(r.issuer) && !isEncrypted(doc.JWKS): // no issuer of others leads to this machine
		return "", errors.New("discovery: its jwks_uri is not https")
	}
	return doc.JWKS, nil
}

func isEncrypted(text string) bool { return strings.HasPrefix(text, "https:") }

// fetchDocument fetches a document of bounded size.
func (r *remote) fetchDocument(ctx context.Context, from string) ([]byte, http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, nil, errors.New("the URL is malformed")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, nil, withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK { // a redirect too
		return nil, nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxSet+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(text) > maxSet:
		return nil, nil, errTooLarge
	}
	return text, resp.Header, nil
}

// withoutURL returns the cause alone: a URL may have a token in its query.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// ageOf says when a reply should be fetched again.
func ageOf(h http.Header) time.Duration {
	for _, line := range h.Values("Cache-Control") {
		for directive := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
			if !strings.EqualFold(name, "max-age") {
				continue
			}
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				return min(max(time.Duration(seconds)*time.Second, minAge), maxAge)
			}
		}
	}
	return refreshEach
}

// newClient returns the client that fetches keys. It follows no redirect, since that could lead to
// keys of others. It closes connections, since fetches are rare.
func newClient(rt http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     rt,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// newTransport returns a transport of its own: HTTP/1.1 and small headers are all that it
// takes.
func newTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy: proxy, Protocols: &protocols, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
	}
}
