// Package web holds the files that the gateway serves to people: the first page
// and the description of its API.
package web

import (
	"embed"
	"io/fs"
)

//go:embed index.html *.js *.license.txt style.css icon.svg openapi.yaml
var files embed.FS

// Files returns all files, in one folder: index.html, which is meant for /, what it loads from
// the same folder, and openapi.yaml. The page needs nothing from anywhere else and no inline
// script or style, so that a Content-Security-Policy of "default-src 'none'" with 'self' for
// script, style, img and connect fits it, and blob: for the frame of an e-mail.
func Files() fs.FS { return files }
