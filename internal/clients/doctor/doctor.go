// Package doctor examines the way between this machine and a gateway, from the outside and without
// running a turn. It finds parts that buffer, cut or delay streams.
//
// Each step depends on the ones before, and reports a Finding with its measurements: names and
// addresses, the handshake, headers, whether bytes arrive when they are sent, the life of a silent
// stream. It never costs the gateway a turn, and uses only the given credentials.
package doctor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// LongestIdle is the longest Config.Idle: the bound of GET /diag/sse.
const LongestIdle = 5 * time.Minute

// Config describes an examination. URL and Timeout must be set.
type Config struct {
	URL     *url.URL      // base URL of the gateway, as its clients use it
	Header  http.Header   // goes with each request
	Idle    time.Duration // how long streams are kept silent, to find idle limits; 0: they are not
	Timeout time.Duration // of a step, beyond the time that it must take
	Show    func(Finding) // gets each finding at once; may be nil
}

// Report is the result of an examination.
type Report struct {
	URL      string    `json:"url"`
	Healthy  bool      `json:"healthy"` // nothing must be mended
	Findings []Finding `json:"findings"`
}

// Examine looks at everything, in the same order each time. It ends early with ctx. The report then
// holds the findings so far. Its texts may repeat those of a server, control characters included.
func Examine(ctx context.Context, cfg Config) Report {
	d := &examination{cfg: cfg, client: newClient()}
	defer d.client.CloseIdleConnections()
	d.runChecks(ctx)
	healthy := !slices.ContainsFunc(d.findings, func(f Finding) bool { return f.Verdict == Problem })
	return Report{URL: cfg.URL.String(), Healthy: healthy, Findings: d.findings}
}

// examination is one run.
type examination struct {
	cfg    Config
	client *http.Client

	findings []Finding
	trip     time.Duration // of a small request, over a connection that is there
}

// newClient returns a client that hides nothing: it follows no redirect and
// undoes no compression.
func newClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// runChecks makes all checks. Later checks depend on earlier ones: without a connection it asks
// nothing, and without a stream it does not look for idle limits.
func (d *examination) runChecks(ctx context.Context) {
	if !d.checkConnection(ctx) {
		return
	}
	if !d.checkAccess(ctx) {
		return
	}
	d.checkReadiness(ctx)
	d.checkDialects(ctx)
	streams := d.checkStream(ctx)
	d.checkPosts(ctx)
	if !streams {
		return
	}
	d.longURL(ctx)
	if d.cfg.Idle > 0 {
		d.checkSilence(ctx)
	}
}

// sendRequest sends a request. The reply must be closed.
func (d *examination) sendRequest(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.cfg.URL.String()+path, content)
	if err != nil {
		return nil, err
	}
	for name, values := range d.cfg.Header {
		req.Header[name] = values
	}
	if host := d.cfg.Header.Get("Host"); host != "" {
		req.Host = host
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := d.client.Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL of up to 60,000 bytes
	}
	return resp, err
}

// fetchReply sends a request and reads a small reply.
func (d *examination) fetchReply(ctx context.Context, method, path, body string, header ...string) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	resp, err := d.sendRequest(ctx, method, path, body, header...)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp, content, err
}
