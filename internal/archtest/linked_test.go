package archtest

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A template calls methods by name. A program that executes one keeps every method of every type:
// a quarter of the binary, and a fifth of the memory at rest.
func TestLinkerMayLeaveMethodsOut(t *testing.T) {
	t.Parallel()
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", "grpcnotrace", "./cmd/sluice").Output()
	if err != nil {
		t.Fatal(err)
	}
	if name := "golang.org/x/net/trace"; slices.Contains(strings.Fields(string(list)), name) {
		t.Errorf("%s is linked, which executes templates", name)
	}
	stripped := regexp.MustCompile(`(?m)^.*-s -w -X.*$`)
	for _, path := range []string{"Makefile", "Dockerfile", "tools/release/main.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if line := stripped.FindString(string(text)); !strings.Contains(line, "grpcnotrace") {
			t.Errorf("%s builds %q, without the tag grpcnotrace", path, line)
		}
	}
}

// The tag nosdk leaves out the SDK of the driver sdk, and Google's libraries that only the SDK
// needs. A program as shipped has the driver.
func TestTagLeavesOutTheSDK(t *testing.T) {
	t.Parallel()
	libraries := []string{"sluice/internal/model/gemini/sdk", "github.com/google/generative-ai-go/genai", "google.golang.org/api/option"}
	for tag, want := range map[string]bool{"grpcnotrace": true, "grpcnotrace,nosdk": false} {
		list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tag, "./cmd/sluice").Output()
		if err != nil {
			t.Fatal(err)
		}
		packages := strings.Fields(string(list))
		for _, library := range libraries {
			if slices.Contains(packages, library) != want {
				t.Errorf("with the tags %s, a build that has %s: %v, want %v", tag, library, !want, want)
			}
		}
	}
}
