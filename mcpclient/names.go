package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxName is how many bytes the name of a tool may have: no provider takes more.
const maxName = 64

// safeName makes a name that can stand in events, logs, prompts and every protocol: a letter or an
// underscore, then [A-Za-z0-9_.:-], at most maxName bytes. A longer name keeps its beginning and
// gets a hash, so that two of them stay apart. A provider with a stricter rule renames it on its
// wire.
func safeName(name string) string {
	s := strings.Map(func(r rune) rune {
		if r < 0x80 && (isLetter(byte(r)) || strings.ContainsRune("0123456789.:-", r)) {
			return r
		}
		return '_'
	}, name)
	if s == "" || !isLetter(s[0]) {
		s = "_" + s
	}
	if len(s) <= maxName {
		return s
	}
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:4])
	return s[:maxName-len(tail)] + tail
}

// isLetter reports whether c can begin a name.
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// named is an offer and where it comes from.
type named struct {
	offer  *offer
	server string
}

// assignNames gives each offer a name of its own, in the order of the offers. A name that only one
// server has stays as it is. If several servers have it, it becomes <server>_<name> for each of
// them, so that none hides another. A name that is still taken then gets a number, such as a second
// name of one server that became equal.
func assignNames(offers []named) []string {
	servers := map[string]map[string]bool{} // of each safe name
	for _, n := range offers {
		name := n.offer.spec.Name
		if servers[name] == nil {
			servers[name] = map[string]bool{}
		}
		servers[name][n.server] = true
	}
	used := map[string]bool{}
	names := make([]string, len(offers))
	assign := func(shared bool) {
		for i, n := range offers {
			name := n.offer.spec.Name
			if (len(servers[name]) > 1) != shared {
				continue
			}
			if shared {
				name = safeName(n.server + "_" + n.offer.name)
			}
			names[i] = uniqueName(name, used)
			used[names[i]] = true
		}
	}
	assign(false) // a name of one server is kept, whatever the others become
	assign(true)
	return names
}

// uniqueName returns name, or name with the first number that is not taken.
func uniqueName(name string, used map[string]bool) string {
	candidate := name
	for n := 2; used[candidate]; n++ {
		tail := "_" + strconv.Itoa(n)
		candidate = name[:min(len(name), maxName-len(tail))] + tail
	}
	return candidate
}
