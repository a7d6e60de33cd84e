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
		if strings.HasPrefix(name, "dev/") || slices.Contains([]string{"vendor/dagre.js", "vendor/katex.js", "vendor/highlight.js", "view/graph.js"}, name) {
			t.Errorf("the page loads %s at once, want it late", name)
		}
	}
	if !slices.Contains(loaded, "model/fold.js") || !slices.Contains(loaded, "vendor/preact.js") {
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
		`\bimport\((?:[^'.]|'[^.]|'\.[^./])|setTimeout\(['"` + "`" + `]|window\.open|location\.(?:href =|assign|replace)|\.cssText|\.style\b|\.setAttributeNS`)
	if m := unsafe.FindString(all(t)); m != "" {
		t.Errorf("the scripts use %s", m)
	}
	// One module sets attributes and addresses, and checks their names.
	for once, places := range map[string][]string{`\.setAttribute\(`: {"view/dom.js"}, `\.href =[^=]`: {"view/dom.js"}, `\.src\b`: {"view/dom.js"}, `'iframe'`: {"view/dom.js"}, `\.sandbox\.value = ''`: {"view/dom.js"}} {
		for _, name := range scripts(t) {
			n := len(regexp.MustCompile(once).FindAllString(file(t, name), -1))
			if isThere := n > 0; isThere != slices.Contains(places, name) {
				t.Errorf("%s has %s %d times", name, once, n)
			}
		}
	}
}

// The scripts find their elements, and know every event.
func TestScriptFitsThePageAndTheStream(t *testing.T) {
	t.Parallel()
	script := all(t)
	for _, name := range scripts(t) {
		for _, m := range regexp.MustCompile(`(?:from |import\()'([^']+)'`).FindAllStringSubmatch(file(t, name), -1) {
			if _, err := fs.Stat(web.Files(), path.Join(path.Dir(name), m[1])); err != nil {
				t.Errorf("%s imports %s: %v", name, m[1], err)
			}
		}
	}
	for _, name := range sortedKeys(at(openAPI(t), "components", "responses", "Stream", "content", "text/event-stream", "x-events")) {
		if name == "heartbeat" { // is not an event of a turn, and the page does not ask for it
			continue
		}
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
		"input", "send", "stop", "plus", "who", "who-option", "channel", "drafts", "queued", "take-back", "interrupt", "under", "demo", "example", "empty",
		"turn", "question", "edit", "editor", "send-edit", "version", "answer", "steps", "now", "thoughts", "tool-card", "error", "dropped", "stopped", "doubt", "sure", "copy-answer", "again", "figures", "earlier", "missing",
		"approval", "approve", "reject", "modify", "run-modified", "arguments", "message", "decided", "pending-call", "outcome-done", "inbox", "waiting",
		"list", "new", "search", "talk", "more", "rename", "title-field", "ask-delete", "delete", "undo", "dot", "health", "me", "settings", "theme", "user", "credential", "credential-hint", "copy-link", "developer",
		"panel", "edge", "inspector", "event-row", "copy-events", "waterfall", "trace", "trace-row", "trace-detail", "trace-table", "tokens", "request-id", "copy-request-id", "copy-curl", "curl", "eventsource",
		"task-state", "task-who", "task-word", "task-more", "task-item", "task-title", "task-facts", "task-trace", "copy-task-link", "export", "open-talk", "breaker", "tool-list", "agent-list", "unreachable",
		"scorecard", "criterion", "outcome", "draft", "graph", "graph-node", "graph-table", "channel-message", "counter", "model-change", "taken",
	} {
		if !strings.Contains(both, `data-testid="`+id+`"`) && !strings.Contains(both, `'data-testid': '`+id+`'`) && !regexp.MustCompile(`testid: '`+id+`'|'`+id+`'`).MatchString(both) {
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

// A visitor's browser loads little, packed as the gateway does it: 90 KiB of scripts at first, 10 of
// style, and 25 for Developer.
func TestScriptsAreSmall(t *testing.T) {
	t.Parallel()
	sizes := map[string]int{}
	for _, name := range append(loads(t, file(t, "index.html")), scripts(t)...) {
		kind := strings.TrimPrefix(path.Ext(name), ".")
		if strings.HasPrefix(name, "dev/") {
			kind = "dev"
		} else if kind == "js" && !slices.Contains(loads(t, file(t, "index.html")), name) {
			continue // it loads late
		}
		if _, ok := sizes[name]; !ok {
			sizes[name] = packedSize(t, name)
			sizes["all "+kind] += sizes[name]
		}
	}
	for kind, most := range map[string]int{"all js": 90 << 10, "all css": 10 << 10, "all dev": 25 << 10} {
		t.Logf("%s: %d bytes", kind, sizes[kind])
		if n := sizes[kind]; n == 0 || n > most {
			t.Errorf("%s: %d bytes, want %d at most", kind, n, most)
		}
	}
}

// The lines of the page are bounded: scripts, style, markup and types, without libraries and tests.
func TestPageIsSmall(t *testing.T) {
	t.Parallel()
	const most = 6570
	lines := 0
	for _, name := range append(scripts(t), "index.html", "style.css", "types.d.ts") {
		lines += strings.Count(read(t, name), "\n")
	}
	for _, name := range []string{"preact", "hooks", "signals", "highlight", "katex", "dagre"} {
		lines += strings.Count(read(t, "vendor/"+name+".d.ts"), "\n")
	}
	t.Logf("%d lines", lines)
	if lines > most {
		t.Errorf("%d lines, want %d at most", lines, most)
	}
}

// A layer imports itself and the layers below it. The model has no document, and a view sends nothing.
func TestLayersAreKept(t *testing.T) {
	t.Parallel()
	below := map[string][]string{
		"wire": {"wire", "vendor"}, "model": {"model", "wire", "vendor", "words.js"}, "view": {"view", "model", "vendor", "words.js"}, "dev": {"dev", "view", "model", "wire", "vendor", "words.js"}, "words.js": {}, "theme.js": {},
	}
	never := map[string]string{"model": `\b(?:document|window|localStorage|sessionStorage|location)\b|\bfetch\(`, "view": `\bfetch\(|EventSource\(`, "words.js": `\bdocument\b`}
	for _, name := range scripts(t) {
		layer, _, _ := strings.Cut(name, "/")
		if name == "app.js" {
			continue
		}
		text := file(t, name)
		for _, m := range regexp.MustCompile(`(?m)^(?:import|export)[^\n]*? ?'(\.[^']+)'`).FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(path.Join(path.Dir(name), m[1]), "/")
			if !slices.Contains(below[layer], target) {
				t.Errorf("%s imports %s, which is not below it", name, m[1])
			}
		}
		if pattern := never[layer]; pattern != "" {
			if m := regexp.MustCompile(pattern).FindString(text); m != "" {
				t.Errorf("%s uses %s", name, m)
			}
		}
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
