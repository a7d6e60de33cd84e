// Package channel words an answer for where it is read: an SMS, WhatsApp, a card of
// Microsoft Teams, an e-mail, or a terminal. The source is Markdown, as models write it.
// It is parsed once, made into a tree of our own, and walked once; each channel says what
// becomes of what the walk meets.
//
// Nothing is lost on the way: what a channel cannot show as markup it gets as text. The
// package knows no clock, no network and no model: the same input gives the same bytes.
// docs/channel-rules.md has the rules with their sources.
//
// A text goes through these steps: bytes that no channel may have are taken out
// (clean.go); the Markdown becomes a tree (tree.go); a form walks it (text.go,
// html.go, card.go) and says what it had to degrade; the text is cut into parts
// (split.go), at paragraphs, else sentences, else words, and never within a
// grapheme, a number, a link or a pair of marks.
//
// Each channel has its own measure: characters as the service counts them,
// segments of an SMS, or bytes of a card. Work grows with the text, also for
// tables and nesting that are made to be expensive.
package channel
