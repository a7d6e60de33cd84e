// Package quality puts a check between an answer and its reader. It is a runner around
// another one, which agent, team or workflow may be:
//
//	plan ── inner runner ── style ── channel's form ── checks by code ── judge ── one refinement ── sending
//
// The text is held back until the verdict on it stands; all other events pass. What code
// can check, code checks, and the judge, a model, gets the rest. A refinement is one call
// of a model without tools: what a tool did, it does not do again.
//
// Nothing of a text that was withheld is kept. docs/quality.md has the rules.
//
// What is checked is the answer as users will see it, in the form of its
// channel. Checks by code come first, for they are exact and cost nothing; what
// they cannot judge is for a model, which is asked once for all criteria. An
// answer that fails may be refined, and the best attempt counts.
// What checking itself fails at is never the answer's fault: it is reported as not judged.
package quality
