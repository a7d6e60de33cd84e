// Package release tries the parts of a release as a user would. The archive is unpacked and its
// program runs. The Debian package is installed into an empty root and started there as its unit
// says. The manifests are rendered and checked, and so are the workflows.
// scripts/release-install.sh installs the programs that it needs. With SLUICE_REQUIRE_PEERS=1 a
// missing program is a failure, otherwise a skip.
package release
