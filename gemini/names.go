package gemini

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is how many bytes the name of a function may have.
const maxName = 64

// fitName returns the name by which the API knows the tool own: a letter or an
// underscore, then [A-Za-z0-9_.:-], at most 64 bytes. The API refuses a whole request
// for one other name. A name that fits stays as it is; those of MCP
// servers do. One that does not fit gets a hash of its own, so that two of them stay apart.
func fitName(own string) string {
	if fitsName(own) {
		return own
	}
	s := strings.Map(func(r rune) rune {
		if r < 0x80 && inName(byte(r)) {
			return r
		}
		return '_'
	}, own)
	sum := sha256.Sum256([]byte(own))
	tail := "_" + hex.EncodeToString(sum[:4])
	return "_" + s[:min(len(s), maxName-1-len(tail))] + tail
}

func fitsName(s string) bool {
	if s == "" || len(s) > maxName || !startsName(s[0]) {
		return false
	}
	for i := range len(s) {
		if !inName(s[i]) {
			return false
		}
	}
	return true
}

func startsName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func inName(c byte) bool {
	return startsName(c) || c >= '0' && c <= '9' || c == '.' || c == ':' || c == '-'
}

// original returns the name that we gave the tool that the API calls fitted: one of a
// set that was rendered lately, or else fitted itself.
func (c *toolCache) original(fitted string) string {
	p := c.recent.Load()
	if p == nil {
		return fitted
	}
	for _, r := range *p {
		if own, renamed := r.renamed[fitted]; renamed {
			return own
		}
	}
	return fitted
}
