// Package access has tokens that others sign verified at the door: by issuers that run next
// to it and change their keys meanwhile (oidc-provider and oauth2-mock-server of npm), and by
// the libraries jose (npm), PyJWT and joserfc (PyPI).
//
// scripts/access-peers-install.sh installs them; without them the tests are skipped, or fail
// with SLUICE_REQUIRE_PEERS=1.
package access
