package web_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/web"
)

// late has the scripts that the page loads when it needs them: those of a workflow's graph.
func late() []string { return []string{"dagre.js", "graph.js", "layout.js"} }

// scripts returns the names of all scripts of the page that are ours.
func scripts(t *testing.T) []string {
	t.Helper()
	names, err := fs.Glob(web.Files(), "*.js")
	if err != nil || len(names) < 10 {
		t.Fatalf("scripts %v, error %v", names, err)
	}
	return slices.DeleteFunc(names, isVendored)
}

// isVendored says whether a script is not ours: vendor_test.go looks after it.
func isVendored(name string) bool {
	_, ok := vendored()[strings.TrimSuffix(name, ".js")]
	return ok
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
	loads := regexp.MustCompile(`<(?:link|script|img)[^>]*\s(?:href|src)="([^"]*)"`)
	var loaded []string
	for _, m := range loads.FindAllStringSubmatch(page, -1) {
		if _, err := fs.Stat(web.Files(), m[1]); err != nil {
			t.Errorf("the page loads %q: %v", m[1], err)
		}
		loaded = append(loaded, m[1])
	}
	for _, name := range append(scripts(t), "marked.js") {
		if slices.Contains(loaded, name) == slices.Contains(late(), name) {
			t.Errorf("%s: the page names it, %t: what it does not name loads late", name, slices.Contains(loaded, name))
		}
	}
	for _, name := range append(scripts(t), "index.html", "style.css", "icon.svg") {
		text := strings.NewReplacer("http://www.w3.org/2000/svg", "", "http://127.0.0.1:8080", "").Replace(file(t, name)) // a name, and what is to be copied into a terminal
		if m := regexp.MustCompile(`(?:^|[^\\])(?i:https?:)?//[A-Za-z0-9]|@import|\burl\(`).FindString(text); m != "" {
			t.Errorf("%s refers to another place: %q", name, m)
		}
	}
	if m := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(>|\s[^>]*>[^<])|javascript:|<base`).FindString(page); m != "" {
		t.Errorf("index.html has inline code: %q", m)
	}
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
	for once, places := range map[string][]string{`\.setAttribute\(`: {"dom.js"}, `\.href =[^=]`: {"dom.js", "links.js"}, `\.src\b`: {"dom.js"}, `'iframe'`: {"dom.js"}, `\.sandbox\.value = ''`: {"dom.js"}} {
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
	for _, m := range regexp.MustCompile(`from '\./([^']+)'`).FindAllStringSubmatch(script, -1) {
		if !slices.Contains(scripts(t), m[1]) && !isVendored(m[1]) {
			t.Errorf("the scripts import %s, which is not there", m[1])
		}
	}
	for _, name := range sortedKeys(at(openAPI(t), "components", "responses", "Stream", "content", "text/event-stream", "x-events")) {
		if !strings.Contains(file(t, "events.js"), "'"+name+"'") {
			t.Errorf("events.js does not know the event %s", name)
		}
		if !strings.Contains(file(t, "fold.js"), "\n    "+name+": ") {
			t.Errorf("fold.js has no part for the event %s", name)
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

// What a visitor's browser loads is small: all scripts together, packed as the gateway does it, also
// those that come only when a workflow is shown.
func TestScriptsAreSmall(t *testing.T) {
	t.Parallel()
	const most = 120_000
	sum, first := 0, 0
	for _, name := range append(scripts(t), "marked.js", "dagre.js") {
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = z.Write([]byte(file(t, name)))
		_ = z.Close()
		sum += packed.Len()
		if !slices.Contains(late(), name) {
			first += packed.Len()
		}
	}
	t.Logf("%d bytes, %d of them at first", sum, first)
	if sum > most {
		t.Errorf("the scripts are %d bytes, want %d at most", sum, most)
	}
}

func TestFilesAreAllThere(t *testing.T) {
	t.Parallel()
	for _, name := range append(scripts(t), "index.html", "style.css", "icon.svg", "openapi.yaml") {
		if file(t, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
	for _, pattern := range []string{"*.mjs", "*.json", "*.md", "*.ts", "testdata"} {
		if names, _ := fs.Glob(web.Files(), pattern); len(names) > 0 {
			t.Errorf("%v are served, and nobody needs them", names)
		}
	}
}
