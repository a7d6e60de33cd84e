package redact_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/base/redact"
)

// Texts are others' to make: what hides secrets in them must not take more than its
// share of time. What grows with the square takes minutes here.
func TestTimeIsInProportion(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	s := redact.New(secrets())
	for name, unit := range map[string]string{
		"secrets only":      token,
		"one that overlaps": "a",
		"nearly a secret":   token[:len(token)-1],
		"marks":             redact.Mark,
		"half marks":        "[redacted",
		"cut marks":         token[:10] + "…",
		"overlapping ones":  "abcdefghijklmn",
		"quotes":            `\"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Repeat(unit, size/len(unit))
			begin := time.Now()
			s.Text(text)
			s.JSON([]byte(plain(text)))
			s.JSON([]byte("[" + strings.Repeat(plain(unit)+",", size/16/len(unit)) + "0]"))
			if elapsed := time.Since(begin); elapsed > 30*time.Second {
				t.Errorf("%v", elapsed)
			}
		})
	}
}
