// Package browser holds tests and nothing else: they start the gateway as a process
// and use it with clients that others wrote. Chromium opens the page and, like the
// EventSource of two npm packages, reads streams that a proxy cuts in every place; pages
// of foreign origins have it load turns in every way there is, and none may run;
// the example clients run as their readers would run them.
//
// The tests run wherever Chromium, Node and the npm packages are installed, which
// scripts/browser-install.sh does; elsewhere they are skipped. With SLUICE_REQUIRE_PEERS=1 it is a
// failure if one of them is missing. With -short all of them are skipped. Pictures of the page are
// in .artifacts/screenshots.
package browser
