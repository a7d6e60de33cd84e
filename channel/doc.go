// Package channel words an answer for where it is read: an SMS, WhatsApp, a card of
// Microsoft Teams, an e-mail, or a terminal. The source is Markdown, as models write it.
// It is parsed once, made into a tree of our own, and walked once; each channel says what
// becomes of what the walk meets.
//
// Nothing is lost on the way: what a channel cannot show as markup it gets as text. The
// package knows no clock, no network and no model: the same input gives the same bytes.
// docs/channels.md has the rules with their sources.
package channel
