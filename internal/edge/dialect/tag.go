package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// Tag returns the ETag of a body.
func Tag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// IsFresh says whether a client has the body of a tag already, by its If-None-Match. A proxy that packs
// replies itself makes tags weak.
func IsFresh(r *http.Request, tag string) bool {
	for _, line := range r.Header.Values("If-None-Match") {
		for text := range strings.SplitSeq(line, ",") {
			if text = strings.TrimPrefix(strings.TrimSpace(text), "W/"); text == tag || text == "*" {
				return true
			}
		}
	}
	return false
}
