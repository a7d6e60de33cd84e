package web_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"sluice/web"
)

// The page asks nobody else for anything, and a policy without 'unsafe-inline'
// lets it work.
func TestPageNeedsOnlyItsOwnFiles(t *testing.T) {
	t.Parallel()
	page := file(t, "index.html")
	own := regexp.MustCompile(`<(?:link|script|img)[^>]*\s(?:href|src)="([^"]*)"`)
	found := own.FindAllStringSubmatch(page, -1)
	if len(found) < 3 {
		t.Fatalf("only %d files are loaded: %v", len(found), found)
	}
	for _, m := range found {
		if _, err := fs.Stat(web.Files(), m[1]); err != nil {
			t.Errorf("the page loads %q: %v", m[1], err)
		}
	}
	for _, name := range []string{"index.html", "app.js", "style.css"} {
		if m := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9]|@import|url\(`).FindString(file(t, name)); m != "" {
			t.Errorf("%s refers to another place: %q", name, m)
		}
	}
	icon := strings.Replace(file(t, "icon.svg"), `xmlns="http://www.w3.org/2000/svg"`, "", 1)
	if strings.Contains(icon, "//") {
		t.Error("icon.svg refers to another place")
	}
	if m := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(>|\s[^>]*>[^<])|javascript:|<base`).FindString(page); m != "" {
		t.Errorf("index.html has inline code: %q", m)
	}
}

// What a server, a model or a tool says must not become markup.
func TestScriptSetsTextOnly(t *testing.T) {
	t.Parallel()
	unsafe := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval\(|new Function|setAttribute|\.style\b`)
	if m := unsafe.FindString(file(t, "app.js")); m != "" {
		t.Errorf("app.js uses %s", m)
	}
}

// The script finds its elements, and knows every event.
func TestScriptFitsThePageAndTheStream(t *testing.T) {
	t.Parallel()
	page, script := file(t, "index.html"), file(t, "app.js")
	for _, m := range regexp.MustCompile(`getElementById\('([^']+)'\)`).FindAllStringSubmatch(script, -1) {
		if !strings.Contains(page, `id="`+m[1]+`"`) {
			t.Errorf("app.js wants an element %q that is not there", m[1])
		}
	}
	for _, name := range sortedKeys(at(openAPI(t), "components", "responses", "Stream", "content", "text/event-stream", "x-events")) {
		if !strings.Contains(script, "\n    "+name+"(data)") {
			t.Errorf("app.js has no part for the event %s", name)
		}
	}
	if !strings.Contains(script, "'Idempotency-Key': newKey()") {
		t.Error("app.js sends no Idempotency-Key")
	}
}

func TestFilesAreAllThere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index.html", "app.js", "style.css", "icon.svg", "openapi.yaml"} {
		if file(t, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
}
