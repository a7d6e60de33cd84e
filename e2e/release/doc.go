// Package release tries what a release consists of, as somebody who downloads it would: the
// archive is unpacked and its program run, the Debian package is installed into an empty root and
// started there as its unit says, the manifests are rendered and checked, and so are the
// workflows. scripts/release-install.sh installs what it needs; with SLUICE_REQUIRE_PEERS=1 it is
// a failure if something is missing, elsewhere a skip.
package release
