// Package quality puts a check between an answer and its reader. It is a runner around
// another one, which agent, team or workflow may be:
//
//	plan ── inner runner ── style ── channel's form ── checks by code ── judge ── one refinement ── sending
//
// The text is held back until the verdict on it stands; all other events pass. Code checks the
// criteria that it can. The judge, a model, gets the others. A refinement is one call of a model
// without tools, so that no tool call is repeated.
//
// The gateway keeps nothing of a withheld text. docs/quality.md has the rules.
//
// The checks see the answer as users will see it, in the form of its channel. Checks by code come
// first, because they are exact and cost nothing. A model judges the remaining criteria, in one
// call. An answer that fails may be refined, and the best attempt counts. A fault of the checks
// themselves never fails the answer: the answer is reported as not judged.
//
// The verbs: plan (ask the planner), check (by code), judge (by a model), refine (write once more),
// hold and send (the text), settle (pass the sent text to the inner runner).
package quality
