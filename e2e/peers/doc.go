// Package peers holds tests and nothing else: they start the gateway as a process next to MCP
// servers that others wrote (Python FastMCP on PostgreSQL, servers from npm), or several of them
// behind a load balancer as deploy/ sets it up, and drive it over HTTP, as its users do. Models are
// compared with the work of others for the same protocols: libraries, a proxy, servers.
//
// The tests run wherever the peers are installed, which scripts/peers-install.sh
// does; elsewhere they are skipped. With SLUICE_REQUIRE_PEERS=1 a missing peer is a
// failure. With -short all of them are skipped.
package peers
