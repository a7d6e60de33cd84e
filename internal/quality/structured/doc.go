// Package structured makes one JSON object of a turn, for a program to read (response_format and
// its like). The inner runner works as usual, with its tools, but its text is held:
//
//	inner runner ── events ──────────────── sink
//	      └─ text ─┐
//	results ───────┴─ Asker ── JSON object ─┘
//
// A model then makes the object of the conversation, the results and that text. If no tool is on
// offer, the inner runner is skipped: the agent's own prompt asks for the object at once.
//
// A turn that does not end with an answer emits its text: a question to the user, calls of the
// client's tools, a limit.
package structured
