package peers

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// diagnosis is what is read of the JSON of sluice doctor.
type diagnosis struct {
	Healthy  bool
	Findings []struct{ Check, Verdict, Seen string }
}

// of returns what was seen, by check; the last one of a check counts.
func (d diagnosis) of(verdict string) map[string]string {
	seen := map[string]string{}
	for _, f := range d.Findings {
		if f.Verdict == verdict {
			seen[f.Check] = f.Seen
		}
	}
	return seen
}

func doctor(t *testing.T, base string) (d diagnosis) {
	t.Helper()
	path, err := shared.binary()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "doctor", "--url", base, "--json").Output()
	if _, refused := err.(*exec.ExitError); err != nil && !refused {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return d
}

// With the settings that are shipped nothing is in the way of a stream.
func TestDoctorFindsShippedSettingsHealthy(t *testing.T) {
	behindEach(t, func(t *testing.T, b balancer) {
		f := startFleet(t, b)
		d := doctor(t, f.base)
		if seen := d.of("ok"); !d.Healthy || !strings.HasPrefix(seen["stream"], "live: ") || !strings.HasPrefix(seen["long URL"], "60,000 bytes") ||
			seen["headers"] == "" || seen["post"] == "" || seen["large body"] == "" {
			t.Errorf("not healthy: %+v", d.Findings)
		}
	})
}

// Each setting that is left out, or is wrong, is found out.
func TestDoctorFindsBadSettings(t *testing.T) {
	t.Parallel()
	nginx, haproxy := balancers()[0], balancers()[1]
	for _, tt := range []struct {
		name           string
		balancer       balancer
		edits          []string
		verdict, check string
		seen           string
	}{
		// With HTTP/1.1 nginx hands on each chunk even so.
		{"buffering", nginx, []string{"proxy_buffering off;", "proxy_ignore_headers X-Accel-Buffering;", "proxy_http_version 1.1;", ""}, "problem", "stream", "buffered: 10 ticks"},
		{"compression", nginx, []string{"gzip off;", "gzip on; gzip_types text/event-stream;"}, "note", "headers", "Content-Encoding: gzip"},
		{"buffered compression", nginx, []string{"gzip off;", "gzip on; gzip_min_length 0; gzip_types text/event-stream;", "proxy_buffering off;", "proxy_ignore_headers X-Accel-Buffering;"}, "problem", "stream", "buffered: 10 ticks"},
		{"HTTP/1.0", nginx, []string{"proxy_http_version 1.1;", ""}, "problem", "protocol", "the gateway was asked in HTTP/1.0"},
		{"another host", nginx, []string{"proxy_set_header Host $http_host;", ""}, "problem", "post", "the gateway refuses pages of "},
		{"small headers", nginx, []string{"large_client_header_buffers 4 96k;", ""}, "note", "long URL", "7,500 bytes of query come through, 15,000 do not (414"},
		{"small bodies", nginx, []string{"client_max_body_size 1m;", "client_max_body_size 1k;"}, "problem", "large body", "a body of 100 KiB is answered with 413"},
		// HAProxy answers 400, and may close before the client has sent it all and sees that.
		{"small buffers", haproxy, []string{"    tune.bufsize 98304\n", ""}, "note", "long URL", "15,000 bytes of query come through, 30,000 do not ("},
		// HAProxy minds no-transform.
		{"compression", haproxy, []string{"default_backend sluice", "default_backend sluice\n    filter compression\n    compression algo gzip\n    compression type text/event-stream"}, "ok", "headers", "as they were sent"},
		{"no gateway", haproxy, []string{"server a 127", "#", "server b 127", "#", "server c 127", "#"}, "problem", "healthz", "503 Service Unavailable with text/html"},
		{"short timeout", haproxy, []string{"timeout server 60s", "timeout server 100"}, "problem", "stream", "cut after 1 tick"},
	} {
		t.Run(tt.balancer.name+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			tt.balancer.program(t)
			g := startGateway(t, nil)
			addr := strings.TrimPrefix(g.base, "http://")
			d := doctor(t, tt.balancer.start(t, []string{addr, addr, addr}, tt.edits...))
			if seen := d.of(tt.verdict)[tt.check]; !strings.HasPrefix(seen, tt.seen) {
				t.Errorf("%s %s: %q, want %q; all:\n%+v", tt.check, tt.verdict, seen, tt.seen, d.Findings)
			}
		})
	}
}
