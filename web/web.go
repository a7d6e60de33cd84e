// Package web holds the files that the gateway serves to people: the page and the description of
// its API. Its scripts lie in layers, each a folder: wire, model, view and dev.
package web

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

//go:embed index.html *.js style.css icon.svg openapi.yaml wire/*.js model/*.js view/*.js dev/*.js
//go:embed vendor/*.js vendor/*.css vendor/*.txt vendor/*.woff2 vendor/fonts/*.woff2
var files embed.FS

// Files returns all files: index.html for the path /, the files that it loads from its own
// folder, and openapi.yaml. The page needs neither inline scripts nor styles nor other hosts. A
// Content-Security-Policy of "default-src 'none'" fits it, with 'self' for script, style, img, font
// and connect, and blob: for the frame of an e-mail.
//
// index.html names the modules that app.js imports, so that a browser asks for all of them at once.
// Scripts come without their comments; each statement stands in the same line as in the source.
func Files() fs.FS { return page{files} }

// page reads files as a browser gets them.
type page struct{ embed.FS }

// ReadFile implements fs.ReadFileFS.
func (p page) ReadFile(name string) ([]byte, error) {
	text, err := p.FS.ReadFile(name)
	switch {
	case err != nil || strings.HasPrefix(name, "vendor/"):
		return text, err
	case name == "index.html":
		return bytes.Replace(text, []byte("<!-- modules -->\n"), p.linkModules(), 1), nil
	case path.Ext(name) == ".js":
		return withoutComments(text), nil
	}
	return text, nil
}

// imported matches the name of a module that another one needs from the start.
var imported = regexp.MustCompile(`(?m)(?:^import|\bfrom) ?['"](\.[^'"]+)['"]`)

// linkModules returns a link for each module that app.js needs from the start.
func (p page) linkModules() []byte {
	known := []string{"app.js"}
	for i := 0; i < len(known); i++ {
		script, _ := p.FS.ReadFile(known[i])
		for _, m := range imported.FindAllSubmatch(script, -1) {
			if name := path.Join(path.Dir(known[i]), string(m[1])); !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	var links bytes.Buffer
	for _, name := range known[1:] {
		links.WriteString(`<link rel="modulepreload" href="` + name + "\">\n")
	}
	return links.Bytes()
}

// typed matches a type within a line, which only the type checker reads.
var typed = regexp.MustCompile(`/\*\* @type \{[^*]*\} \*/ ?`)

// withoutComments empties the lines of a script that have only a comment, and drops types from others.
func withoutComments(script []byte) []byte {
	out := make([]byte, 0, len(script))
	within := false // a comment of several lines
	for line := range bytes.Lines(script) {
		t := bytes.TrimSpace(line)
		ends := bytes.HasSuffix(t, []byte("*/"))
		switch {
		case within, bytes.HasPrefix(t, []byte("/*")) && (ends || !bytes.Contains(t, []byte("*/"))):
			within = !ends
			out = append(out, '\n')
		case bytes.HasPrefix(t, []byte("//")):
			out = append(out, '\n')
		default:
			out = append(out, typed.ReplaceAll(line, nil)...)
		}
	}
	return out
}
