package config

import (
	"fmt"
	"io"
	"strings"
)

const redacted = "[REDACTED]"

// Secret is a value that no log, error or dump may show. Only Reveal, or a
// conversion to string, reveals it.
//
// fmt cannot call methods of a value behind an unexported field: do not print a struct that keeps a
// Secret in such a field. Nor does it call them for %p, nor does encoding/json for the key of a
// map.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// Credentials returns the text behind the scheme of a header such as "Bearer <token>", or else the
// whole value.
func (s Secret) Credentials() string {
	if _, rest, ok := strings.Cut(string(s), " "); ok {
		return strings.TrimSpace(rest)
	}
	return string(s)
}

// String returns "[REDACTED]".
func (Secret) String() string { return redacted }

// GoString returns "[REDACTED]".
func (Secret) GoString() string { return redacted }

// MarshalText returns "[REDACTED]"; JSON uses it too.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Format writes "[REDACTED]" whatever the verb is. Without it a wrong verb, as
// in %d, would print the value: fmt then calls no String method.
func (Secret) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }
