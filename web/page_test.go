package web_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/web"
)

// scripts returns the names of all scripts of the page that are ours.
func scripts(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.js", "wire/*.js", "model/*.js", "view/*.js", "dev/*.js"} {
		found, err := fs.Glob(web.Files(), pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, error %v", pattern, found, err)
		}
		names = append(names, found...)
	}
	return names
}

// all returns the text of all scripts that are ours.
func all(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, name := range scripts(t) {
		b.WriteString(file(t, name) + "\n")
	}
	return b.String()
}

// The page asks nobody else for anything, and a policy without 'unsafe-inline'
// lets it work.
func TestPageNeedsOnlyItsOwnFiles(t *testing.T) {
	t.Parallel()
	page := file(t, "index.html")
	loaded := loads(t, page)
	for _, name := range loaded {
		if slices.Contains([]string{"vendor/dagre.js", "vendor/katex.js", "vendor/highlight.js", "view/graph.js"}, name) {
			t.Errorf("the page loads %s at once, want it late", name)
		}
	}
	if !slices.Contains(loaded, "model/fold.js") || !slices.Contains(loaded, "vendor/preact.js") && strings.Contains(all(t), "preact.js") {
		t.Errorf("the page names %v, want all modules that app.js imports", loaded)
	}
	for _, name := range append(scripts(t), "index.html", "style.css", "icon.svg") {
		text := strings.NewReplacer("http://www.w3.org/2000/svg", "", "http://127.0.0.1:8080", "").Replace(file(t, name)) // a name, and what is to be copied into a terminal
		if m := regexp.MustCompile(`(?:^|[^\\])(?i:https?:)?//[A-Za-z0-9]|@import|\burl\((?:[^v]|v[^e])`).FindString(text); m != "" {
			t.Errorf("%s refers to another place: %q", name, m)
		}
	}
	if m := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(>|\s[^>]*>[^<])|javascript:|<base`).FindString(page); m != "" {
		t.Errorf("index.html has inline code: %q", m)
	}
}

// loads returns the names of all files that the page loads, which must be there.
func loads(t *testing.T, page string) (names []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`<(?:link|script|img)[^>]*\s(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if _, err := fs.Stat(web.Files(), m[1]); err != nil {
			t.Errorf("the page loads %q: %v", m[1], err)
		}
		names = append(names, m[1])
	}
	return names
}

// What a server, a model or a tool says must not become markup, code or a style. The
// vendored lexer has no document: it returns tokens, and content policy and browser
// tests hold all scripts to this.
func TestScriptSetsTextOnly(t *testing.T) {
	t.Parallel()
	unsafe := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|setHTML|srcdoc|\beval\b|new Function|` +
		`\bimport\((?:[^'.]|'[^.]|'\.[^/])|setTimeout\(['"` + "`" + `]|window\.open|location\.(?:href|assign|replace)|\.cssText|\.style\b|\.setAttributeNS`)
	if m := unsafe.FindString(all(t)); m != "" {
		t.Errorf("the scripts use %s", m)
	}
	// One function checks the names of attributes, one makes links, and one frames.
	// Links to the page's own places, and to what it has made, are made in links.js.
	for once, places := range map[string][]string{`\.setAttribute\(`: {"view/dom.js"}, `\.href =[^=]`: {"view/dom.js", "view/links.js"}, `\.src\b`: {"view/dom.js"}, `'iframe'`: {"view/dom.js"}, `\.sandbox\.value = ''`: {"view/dom.js"}} {
		for _, name := range scripts(t) {
			want := 0
			if slices.Contains(places, name) {
				want = 1
			}
			if n := len(regexp.MustCompile(once).FindAllString(file(t, name), -1)); n != want {
				t.Errorf("%s has %s %d times", name, once, n)
			}
		}
	}
}

// The scripts find their elements, and know every event.
func TestScriptFitsThePageAndTheStream(t *testing.T) {
	t.Parallel()
	page, script := file(t, "index.html"), all(t)
	for _, m := range regexp.MustCompile(`byId\('([^']+)'\)`).FindAllStringSubmatch(script, -1) {
		if !strings.Contains(page, `id="`+m[1]+`"`) {
			t.Errorf("the scripts want an element %q that is not there", m[1])
		}
	}
	for _, name := range scripts(t) {
		for _, m := range regexp.MustCompile(`(?:from |import\()'([^']+)'`).FindAllStringSubmatch(file(t, name), -1) {
			if _, err := fs.Stat(web.Files(), path.Join(path.Dir(name), m[1])); err != nil {
				t.Errorf("%s imports %s: %v", name, m[1], err)
			}
		}
	}
	for _, name := range sortedKeys(at(openAPI(t), "components", "responses", "Stream", "content", "text/event-stream", "x-events")) {
		if !strings.Contains(file(t, "wire/events.js"), "'"+name+"'") {
			t.Errorf("wire/events.js does not know the event %s", name)
		}
		if !strings.Contains(file(t, "model/fold.js"), "\n    "+name+": ") {
			t.Errorf("model/fold.js has no part for the event %s", name)
		}
	}
	for _, key := range []string{"'Idempotency-Key': key", "idempotency_key: key"} {
		if !strings.Contains(script, key) {
			t.Errorf("the scripts do not send %s", key)
		}
	}
}

// Tests in browsers, and scripts of others, find the parts of the page by these.
func TestPageHasItsHooks(t *testing.T) {
	t.Parallel()
	both := file(t, "index.html") + all(t)
	for _, id := range []string{
		"input", "send", "stop", "retry", "transport", "turn", "answer", "thoughts", "tool-card", "error", "dropped", "edit", "offline-banner", "inspector",
		"event-row", "waterfall", "tokens", "request-id", "copy-request-id", "copy-curl", "curl", "copy-events", "breaker", "tool-list", "theme", "new", "health",
		"unreachable", "example", "channel", "drafts", "channel-message", "counter", "scorecard", "criterion", "outcome", "draft", "graph", "graph-node", "graph-table", "inbox", "workflow", "user", "task", "task-trace", "credential", "trace", "trace-row", "trace-detail", "trace-table",
		"task-state", "task-who", "task-word", "task-more", "task-item", "task-title", "task-facts", "copy-link", "export", "open-talk", "earlier", "restored", "elsewhere-show", "keeps",
	} {
		if !strings.Contains(both, `data-testid="`+id+`"`) && !strings.Contains(both, `'data-testid': '`+id+`'`) {
			t.Errorf("nothing has the data-testid %s", id)
		}
	}
}

// longest is how many lines a script may have.
const longest = 250

// A script does one thing, and can be read at once.
func TestScriptsAreShort(t *testing.T) {
	t.Parallel()
	for _, name := range scripts(t) {
		if n := strings.Count(file(t, name), "\n"); n > longest {
			t.Errorf("%s has %d lines, want at most %d", name, n, longest)
		}
	}
}

// Every type of error of the contract has a sentence about what to do.
func TestErrorsHaveAdvice(t *testing.T) {
	t.Parallel()
	words := file(t, "words.js")
	types := regexp.MustCompile(`\b(?:tool_execution_failed|mcp_unavailable|model_[a-z_]+|timeout|shutting_down|internal_error|validation_error|payload_too_large|origin_refused|unauthorized|forbidden|rate_limited|auth_unavailable|duplicate_request|overloaded|request_timeout)\b`)
	found := types.FindAllString(file(t, "openapi.yaml"), -1)
	slices.Sort(found)
	for _, name := range slices.Compact(found) {
		if name != "model_ms" && !strings.Contains(words, "\n  "+name+": '") {
			t.Errorf("words.js has no advice for %s", name)
		}
	}
}

// What a visitor's browser loads is small: the scripts that load first, packed as the gateway does it.
func TestScriptsAreSmall(t *testing.T) {
	t.Parallel()
	const most = 120_000
	sum := 0
	for _, name := range loads(t, file(t, "index.html")) {
		if path.Ext(name) == ".js" {
			sum += packedSize(t, name)
		}
	}
	t.Logf("%d bytes", sum)
	if sum > most {
		t.Errorf("the scripts are %d bytes, want %d at most", sum, most)
	}
}

// packedSize returns the size of a file as the gateway sends it.
func packedSize(t *testing.T, name string) int {
	t.Helper()
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write([]byte(file(t, name)))
	_ = z.Close()
	return packed.Len()
}

func TestFilesAreAllThere(t *testing.T) {
	t.Parallel()
	for _, name := range append(scripts(t), "index.html", "style.css", "icon.svg", "openapi.yaml") {
		if file(t, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	for _, pattern := range []string{"*.mjs", "*.json", "*.md", "*.ts", "testdata", "vendor/*.json", "vendor/*.ts"} {
		if names, _ := fs.Glob(web.Files(), pattern); len(names) > 0 {
			t.Errorf("%v are served, and nobody needs them", names)
		}
	}
}
