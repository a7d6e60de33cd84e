package tool

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// Fingerprint is equal for tools of one name on one server that take the same arguments and are
// annotated alike. The description of the tool does not count: it is for people.
func (s *Spec) Fingerprint() string {
	schema := s.InputSchema.Clone()
	if schema.Canonicalize(jsontext.CanonicalizeRawInts(false)) != nil {
		schema = s.InputSchema
	}
	text, err := json.Marshal([]any{s.Server, s.Name, string(schema), s.Annotations.ReadOnly, s.Annotations.Destructive, s.Annotations.Idempotent,
		s.Annotations.OpenWorld, s.Confirm})
	if err != nil { // plain values: cannot happen
		return ""
	}
	sum := sha256.Sum256(text)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}
