// This file has the alphabet of an SMS. A text that it can say costs seven bits a character
// instead of sixteen, so that signs which have a plain form (quotes, dashes, arrows,
// fractions) are written in it. Letters are never replaced: "señor" and "senor" are two
// words.

package channel

// The default alphabet of 3GPP TS 23.038 (V18.0.0, 2024-03), section 6.2.1, and its
// extension table, 6.2.1.1. A character of the latter is sent as an escape and another.
const (
	gsmDefault = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	gsmExtension = "\f^{}\\[~]|€"
)

// septets is the cost of ASCII characters in GSM-7; 0: they are not in it.
//
// The table is for the loop over plain text; other characters go through the switch in
// septetsOf.
var septets = func() (of [128]uint8) {
	for _, r := range gsmDefault {
		if r < 128 {
			of[r] = 1
		}
	}
	for _, r := range gsmExtension {
		if r < 128 {
			of[r] = 2
		}
	}
	return of
}()

// septetsOf is the cost of r in GSM-7, or 0.
func septetsOf(r rune) int {
	if r < 128 {
		return int(septets[r])
	}
	switch r {
	case '£', '¥', 'è', 'é', 'ù', 'ì', 'ò', 'Ç', 'Ø', 'ø', 'Å', 'å', 'Δ', 'Φ', 'Γ', 'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ',
		'Æ', 'æ', 'ß', 'É', '¤', '¡', 'Ä', 'Ö', 'Ñ', 'Ü', '§', '¿', 'ä', 'ö', 'ñ', 'ü', 'à':
		return 1
	case '€':
		return 2
	}
	return 0
}

// transliteration returns what stands for r where GSM-7 is to do: signs only, never
// letters. ok is false if there is nothing.
func transliteration(r rune) (s string, ok bool) {
	switch r {
	case '‘', '’', '‚', '‛', '′', '‹', '›':
		return "'", true
	case '“', '”', '„', '‟', '″', '«', '»':
		return `"`, true
	case '‐', '‑', '‒', '–', '—', '―', '−', '⁃':
		return "-", true
	case '…':
		return "...", true
	case '\t', '\u00a0', '\u2000', '\u2001', '\u2002', '\u2003', '\u2004', '\u2005', '\u2006', '\u2007', '\u2008', '\u2009', '\u200a', '\u202f', '\u205f', '\u3000':
		return " ", true
	case '\u200b', '\u2060', '\ufeff', '\u00ad', '\u200e', '\u200f', '\u2066', '\u2067', '\u2068', '\u2069', '\u202a', '\u202b', '\u202c':
		return "", true
	case '•', '◦', '▪', '‣', '·', '●', '○', '■':
		return "-", true
	case '→', '⇒', '➔', '➜':
		return "->", true
	case '←', '⇐':
		return "<-", true
	case '↔', '⇔':
		return "<->", true
	case '×':
		return "x", true
	case '½':
		return "1/2", true
	case '⅓':
		return "1/3", true
	case '⅔':
		return "2/3", true
	case '¼':
		return "1/4", true
	case '¾':
		return "3/4", true
	case '⅛':
		return "1/8", true
	case '⅜':
		return "3/8", true
	case '⅝':
		return "5/8", true
	case '⅞':
		return "7/8", true
	}
	return "", false
}
