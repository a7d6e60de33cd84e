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
