// Package wholetest has the common parts of tests that need a whole gateway in their own process.
// It has gateways of a file, of a transcript, or with a shared store, and people, models, tools and
// stores around them. Production code must not import it. Helpers without a gateway lie in
// gatewaytest, for the gateway's internal tests too.
package wholetest

import (
	"os"
	"path/filepath"
)

// Root is the folder of the module, from that of the package under test.
func Root() string {
	dir := "."
	for range 8 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Join(dir, "..")
	}
	panic("the tests of a package run in its folder, below go.mod")
}
