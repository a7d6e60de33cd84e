// Package channel words an answer for where it is read: an SMS, WhatsApp, a card of Microsoft
// Teams, an e-mail, or a terminal. The source is Markdown, as models write it. It is parsed once,
// made into a tree of our own, and walked once. Each channel writes the nodes of the walk in its
// own form.
//
// No text is lost: a construct that a channel cannot show becomes text. The package uses neither
// clock, network nor model: the same input gives the same bytes. docs/channel-rules.md has the
// rules with their sources.
//
// A text goes through these steps. First clean.go removes forbidden bytes. The Markdown becomes a
// tree (tree.go). A form walks it (text.go, html.go, card.go) and reports the constructs that it
// degraded. The text is cut into parts (split.go), at paragraphs, else sentences, else words, and
// never within a grapheme, a number, a link or a pair of marks.
//
// Each channel has its own measure: characters as the service counts them,
// segments of an SMS, or bytes of a card. Work grows with the text, also for
// tables and nesting that are made to be expensive.
//
// The verbs: enter and leave (a node), write and add (text), cut (a part), degrade (a construct to
// text), balance (marks of direction).
package channel
