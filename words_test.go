package sluice_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// unwanted returns the words that no tracked file holds, each with what is written
// instead. They are ones that a reader of English as a second language trips over.
func unwanted() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"so that … not":                         regexp.MustCompile(`(?i)\blest\b`),
		"without success, or for nothing":       regexp.MustCompile(`(?i)\bin vain\b`),
		"again, or a word that begins with re-": regexp.MustCompile(`(?i)\banew\b`),
		"anyone who, or what it is":             regexp.MustCompile(`(?i)\bwhoever\b`),
		"unavailable":                           regexp.MustCompile(`(?i)\b(is|are|was|were|be|been) away\b`),
	}
}

// foreignText says whether a file is not ours to word, or states the rule.
func foreignText(path string) bool {
	return path == "words_test.go" || path == "go.sum" || strings.Contains(path, "/vendor/") || strings.HasSuffix(path, "package-lock.json")
}

// Names, comments, docs and texts keep to plain English; the worst words are refused.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	list, err := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skipf("needs git and its folder: %v", err)
	}
	for path := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(path)
		if err != nil || foreignText(path) || bytes.IndexByte(data, 0) >= 0 { // deleted, or no text
			continue
		}
		for instead, word := range unwanted() {
			for _, at := range word.FindAllIndex(data, -1) {
				t.Errorf("%s:%d: %q: write %s", path, 1+bytes.Count(data[:at[0]], []byte("\n")), data[at[0]:at[1]], instead)
			}
		}
	}
}
