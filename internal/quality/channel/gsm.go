// This file has the alphabet of an SMS. A text in this alphabet costs seven bits a character
// instead of sixteen. So signs with a plain form (quotes, dashes, arrows, fractions) are written in
// that. Letters are never replaced: "señor" and "senor" are two words.

package channel

import "strings"

// The default alphabet of 3GPP TS 23.038 (V18.0.0, 2024-03), section 6.2.1, and its
// extension table, 6.2.1.1. A character of the latter is sent as an escape and another.
const (
	gsmDefault = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtension = "\f^{}\\[~]|€"
)

// euro is the only character of the alphabet that is far from the others.
const euro = '€'

// septets is the cost of characters in GSM-7; 0: they are not in it.
var septets = func() (of ['Ω' + 1]uint8) {
	for _, r := range gsmDefault {
		of[r] = 1
	}
	for _, r := range strings.TrimRight(gsmExtension, string(euro)) {
		of[r] = 2
	}
	return of
}()

// septetsOf is the cost of r in GSM-7, or 0.
func septetsOf(r rune) int {
	switch {
	case int(r) < len(septets):
		return int(septets[r])
	case r == euro:
		return 2
	}
	return 0
}

// plainSigns has the GSM-7 text for signs outside GSM-7.
var plainSigns = func() map[rune]string {
	of := map[rune]string{}
	for form, signs := range map[string]string{
		"'": "‘’‚‛′‹›", `"`: "“”„‟″«»", "-": "‐‑‒–—―−⁃" + "•◦▪‣·●○■", "...": "…", "x": "×",
		" ":  "\t\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
		"":   "\u200b\u2060\ufeff\u00ad\u200e\u200f\u2066\u2067\u2068\u2069\u202a\u202b\u202c",
		"->": "→⇒➔➜", "<-": "←⇐", "<->": "↔⇔",
		"1/2": "½", "1/3": "⅓", "2/3": "⅔", "1/4": "¼", "3/4": "¾", "1/8": "⅛", "3/8": "⅜", "5/8": "⅝", "7/8": "⅞",
	} {
		for _, r := range signs {
			of[r] = form
		}
	}
	return of
}()
