package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/base/config/configtest"
)

// What a package holds in secret is hidden in the log like the key, and is reported if it is
// too short for that.
func TestSecretsOfPartsAreHiddenToo(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, configtest.World{Env: map[string]string{"GEMINI_API_KEY": "key"}})
	c.Hide("LONG", "0123456789")
	c.Hide("SHORT", "1234", "")
	c.Hide("", "1234", "0123456789")
	if diff := cmp.Diff([]string{"0123456789"}, c.Secrets()); diff != "" {
		t.Errorf("Secrets() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GEMINI_API_KEY", "SHORT"}, c.ShortSecrets()); diff != "" {
		t.Errorf("ShortSecrets() (-want +got):\n%s", diff)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		if got := fmt.Sprintf(verb, c); strings.Contains(got, "0123456789") {
			t.Errorf("a secret shows in %s", got)
		}
	}
}

// A secret by itself shows in no dump of any kind, and is revealed by those that ask.
func TestSecretShowsNowhere(t *testing.T) {
	t.Parallel()
	const value = "Bearer 0123456789"
	s := Secret(value)
	document, err := json.Marshal(map[string]any{"a": s, "b": []Secret{s}})
	if want := `{"a":"[REDACTED]","b":["[REDACTED]"]}`; err != nil || string(document) != want {
		t.Errorf("JSON is %s, %v, want %s", document, err, want)
	}
	for how, got := range map[string]string{"String": s.String(), "GoString": s.GoString(), "%x": fmt.Sprintf("%x", s), "%q": fmt.Sprintf("%q", s), "%d of a list": fmt.Sprintf("%d", []Secret{s})} {
		if strings.Trim(got, "[]") != "REDACTED" {
			t.Errorf("%s shows %q", how, got)
		}
	}
	for value, want := range map[Secret]string{value: "0123456789", "alone": "alone", "Basic  a b ": "a b", "": ""} {
		if got := value.Credentials(); got != want {
			t.Errorf("credentials are %q, want %q", got, want)
		}
	}
	if s.Reveal() != value {
		t.Errorf("revealed: %q", s.Reveal())
	}
}

// An agent that is added at run time sees the variables that are for it, and no others.
func TestAgentVariable(t *testing.T) {
	t.Setenv("SLUICE_AGENT_TOKEN", "for agents")
	t.Setenv("SLUICE_AGENT_EMPTY", "")
	t.Setenv("SLUICE_AGENTS", "x")
	t.Setenv("OTHER_SLUICE_AGENT_TOKEN", "x")
	for name, want := range map[string]string{
		"SLUICE_AGENT_TOKEN": "for agents true", "SLUICE_AGENT_EMPTY": " true", "SLUICE_AGENT_NOT_SET": " false",
		"SLUICE_AGENTS": " false", "OTHER_SLUICE_AGENT_TOKEN": " false", "PATH": " false", "": " false",
	} {
		value, ok := AgentVariable(name)
		if got := fmt.Sprint(value, " ", ok); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
