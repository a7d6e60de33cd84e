package config

import (
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/config/configtest"
)

// heldSecrets is a part with secrets, by their settings.
type heldSecrets map[string]Secret

func (h heldSecrets) Secrets() (all []Secret) {
	for _, v := range h {
		all = append(all, v)
	}
	return all
}

func (h heldSecrets) Named() iter.Seq2[string, Secret] { return maps.All(h) }

// What a package holds in secret is hidden in the log like the key, and is told if it is too short for that.
func TestSecretsOfPartsAreHiddenToo(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, configtest.World{Env: map[string]string{"GEMINI_API_KEY": "key"}})
	*Bind[heldSecrets](&c) = heldSecrets{"LONG": "0123456789", "SHORT": "1234"}
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
