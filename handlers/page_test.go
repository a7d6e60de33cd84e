package handlers_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"sluice/handlers"
)

// Who takes gzip gets a file packed, and who has it nothing more than that.
func TestFilesArePackedAndAskedForOnce(t *testing.T) {
	t.Parallel()
	script := strings.Repeat("let x = 1;\n", 500)
	g := serve(t, handlers.Config{Page: fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "app.js": {Data: []byte(script)}}})
	seen := map[string]bool{}
	for accepted, packed := range map[string]bool{
		"": false, "identity": false, "gzip": true, "gzip;q=0": false, "br, GZIP;q=0.5": true, "br;q=1, *": true, "*;q=0": false, "*, gzip;q=0": false, "gzip; q=x": false, "deflate": false, "x-gzip": true,
	} {
		got := g.do(t, "GET", "/app.js", "", "Accept-Encoding: "+accepted)
		h := got.header
		body := got.body
		if packed {
			if len(body) > len(script)/10 || h.Get("Content-Encoding") != "gzip" {
				t.Fatalf("%q: %d bytes, headers %v", accepted, len(body), h)
			}
			body = unpacked(t, body)
		}
		if got.status != http.StatusOK || body != script || h.Get("Vary") != "Accept-Encoding" || h.Get("ETag") == "" || !packed && h.Get("Content-Encoding") != "" {
			t.Errorf("%q: status %d, %d bytes, headers %v", accepted, got.status, len(body), h)
		}
		seen[h.Get("ETag")] = true
		for _, known := range []string{h.Get("ETag"), "W/" + h.Get("ETag"), `"other", ` + h.Get("ETag"), "*"} {
			again := g.do(t, "GET", "/app.js", "", "Accept-Encoding: "+accepted, "If-None-Match: "+known)
			if again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != h.Get("ETag") || again.header.Get("Content-Security-Policy") == "" {
				t.Errorf("%q, known %s: status %d, body of %d bytes, headers %v", accepted, known, again.status, len(again.body), again.header)
			}
		}
		if again := g.do(t, "GET", "/app.js", "", "Accept-Encoding: "+accepted, `If-None-Match: "other"`); again.status != http.StatusOK {
			t.Errorf("%q: status %d for another tag", accepted, again.status)
		}
	}
	if len(seen) != 2 {
		t.Errorf("two forms have the tags %v", seen)
	}
	if got := g.do(t, "GET", "/", "", "Accept-Encoding: gzip"); got.body != "<!doctype html>" || got.header.Get("Content-Encoding") != "" {
		t.Errorf("a file that becomes no smaller: headers %v, body %q", got.header, got.body)
	}
}

func unpacked(t *testing.T, body string) string {
	t.Helper()
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
