package geminisim

import (
	"slices"
	"strings"
	"time"
)

var (
	completes = []*pattern{
		phrasePattern(`^(?:mark|set|flag|check|tick) (.+?) (?:off )?(?:as |to )?(?:being )?(?:done|complete|completed|finished|checked off|solved)[\s.!]*$`),
		phrasePattern(`^(?:mark|set|flag) (?:as )?(?:done|complete|completed|finished):? (.+)$`),
		phrasePattern(`^(?:complete|check off|tick off|cross off|close|resolve|accomplish|cross out|strike off) (.+)$`),
		phrasePattern(`^(?:check|tick|cross|strike) (.+?) (?:off|out)\b.*$`),
		phrasePattern(`^(?:i|we)(?:'ve|'m| have| am| are)?(?: just| already| finally| now)* (?:finished|completed|done|did|accomplished|handled|ticked off|checked off|taken care of|took care of|through)(?: with)? (.+)$`),
		phrasePattern(`^(?:(?:just|finally|all|already) )*(?:finished|completed|done)(?: with)?[:,]? (.+)$`),
		phrasePattern(`^(.+?)(?: is| are| has been| was|:| -)? (?:now |already |finally |all )?(?:done|finished|completed)[\s.!]*$`),
	}
	finishVerb = phrasePattern(`^(?:finish|finish off) (.+)$`)
	reopens    = []*pattern{
		phrasePattern(`^(?:reopen|re-open|uncheck|untick|restore|uncomplete|undo) (.+)$`),
		phrasePattern(`^(?:mark|set|flag) (.+?) (?:back )?(?:as |to )?(?:not done|undone|pending|open|incomplete|not completed|not finished|unfinished)[\s.!]*$`),
		phrasePattern(`^(?:i )?(?:haven't|didn't|did not|have not)(?: actually| really)? (?:finished|completed|done|finish|complete|do) (.+?)(?: yet| after all)?[\s.!]*$`),
	}
	deletes = []*pattern{
		phrasePattern(`^(?:delete|remove|erase|trash|scrap|scratch|get rid of|discard|throw away|take off|kill) (.+)$`),
		phrasePattern(`^take (.+) off ` + ownList + `.*$`),
		phrasePattern(`^(?:cancel|drop|clear|forget about|forget) (.+)$`),
		phrasePattern(`^(?:i|we) (?:don't|do not|no longer|needn't) ?(?:need|have|want)?(?: to)? (.+?)(?: any ?more| any longer)?[\s.!]*$`),
	}
	todoWords = phrasePattern(`\b(?:todo|to-do|task|reminder|item|entry|my list|the list)\b`)
)

func readComplete(text string, now time.Time) (change, bool) {
	for _, re := range reopens {
		if m := re.FindStringSubmatch(text); m != nil {
			return change{kind: reopen, target: targetOf(m[1])}, true
		}
	}
	for _, re := range completes {
		if m := re.FindStringSubmatch(text); m != nil {
			return change{kind: complete, target: targetOf(m[1])}, true
		}
	}
	// "Finish the report by Friday" is a new todo, "finish the report" may be either.
	if m := finishVerb.FindStringSubmatch(text); m != nil && todoWords.MatchString(text) && readDraft(text, now).due.isZero() {
		return change{kind: complete, target: targetOf(m[1])}, true
	}
	return change{}, false
}

// readDelete: "cancel" and "drop" also begin new todos, so with a date, and no
// word for the list, they are left to others.
func readDelete(text string, now time.Time) (change, bool) {
	for i, re := range deletes {
		m := re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if i >= 2 && !todoWords.MatchString(text) && (!readDraft(text, now).due.isZero() || strings.HasPrefix(m[1], "off ")) {
			return change{}, false
		}
		return change{kind: remove, target: targetOf(m[1])}, true
	}
	return change{}, false
}

// readDone reads what readChange leaves: a text that is only a done sign.
func readDone(text string, _ time.Time) intent {
	if slices.Contains([]string{"done", "finished", "completed", "i'm done", "delete", "remove", "complete"}, strings.ToLower(cleanEnds(text))) {
		return say(whichOneReply)
	}
	return nil
}
