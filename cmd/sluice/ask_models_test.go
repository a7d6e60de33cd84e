package main

import (
	"fmt"
	"strings"
	"testing"
)

// A person at a terminal sees which model answers, and why another one does.
func TestAskShowsAChangeOfModel(t *testing.T) {
	t.Parallel()
	_, broken := scriptedModels(t, "loop\nerror 429 retry-after=60")
	_, spare := scriptedModels(t, "loop\ntext Second.")
	file := written(t, "sluice.yaml", fmt.Sprintf(`models:
  default: {provider: openai, api: chat, model: first, endpoint: "%s/v1", fallback: [spare]}
  spare: {provider: anthropic, model: second, endpoint: "%s/v1"}
`, broken, spare))
	code, stdout, stderr := runCommand(t, nil, "ask", "--config", file, "hello")
	if code != exitOK || !strings.Contains(stdout, "model first\nmodel second (spare) in place of default: rate limited\n\nSecond.\n") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
