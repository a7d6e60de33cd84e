// This file is the table of phrases about todos. The first phrase that matches and can be read
// wins, so a narrow pattern stands before a pattern that takes any words.

package offline

import (
	"strings"
	"time"

	"sluice/internal/sim/geminisim"
	"sluice/internal/sim/offline/english"
)

// phrase is a way to say something. read returns nil where the words fit and the sense does not. It
// gets the whole sentence too, for details that may stand anywhere in it.
type phrase struct {
	pattern string
	read    func(s *english.Sentence, f english.Found, now time.Time) intent
}

// readIntent finds out the wish of a visitor. The rules are tried in order; what none of them knows
// gets an honest answer.
//
// It never returns nil.
func readIntent(text string, now time.Time) intent {
	s := english.Read(toolNames.Replace(text))
	if in := readPhrase(s, smallTalk(), now); in != nil {
		return in
	}
	s = withoutPoliteness(s)
	for _, table := range [][]phrase{smallTalk(), guessPhrases(), listPhrases(), changePhrases()} {
		if in := readPhrase(s, table, now); in != nil {
			return in
		}
	}
	if in := readImperative(s, now); in != nil {
		return in
	}
	return fixedReply(unknown)
}

// toolNames makes words of the names of tools.
var toolNames = strings.NewReplacer("list_todos", "list todos", "create_todo", "create todo", "update_todo", "update todo", "delete_todo", "delete todo")

// readPhrase returns the intent of the first phrase that matches and that can be read, or nil.
func readPhrase(s *english.Sentence, phrases []phrase, now time.Time) intent {
	for _, p := range phrases {
		if f, ok := s.Match(p.pattern); ok {
			if in := p.read(s, f, now); in != nil {
				return in
			}
		}
	}
	return nil
}

// withoutPoliteness cuts the polite words around a request: "hey, could you please …, thanks!"
func withoutPoliteness(s *english.Sentence) *english.Sentence {
	wrappings := []string{
		"^ hey|hi|hello|ok|okay|please|so|also|well|yes|great|good_morning|sluice|gemini",
		"^ can|could|would|will you",
		"^ i'd_like|i_would_like|i_want|i_need you to",
		"^ i'd_like|i_would_like|i_want to know|see",
		"please|thanks|thank_you|thx $",
	}
	for i := 0; i < len(wrappings); i++ {
		if shorter, _, ok := s.Cut(wrappings[i]); ok && len(shorter.Words) > 0 {
			s, i = shorter, -1
		}
	}
	return s
}

// fixedAnswer is for phrases that always get the same text.
func fixedAnswer(text string) func(*english.Sentence, english.Found, time.Time) intent {
	return func(*english.Sentence, english.Found, time.Time) intent { return fixedReply(text) }
}

// smallTalk has the phrases that do not concern the list.
func smallTalk() []phrase {
	date := func(_ *english.Sentence, _ english.Found, now time.Time) intent {
		return fixedReply("It's " + now.Format("Monday, 2 January 2006, 15:04") + " (" + now.Location().String() + ").")
	}
	return []phrase{
		{"", fixedAnswer(help)},
		{"help|examples [me]", fixedAnswer(help)},
		{"what can|do you|i do|say|ask|try <rest?>", fixedAnswer(help)},
		{"hey|hi|hello|good_morning|good_afternoon|good_evening [there|sluice|gemini|you]", fixedAnswer(hello)},
		{"thanks|thank_you|thx|great|perfect|ok|okay [so_much|a_lot|very_much] [thanks|thank_you]", fixedAnswer(thanks)},
		{"how|who|what are you [doing] [today]", fixedAnswer(self)},
		{"are you [a|an|the] real|gemini|human|ai|bot|robot|model|offline <rest?>", fixedAnswer(self)},
		{"how do|can|to [i] use|get|set_up|connect [the] [real] gemini|model|api_key", fixedAnswer(self)},
		{"what|what's|what_is|which [is] [the] day|date|time|today|today's_date [is] [it] [today|now|right_now]", date},
		{"[do_you_remember|tell_me|repeat] what did|have i [just] <asked=ask|asked|say|said|want|wanted|request|requested|write|written> <rest?>", readRecall},
		{"[do_you_remember|tell_me|repeat] what i|i've [have] [just] <asked=asked|said|wanted|requested|written> <rest?>", readRecall},
		{"what|what's|what_is|which was|is|were [it] my last|previous|earlier|first <asked=question|request|message|words|wish> <rest?>", readRecall},
		{"never_mind|nevermind|forget_it|cancel|stop|nothing|no [thanks|thank_you]", fixedAnswer("All right, nothing was changed.")},
	}
}

