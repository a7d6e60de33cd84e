package gemini

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"sluice/internal/turn/chat"
)

// maxName is how many bytes the name of a function may have.
const maxName = 64

// fitName returns the API's name of the tool own: a letter or an underscore, then [A-Za-z0-9_.:-],
// at most 64 bytes. The API refuses a whole request for one other name. A name that fits stays as
// it is; those of MCP servers do. Other names get a hash, so that two of them stay apart.
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

// fitsName reports whether the API takes s as a function's name
// (FunctionDeclaration in google.ai.generativelanguage.v1beta).
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

// startsName reports whether a name may begin with c.
func startsName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// inName reports whether c may stand within a name.
func inName(c byte) bool {
	return startsName(c) || c >= '0' && c <= '9' || c == '.' || c == ':' || c == '-'
}

// ourName returns the name that we gave the tool that the API calls fitted: one of a
// set that was rendered lately, or else fitted itself.
func (c *toolCache) ourName(fitted string) string {
	for r := range c.recentSets() {
		if own, renamed := r.renamed[fitted]; renamed {
			return own
		}
	}
	return fitted
}

// hasRenamed reports whether a tool of late has another name for the API.
func (c *toolCache) hasRenamed() bool {
	for r := range c.recentSets() {
		if r.renamed != nil {
			return true
		}
	}
	return false
}

// fitMessages returns messages with the API's names of our tools, in calls and results. A name that
// the model made up stays as the model wrote it. messages itself is not changed, and returned where
// no tool of late has another name.
func (c *toolCache) fitMessages(messages []chat.Message) []chat.Message {
	if !c.hasRenamed() {
		return messages
	}
	fitted := slices.Clone(messages)
	for i := range fitted {
		fitted[i].Parts = slices.Clone(fitted[i].Parts)
		for j := range fitted[i].Parts {
			c.fitPart(&fitted[i].Parts[j])
		}
	}
	return fitted
}

// fitPart fits the name in p. It copies the call or result before it changes the name.
func (c *toolCache) fitPart(p *chat.Part) {
	if p.Call != nil && c.ourName(fitName(p.Call.Name)) == p.Call.Name {
		call := *p.Call
		call.Name = fitName(call.Name)
		p.Call = &call
	}
	if p.Result != nil && c.ourName(fitName(p.Result.Name)) == p.Result.Name {
		result := *p.Result
		result.Name = fitName(result.Name)
		p.Result = &result
	}
}
