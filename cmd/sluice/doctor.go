package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"sluice/config"
	"sluice/internal/settings"
)

// doctor examines what lies between this machine and a gateway, from the outside,
// and without running a turn.
type doctor struct {
	base    *url.URL
	header  http.Header // goes with each request
	idle    time.Duration
	timeout time.Duration // of a step, beyond the time that it must take
	client  *http.Client
	show    func(finding)

	findings []finding
	trip     time.Duration // of a small request, over a connection that is there
}

// doctor tells what it found. Exit code 1 means that something must be mended.
func (p program) doctor(ctx context.Context, args []string) int {
	l := settings.Loader()
	f := newDoctorFlags(l)
	if _, code, ok := p.load(l, args); !ok {
		return code
	}
	d, err := newDoctor(f)
	if err != nil {
		return p.refuse(err)
	}
	defer d.client.CloseIdleConnections()
	ctx, cancel := p.untilSignal(ctx)
	defer cancel()
	d.show = func(finding) {}
	if !*f.json {
		fmt.Fprintf(p.stdout, "sluice doctor: %s\n\n", d.base.Redacted())
		d.show = func(f finding) { f.print(p.stdout, styleFor(p.stdout, p.lookup)) }
	}
	d.examine(ctx)
	if ctx.Err() != nil {
		fmt.Fprintln(p.stderr, "sluice doctor: interrupted")
		return exitFailed
	}
	return d.conclude(p.stdout, *f.json)
}

// longestIdle is what GET /diag/sse takes.
const longestIdle = 5 * time.Minute

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	url           *string
	header        http.Header
	idle, timeout *time.Duration
	json          *bool
}

func newDoctorFlags(l *config.Loader) doctorFlags {
	f := doctorFlags{
		url:     l.BaseURL("url", "base URL of the gateway, as its clients use it; credentials go into --header"),
		header:  l.Header("header", "'Name: value' for every request; may be given again"),
		idle:    l.Duration("idle", 0, "also keep streams silent for this long, at most 5m, to find idle limits; 0: do not"),
		timeout: l.Duration("timeout", 15*time.Second, "how long a step may take, beyond the time that it must take"),
		json:    l.Bool("json", "print one JSON object at the end"),
	}
	l.Check = f.check
	return f
}

func (f doctorFlags) check(fault func(name, message string)) {
	if *f.url == "" {
		fault("--url", "is required: the base URL of the gateway, such as https://chat.example.com")
	}
	if *f.idle > longestIdle {
		fault("--idle", "must not be more than 5m")
	}
	if *f.timeout <= 0 {
		fault("--timeout", "must be more than 0")
	}
}

func newDoctor(f doctorFlags) (*doctor, error) {
	base, err := url.Parse(*f.url)
	if err != nil {
		return nil, err
	}
	return &doctor{base: base, header: f.header, idle: *f.idle, timeout: *f.timeout, client: newDoctorClient()}, nil
}

// newDoctorClient returns a client that hides nothing: it follows no redirect and
// undoes no compression.
func newDoctorClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableCompression = true
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (d *doctor) examine(ctx context.Context) {
	if !d.connect(ctx) {
		return
	}
	d.readiness(ctx)
	streams := d.stream(ctx)
	d.posts(ctx)
	if !streams {
		return
	}
	d.longURL(ctx)
	if d.idle > 0 {
		d.silence(ctx)
	}
}

// send sends a request. The reply must be closed.
func (d *doctor) send(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.base.String()+path, content)
	if err != nil {
		return nil, err
	}
	for name, values := range d.header {
		req.Header[name] = values
	}
	if host := d.header.Get("Host"); host != "" {
		req.Host = host
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := d.client.Do(req)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL, which may be 60,000 bytes long
	}
	return resp, err
}

// ask sends a request and reads a small reply.
func (d *doctor) ask(ctx context.Context, method, path, body string, header ...string) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	resp, err := d.send(ctx, method, path, body, header...)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp, content, err
}

// conclude writes the report's end and returns the exit code.
func (d *doctor) conclude(w io.Writer, asJSON bool) int {
	problems := 0
	for _, f := range d.findings {
		if f.Verdict == problem {
			problems++
		}
	}
	if asJSON {
		report, err := json.Marshal(struct {
			URL      string    `json:"url"`
			Healthy  bool      `json:"healthy"`
			Findings []finding `json:"findings"`
		}{d.base.String(), problems == 0, d.findings})
		if err == nil { // plain texts: it cannot fail
			fmt.Fprintf(w, "%s\n", printableJSON(report))
		}
	} else {
		fmt.Fprintf(w, "\n%s\n", summary(problems))
	}
	if problems > 0 {
		return exitFailed
	}
	return exitOK
}

func summary(problems int) string {
	switch problems {
	case 0:
		return "No problems found."
	case 1:
		return "1 problem found."
	}
	return fmt.Sprintf("%d problems found.", problems)
}
