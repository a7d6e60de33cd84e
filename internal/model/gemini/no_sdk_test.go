//go:build nosdk

package gemini

import (
	"strings"
	"testing"

	"sluice/internal/model"
)

// drivers are the ways to make a Model. Each passes the same tests.
var drivers = map[string]func(Config) (*Model, error){"rest": NewREST}

// TestDriverIsLeftOut: a configuration that asks for the driver reads the setting to change.
func TestDriverIsLeftOut(t *testing.T) {
	t.Parallel()
	_, byVariable := NewSDK(Config{})
	_, byFile := New(model.Spec{Provider: provider, Driver: DriverSDK, Endpoint: DefaultBaseURL, Model: defaultModel}, model.Options{})
	for _, err := range []error{byVariable, byFile} {
		if err == nil || !strings.Contains(err.Error(), "nosdk") || !strings.Contains(err.Error(), "GEMINI_DRIVER") {
			t.Errorf("error = %v, want the tag and the setting in it", err)
		}
	}
}
