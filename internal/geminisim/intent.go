package geminisim

import (
	"strings"
	"time"
)

// readIntent finds out what a visitor wants. The readers are tried in order, the
// ones that are sure first; what none of them knows gets an honest answer.
func readIntent(text string, now time.Time) intent {
	text = strings.TrimSpace(text)
	if in := readSmallTalk(text); in != nil {
		return in
	}
	confirmed := confirmation.MatchString(text)
	text = withoutPoliteness(text)
	for _, read := range []func(string, time.Time) intent{
		func(text string, _ time.Time) intent { return readSmallTalk(text) },
		readListing,
		func(text string, now time.Time) intent { return readBulk(text, now, confirmed) },
		readSeveralCreates,
		readCreate,
		readChange,
		readDone,
		readReport,
		readImperative,
	} {
		if in := read(text, now); in != nil {
			return in
		}
	}
	return say(unknownReply)
}

var (
	politeStart = phrasePattern(`^(?:(?:hey|hi|hello|ok|okay|alright|please|pls|so|also|now|well|then|um|actually|yes|yeah|yep|really|definitely|i'm sure|i am sure|confirmed?|great|perfect|thanks|thank you|sluice|gemini|assistant|bot|good morning|good evening|good afternoon)\b ?[,!.:]? ?)+`)
	politeAsk   = phrasePattern(`^(?:(?:can|could|would|will) (?:you|u)(?: please| kindly| maybe| possibly)?|i(?:'d| would) like you to|i want you to|i need you to|you (?:should|must|can|could)|go ahead and|be so kind (?:as to|and)|would you mind|i(?:'d like| want| would like| need) to (?:know|see)|kindly|please) `)
	politeEnd   = phrasePattern(`[,.!]? ?\b(?:please|pls|plz|thanks|thank you|thx|cheers|for me please)(?: so much| a lot| very much)?[\s.!?]*$`)

	confirmation = phrasePattern(`\b(?:yes|really|i'm sure|i am sure|confirm|confirmed|definitely)\b`)
)

// withoutPoliteness cuts what a request is wrapped in: "hey, could you please …, thanks!"
func withoutPoliteness(text string) string {
	for range 3 {
		short := politeAsk.ReplaceAllString(politeStart.ReplaceAllString(text, ""), "")
		short = strings.TrimSpace(politeEnd.ReplaceAllString(short, ""))
		if short == text || short == "" {
			break
		}
		text = short
	}
	return text
}
