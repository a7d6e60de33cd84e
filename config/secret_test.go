package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/config/configtest"
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