// listPhrases ask for the list or a part of it: a question with one of its nouns, its name, or
// "show" with words to search for.
func listPhrases() []phrase {
	const (
		questions = "what|what's|whats|which|anything|are_there|is_there|do_i|did_i|have_i|how_many|give_me|tell_me"
		nouns     = " todo|todos|to-dos|task|tasks|list|due|overdue|plate|pending|completed|finished|tagged|have_i|i_have|do_i|did_i|i_do|next "
	)
	return []phrase{
		{"<todos> as|in [a|the] table", readTable},
		{questions + " <what?>" + nouns + "<more?>", readListing},
		{"[the|my|all] [open|pending|completed|overdue] todo_list|list|todos|to-dos|tasks|agenda", readListing},
		{"show|list|display|find|search|when_is|when_are [me] [for] [the|my] <todos?>", readListing},
	}
}

// changePhrases are those that create or change todos. Phrases with details come before those that
// take any words.
func changePhrases() []phrase {
	const (
		list = "the|my|our [todo|to-do|shopping|grocery] list|todos|to-dos|tasks|agenda "
		one  = " todo|task|reminder|to-do [to|about|called|that_says|for] <todo?>"
		how  = " <how=" + levels + "> [priority]"
	)
	return []phrase{
		{"add|create [these|the_following|some|two|three] <many=todos|tasks|reminders> <items>", readCreate},
		{"put|add|write <items> to|on|onto " + list + "<common?>", readCreate},
		{"remind me|us [to|about|of] <todo?>", readCreate},
		{"don't|dont|do_not [let_me] forget [to|about] <todo>", readCreate},
		{"make_sure|remember|note|make_a_note [to_self] [that] [i|we|to|of|about] <todo>", readCreate},
		{"add|create|make|set|schedule|i_need|new|another [me] [a|an|another|one|the] [new]" + how + one, readCreate},
		{"add|create|make|set|schedule|i_need|new|another [me] [a|an|another|one|the] [new]" + one, readCreate},
		{"i|we [really|still|also] need_to|have_to|must|should|want_to|need|gotta <todo>", readCreate},
		{"delete|remove|clear|mark|complete|move all|everything|every <rest?>", fixedAnswer(oneByOne)},
		{"set|change|raise|lower [the] priority of|for|on <todo> to|as" + how, readChange(prioritise)},
		{"make|set|mark|flag|change <todo> [as|to] [very|really|more]" + how, readChange(prioritise)},
		{"<todo> is|are [very|really]" + how, readChange(prioritise)},
		{"mark|set|check|tick <todo> [off] [as|to] done|complete|completed|finished", readChange(complete)},
		{"complete|check_off|tick_off|close <todo>", readChange(complete)},
		{"[i|i've|we|we've|i_have|i'm|i_am] [just|already|finally] finished|completed|done|did [with] <todo>", readChange(complete)},
		{"i|i've|we|we've|i_have [just|already|finally] <did>", readChange(complete)},
		{"<todo> is|are [now|already] done|finished|completed", readChange(complete)},
		{"delete|remove|erase|get_rid_of <todo?>", readChange(remove)},
		{"move|reschedule|postpone|push|delay|snooze|change|set [the] [due_date|date|deadline] [of|for] <todo> to|until|till <date>", readChange(reschedule)},
		{"move|reschedule|postpone|delay|snooze <todo>", fixedAnswer("When should it be due? Say for example “move the dentist to Friday at 10”.")},
		{"<todo> is|are [now] due <date>", readChange(reschedule)},
		{"rename|change|edit [the] [title|name|text] [of] <todo> to|into <title>", readChange(rename)},
		{"add|create|schedule|track <todo>", readCreate},
	}
}

// thought words a thought as Gemini does: a title in bold, and a paragraph.
func thought(title, text string) string { return "**" + title + "**\n\n" + text + "\n\n\n" }

// oneCall is a call with the thought that leads to it.
func oneCall(title, why string, p plan) geminisim.Answer {
	return geminisim.Answer{Thoughts: []string{thought(title, why)}, Calls: []geminisim.Call{p.call()}}
}
