// This file is the table of what the demo understands. The order is the rule: the first
// phrase that matches and can be read wins, so what is narrow stands before what takes any
// words.

package offline

import "time"

// phrase is a way to say something. read returns nil where the words fit and the
// sense does not.
type phrase struct {
	pattern string
	read    func(f found, now time.Time) intent
}

// readIntent finds out what a visitor wants. The rules are tried in order; what
// none of them knows gets an honest answer.
//
// It never returns nil.
func readIntent(text string, now time.Time) intent {
	s := readWords(text)
	if in := readPhrase(s, smallTalk(), now); in != nil {
		return in
	}
	_, confirmed := s.find("yes|really|sure|definitely")
	s = withoutPoliteness(s)
	for _, read := range []func(*sentence, time.Time) intent{
		func(s *sentence, now time.Time) intent { return readPhrase(s, smallTalk(), now) },
		readGuess,
		readTable,
		readListing,
		func(s *sentence, now time.Time) intent { return readPhrase(s, phrases(), now) },
		readReport,
		readImperative,
	} {
		switch in := read(s, now).(type) {
		case nil:
		case change:
			in.confirmed = confirmed
			return in
		default:
			return in
		}
	}
	return say(unknown)
}

// readPhrase returns the intent of the first phrase that matches and that can be read; nil: there is none.
func readPhrase(s *sentence, phrases []phrase, now time.Time) intent {
	for _, p := range phrases {
		if f, ok := s.match(p.pattern); ok {
			if in := p.read(f, now); in != nil {
				return in
			}
		}
	}
	return nil
}

// withoutPoliteness cuts what a request is wrapped in: "hey, could you please …, thanks!"
func withoutPoliteness(s *sentence) *sentence {
	for again := true; again; {
		again = false
		for _, pattern := range []string{
			"^ hey|hi|hello|ok|okay|please|so|also|well|yes|yeah|great|good_morning|sluice|gemini|definitely|really",
			"^ can|could|would|will you",
			"^ i'd_like|i_would_like|i_want|i_need you to",
			"^ i'd_like|i_would_like|i_want|i_need to know|see",
			"please|thanks|thank_you|thx $",
		} {
			if shorter, _, ok := s.cut(pattern); ok && len(shorter.words) > 0 {
				s, again = shorter, true
			}
		}
	}
	return s
}

// smallTalk has nothing to do with the list.
func smallTalk() []phrase {
	answer := func(text string) func(found, time.Time) intent {
		return func(found, time.Time) intent { return say(text) }
	}
	date := func(_ found, now time.Time) intent {
		return say("It's " + now.Format("Monday, 2 January 2006, 15:04") + " (" + now.Location().String() + ").")
	}
	return []phrase{
		{"", answer(help)},
		{"help|examples [me]", answer(help)},
		{"what can|do you|i do|say|ask|try <rest?>", answer(help)},
		{"hey|hi|hello|good_morning|good_afternoon|good_evening [there|sluice|gemini|you]", answer(hello)},
		{"thanks|thank_you|thx|cheers|great|perfect|ok|okay [so_much|a_lot|very_much] [thanks|thank_you]", answer(thanks)},
		{"how|who|what are you [doing] [today]", answer(self)},
		{"are you [a|an|the] real|gemini|human|ai|bot|robot|model|offline <rest?>", answer(self)},
		{"how do|can|to [i] use|get|set_up|connect [the] [real] gemini|model|api_key", answer(self)},
		{"what|what's|what_is|which [is] [the] day|date|time|today|today's_date [is] [it] [today|now|right_now]", date},
		{"bye|goodbye|good_night|see_you [later|soon]", answer(bye)},
		{"never_mind|nevermind|forget_it|cancel|stop|nothing|no [thanks|thank_you]", answer(nothing)},
	}
}

// phrases are those that create or change todos. What names its details comes
// before what takes any words.
func phrases() []phrase {
	const (
		list = "the|my|our * list|todos|to-dos|tasks|agenda "
		one  = " todo|task|reminder|to-do [on_my_list|to_my_list] [to|about|called|named|that_says|for_me_to] <todo?>"
		how  = " <how=" + levels + "> [priority]"
	)
	return []phrase{
		{"add|create [these|the_following|some|two|three|four|five] <many=todos|tasks|reminders> <items>", readCreate},
		{"put|add|write|place <items> to|on|onto|in|into " + list + "<common?>", readCreate},
		{"remind me|us [to|about|of] <todo?>", readCreate},
		{"don't|dont|do_not [let_me] forget [to|about] <todo>", readCreate},
		{"make_sure|remember|note|make_a_note|take_a_note [to_self] [that] [i|we|to|of|about] <todo>", readCreate},
		{"add|create|make|set|schedule|i_need|i_want|put [me] a|an|another|one|the [new]" + how + one, readCreate},
		{"add|create|make|set|schedule|i_need|i_want|put [me] [a|an|another|one|the] [new]" + one, readCreate},
		{"new|another" + one, readCreate},
		{"i|we [really|still|also] need_to|have_to|must|should|want_to|ought_to|need|gotta <todo>", readCreate},
		{"set|change|raise|lower [the] priority of|for|on <todo> to|as" + how, readChange(prioritise)},
		{"make|set|mark|flag|change <todo> [as|to] [a|very|really|more]" + how, readChange(prioritise)},
		{"prioritize|prioritise <todo>", readChange(prioritise)},
		{"<todo> is|are [now|very|really]" + how, readChange(prioritise)},
		{"mark|set <todo> [back] [as|to] not_done|undone|pending|open|incomplete", readChange(reopen)},
		{"reopen|uncheck|untick|restore <todo>", readChange(reopen)},
		{"mark|set|check|tick|flag <todo> [off] [as|to] done|complete|completed|finished", readChange(complete)},
		{"complete|check_off|tick_off|cross_off|close <todo>", readChange(complete)},
		{"tick|check|cross <todo> off <rest?>", readChange(complete)},
		{"[i|i've|we|we've|i_have|i'm|i_am] [just|already|finally] finished|completed|done|did [with] <todo>", readChange(complete)},
		{"<todo> is|are|has_been|: [now|already] done|finished|completed", readChange(complete)},
		{"delete|remove|erase|discard|get_rid_of <todo?>", readChange(remove)},
		{"cancel|drop|clear|forget <work>", readChange(remove)},
		{"move|reschedule|postpone|push|shift|delay|snooze|defer <todo> to|until|till <date>", readChange(reschedule)},
		{"move|reschedule|postpone|delay|snooze <todo>", func(found, time.Time) intent {
			return say("When should it be due? Say for example “move the dentist to Friday at 10”.")
		}},
		{"change|set|update|move [the] due_date|date|deadline|time of|for|on <todo> to <date>", readChange(reschedule)},
		{"make|set <todo> [to_be] due <date>", readChange(reschedule)},
		{"change|set|update <todo> to <date>", readChange(reschedule)},
		{"<todo> is|are [now] due <date>", readChange(reschedule)},
		{"rename|change|edit [the] [title|name|text] [of] <todo> to|into <title>", readChange(rename)},
		{"add|create|schedule|track <todo>", readCreate},
	}
}
