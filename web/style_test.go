package web_test

import (
	"math"
	"regexp"
	"strconv"
	"testing"
)

// colours returns the tokens of style.css, each for light and dark.
func colours(t *testing.T) map[string][2]string {
	t.Helper()
	tokens := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).FindAllStringSubmatch(read(t, "style.css"), -1) {
		tokens[m[1]] = [2]string{m[2], m[3]}
	}
	return tokens
}

// luminance is that of WCAG 2.2.
func luminance(hex string) float64 {
	n, _ := strconv.ParseUint(hex[1:], 16, 32)
	part := func(shift uint, weight float64) float64 {
		c := float64(n>>shift&255) / 255
		if c <= 0.04045 {
			return weight * c / 12.92
		}
		return weight * math.Pow((c+0.055)/1.055, 2.4)
	}
	return part(16, 0.2126) + part(8, 0.7152) + part(0, 0.0722)
}

func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Each colour can be read on the grounds that it stands on, in both themes.
func TestContrast(t *testing.T) {
	t.Parallel()
	tokens := colours(t)
	for _, tt := range []struct {
		ink     string
		grounds []string
		least   float64
	}{
		{"text", []string{"ground", "side", "raised", "sunken", "well", "tint", "warn-tint", "bad-tint", "hover"}, 10},
		{"soft", []string{"ground", "side", "raised", "sunken", "well", "tint", "hover"}, 4.5},
		{"accent", []string{"ground", "side", "raised", "tint"}, 4.5},
		{"on-accent", []string{"accent"}, 6.5},
		{"on-bad", []string{"bad"}, 4.5},
		{"warn", []string{"warn-tint", "ground", "side"}, 4.5},
		{"bad", []string{"bad-tint", "ground", "side", "raised", "well"}, 4.5},
		{"good", []string{"ground", "side", "raised"}, 4.5},
		{"code-key", []string{"well"}, 4.5}, {"code-name", []string{"well"}, 4.5}, {"code-text", []string{"well"}, 4.5}, {"code-number", []string{"well"}, 4.5}, {"code-note", []string{"well"}, 4.5},
		{"edge", []string{"ground", "raised", "side"}, 3},
		{"model", []string{"side", "tint"}, 3}, {"tool", []string{"side", "tint"}, 3},
	} {
		for _, ground := range tt.grounds {
			for i, theme := range []string{"light", "dark"} {
				if got := contrast(tokens[tt.ink][i], tokens[ground][i]); got < tt.least {
					t.Errorf("%s on %s, %s: %.2f, want %.1f", tt.ink, ground, theme, got, tt.least)
				}
			}
		}
	}
}
