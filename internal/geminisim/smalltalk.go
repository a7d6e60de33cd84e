package geminisim

// talk answers phrases that have nothing to do with the list.
type talk struct {
	re     *pattern
	answer say
}

var talks = []talk{
	{phrasePattern(`^[\s?!.]*$`), helpReply},
	{phrasePattern(`^(?:hey|hi|hello|hallo|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day)|hi there|hello there|hey there)(?: (?:sluice|gemini|there|you|bot|everyone))?[\s!.,?]*$`), helloReply},
	{phrasePattern(`^(?:many )?(?:thanks|thank you|thx|ty|cheers|great|perfect|awesome|cool|nice|well done|good job|ok|okay)(?:[ ,]+(?:thanks|thank you|so much|a lot|very much|again|sluice|gemini|great|you))*[\s!.]*$`), thanksReply},
	{phrasePattern(`^(?:(?:hi|hey|hello)[, ]+)?(?:how (?:are|r) (?:you|u)(?: doing| today)*|how's it going|how do you do|what's up|sup)[\s?!.]*$`), wellReply},
	{phrasePattern(`^(?:so )?(?:who|what) (?:are|r) (?:you|u)\b.*$`), selfReply},
	{phrasePattern(`^(?:are|r) (?:you|u) (?:a |an |the )?(?:real|gemini|human|ai|bot|robot|model|llm|person|offline|chatgpt)\b.*$`), selfReply},
	{phrasePattern(`^(?:what(?:'s| is) your name|what model (?:are|is) (?:you|this)|which model.*|who (?:made|built|created|wrote|programmed) you|introduce yourself|tell me about yourself|what is (?:this|sluice))[\s?!.]*$`), selfReply},
	{phrasePattern(`^(?:(?:please )?help(?: me)?|\?+|what can (?:you|i|we) (?:do|say|ask|type|try)\b.*|what do you do|how (?:does|do) (?:this|it|you) work|how do i use (?:this|it|you)|how can you help.*|what (?:commands|phrases) .*|(?:show|give) me (?:some )?examples|examples|menu|commands)[\s?!.]*$`), helpReply},
	{phrasePattern(`^(?:(?:can|could) you )?(?:tell me )?what(?:'s| is)? (?:the )?(?:current )?(?:day|date)(?: is)?(?: it| is it| today| today's date)*(?: right now| now)?[\s?!.]*$|^what(?:'s| is) (?:today's|todays|the current|the) (?:date|day)\b.*$|^(?:today's )?date[\s?]*$|^which day (?:is it|is today|do we have).*$|^what(?:'s| is) today[\s?]*$`), dateReply},
	{phrasePattern(`^(?:(?:can|could) you )?(?:tell me )?(?:what(?:'s| is)? (?:the )?(?:current )?time(?: is it| it is| now| right now)*|what time is it.*|time)[\s?!.]*$`), dateReply},
	{phrasePattern(`^(?:good ?)?(?:bye|goodbye|good night|see you(?: later| soon)?|ciao|farewell|later)[\s!.]*$`), byeReply},
	{phrasePattern(`^(?:never ?mind|forget it|cancel|stop|nothing|no|no thanks|no thank you|nope)[\s!.]*$`), neverMindReply},
	{phrasePattern(`^(?:how (?:do|can) i|how to) (?:use|get|switch to|enable|connect|configure|set up|set) (?:the )?(?:real )?(?:gemini|model|api|api key|key)\b.*$|^.*\bapi key\b[\s?]*$`), switchReply},
}

// readSmallTalk returns nil where a text is not small talk from end to end.
func readSmallTalk(text string) intent {
	for _, t := range talks {
		if t.re.MatchString(text) {
			return t.answer
		}
	}
	return nil
}
