package peers

import (
	"os/exec"
	"testing"
)

// examples/access closes a gateway in three ways; each step of the demo checks itself.

func TestExampleAccessKeys(t *testing.T) {
	t.Parallel()
	demonstrateAccess(t, "keys")
}

func TestExampleAccessOIDC(t *testing.T) {
	t.Parallel()
	installed(t, "examples/access/node_modules/oidc-provider/package.json")
	demonstrateAccess(t, "oidc")
}

func TestExampleAccessNginx(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("nginx"); err != nil {
		missing(t, "nginx")
	}
	demonstrateAccess(t, "nginx")
}

// demonstrateAccess runs one part of the demo, at ports of its own.
func demonstrateAccess(t *testing.T, part string) {
	t.Helper()
	var env []string
	for _, name := range []string{"PORT", "PROXY_PORT", "LOGIN_PORT", "ISSUER_PORT"} {
		env = append(env, name+"="+freePort(t))
	}
	demonstrate(t, "examples/access/run.sh", append(env, "PARTS="+part)...)
}
