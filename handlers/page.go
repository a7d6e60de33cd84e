package handlers

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"sluice/internal/edge/dialect"
)

// servePage routes the files of the page and of its folders, index.html as /. c is the channels that it shows, or nil.
func servePage(ro *router, page fs.FS, c Channels) {
	policy := contentPolicy(c)
	_ = fs.WalkDir(page, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		route := "/" + name
		if name == "index.html" {
			route = "/"
		}
		ro.routeRead(route, open, newFile(page, name, policy).serveFile)
		return nil
	})
}

// contentPolicy lets the page load its own files and talk to its own server, and nothing else.
// In browsers with trusted types, a text cannot become markup or code. An e-mail that it shows
// in a frame falls under it too, and has the styles of its kind.
func contentPolicy(c Channels) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'" + mailStyles(c) + "; img-src 'self' blob:; font-src 'self'; connect-src 'self'; " +
		"frame-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}

// mailStyles returns the sources that allow the style attributes of e-mails, each by its hash.
func mailStyles(c Channels) string {
	if c == nil {
		return ""
	}
	allowed := " 'unsafe-hashes'" // hashes alone hold for style elements
	for _, style := range c.InlineStyles() {
		sum := sha256.Sum256([]byte(style))
		allowed += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return allowed
}

// file is a file of the page. Its forms are made once, at the first request, so that a gateway
// without page views starts without that work.
type file struct {
	from              fs.FS
	name, contentType string
	policy            string
	forms             func() (forms, error)
}

// forms are the variants in which a file is sent, each with a tag of its own (RFC 9110, section
// 8.8.3). The plain form is rarely requested, and is read each time.
type forms struct {
	plain, packedTag string // tags
	packed           []byte // by gzip; nil: that makes it no smaller
}

// newFile returns a file of the page.
func newFile(page fs.FS, name, policy string) *file {
	f := &file{from: page, name: name, contentType: contentType(name), policy: policy}
	f.forms = sync.OnceValues(f.packForms)
	return f
}

// contentType returns the type of a file by its name. Package mime would read the machine's
// tables for it, which differ and stay in memory.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".yaml":
		return "application/yaml"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".woff2":
		return "font/woff2"
	default:
		return "application/octet-stream"
	}
}

// serveFile replies with the file. no-cache has browsers ask again each time, which costs a reply
// without a body: the page must fit the gateway that serves it.
func (f *file) serveFile(w http.ResponseWriter, r *http.Request) error {
	made, err := f.forms()
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Security-Policy", f.policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // by which originPolicy knows the page's EventSource over plain HTTP
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	body, tag := made.packed, made.packedTag
	isPacked := body != nil && acceptsGzip(r.Header.Values("Accept-Encoding"))
	if !isPacked {
		tag = made.plain
	}
	h.Set("ETag", tag)
	if dialect.IsFresh(r, tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if isPacked {
		h.Set("Content-Encoding", "gzip")
	} else if body, err = fs.ReadFile(f.from, f.name); err != nil {
		return err
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
	return nil
}

// packForms makes the forms.
func (f *file) packForms() (forms, error) {
	body, err := fs.ReadFile(f.from, f.name)
	if err != nil {
		return forms{}, err
	}
	made := forms{plain: dialect.Tag(body)}
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // a level that there is
	_, _ = z.Write(body)
	_ = z.Close() // a buffer takes all
	if packed.Len() < len(body) {
		made.packed = bytes.Clone(packed.Bytes()) // without the room that the buffer has left
		made.packedTag = dialect.Tag(made.packed)
	}
	return made, nil
}

// acceptsGzip reports whether a client accepts gzip, by its Accept-Encoding (RFC 9110, section 12.5.3).
func acceptsGzip(accepted []string) bool {
	star := false
	for part := range strings.SplitSeq(strings.Join(accepted, ","), ",") {
		coding, weight, _ := strings.Cut(part, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(weight), "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		usable := !strings.EqualFold(strings.TrimSpace(name), "q") || err == nil && q > 0
		switch coding = strings.ToLower(strings.TrimSpace(coding)); coding {
		case "gzip", "x-gzip":
			return usable
		case "*":
			star = usable
		}
	}
	return star
}
