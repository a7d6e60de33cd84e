// Package web holds the files that the gateway serves to people: the first page
// and the description of its API.
package web

import (
	"bytes"
	"embed"
	"io/fs"
	"strings"
)

//go:embed index.html *.js *.license.txt style.css icon.svg openapi.yaml
var files embed.FS

// Files returns all files, in one folder: index.html for the path /, the files that it loads from
// the same folder, and openapi.yaml. The page loads nothing from other places and contains neither
// inline scripts nor inline styles. So a Content-Security-Policy of "default-src 'none'" fits it,
// with 'self' for script, style, img and connect, and blob: for the frame of an e-mail.
//
// Scripts come without their comments: these are a quarter of the bytes. Code stays in the same
// lines as in the source.
func Files() fs.FS { return page{files} }

// page reads scripts of ours without their comments.
type page struct{ embed.FS }

// ReadFile implements fs.ReadFileFS.
func (p page) ReadFile(name string) ([]byte, error) {
	text, err := p.FS.ReadFile(name)
	base, isScript := strings.CutSuffix(name, ".js")
	if err != nil || !isScript {
		return text, err
	}
	if f, err := p.FS.Open(base + ".license.txt"); err == nil { // it is of others, and stays as it is
		return text, f.Close()
	}
	return withoutComments(text), nil
}

// withoutComments empties the lines of a script that only have a comment.
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
			out = append(out, line...)
		}
	}
	return out
}
