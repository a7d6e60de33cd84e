package geminisim

import (
	"slices"
	"strconv"
)

// clockTime is a time of day.
type clockTime struct {
	hour, min int // 24:00 is the midnight that ends the day
	// rough marks a part of the day, which a later hour makes precise: this
	// evening at 8 is 20:00.
	rough bool
}

// partOfDay gives the parts of a day the hour that people mean by them.
func partOfDay(w string) (clockTime, bool) {
	switch w {
	case "morning":
		return clockTime{hour: 9, rough: true}, true
	case "afternoon":
		return clockTime{hour: 15, rough: true}, true
	case "evening":
		return clockTime{hour: 19, rough: true}, true
	case "night", "tonight":
		return clockTime{hour: 20, rough: true}, true
	}
	return clockTime{}, false
}

// findClock finds a time of day at word i and says how many words name it.
// afterDay says that a day was named right before: Friday morning.
func findClock(s *sentence, i int, afterDay bool) (clockTime, int) {
	if c, n := namedClock(s, i, afterDay); n > 0 {
		return c, n
	}
	if c, n := pastClock(s, i); n > 0 {
		return c, n
	}
	return digitalClock(s, i)
}

// namedClock: noon, midnight, in the morning, end of day.
func namedClock(s *sentence, i int, afterDay bool) (clockTime, int) {
	for _, named := range []struct {
		hour     int
		patterns []string
	}{
		{12, []string{"noon", "midday", "lunchtime", "lunch time"}},
		{24, []string{"midnight"}},
		{17, []string{"the end of the day", "end of the day", "end of day", "eod", "cob", "close of business", "end of business"}},
	} {
		if n := s.matchAny(i, named.patterns...); n > 0 && free(s, i+n) {
			return clockTime{hour: named.hour}, n
		}
	}
	if s.at(i) == "tonight" {
		c, _ := partOfDay("tonight")
		return c, 1
	}
	lead := s.matchAny(i, "in the", "this", "at")
	if lead == 0 && !afterDay {
		return clockTime{}, 0
	}
	if c, ok := partOfDay(s.at(i + lead)); ok && s.at(i+lead) != "tonight" {
		return c, lead + 1
	}
	return clockTime{}, 0
}

// pastClock: half past 3, quarter to four.
func pastClock(s *sentence, i int) (clockTime, int) {
	i0, offset := i, 0
	switch {
	case s.match(i, "half past") > 0:
		i, offset = i+2, 30
	case s.matchAny(i, "quarter past", "quarter after") > 0:
		i, offset = i+2, 15
	case s.match(i, "a quarter past") > 0:
		i, offset = i+3, 15
	case s.match(i, "quarter to") > 0:
		i, offset = i+2, -15
	case s.match(i, "a quarter to") > 0:
		i, offset = i+3, -15
	default:
		return clockTime{}, 0
	}
	hour, ok := numberWord(s.at(i))
	if !ok || hour > 12 {
		return clockTime{}, 0
	}
	suffix := meridiem(s.at(i + 1))
	total := 60*in24(hour, suffix) + offset
	return clockTime{hour: total / 60, min: total % 60}, i + 1 - i0 + len(suffix)/2
}

// clockWord is an hour as it is written.
type clockWord struct {
	hour, min int
	suffix    string // am, pm or nothing
	minutes   bool   // 3:30, 15h30
	dotted    bool   // 3.30, which may be a price
	padded    bool   // 03:30, which is one of 24
	h         bool   // 15h
}

var digital = rawPattern(`^(\d{1,2})(?:([:.h])(\d{2}))?(am|pm|a\.m|p\.m|h)?$`)

func readClockWord(w string) (clockWord, bool) {
	if hour, ok := numberWord(w); ok && w != "a" && w != "an" && hour <= 12 {
		w = strconv.Itoa(hour) // at three, nine o'clock
	}
	m := digital.FindStringSubmatch(w)
	if m == nil {
		return clockWord{}, false
	}
	c := clockWord{suffix: meridiem(m[4]), minutes: m[3] != "", dotted: m[2] == ".", padded: m[1][0] == '0', h: m[4] == "h"}
	c.hour, _ = strconv.Atoi(m[1])
	c.min, _ = strconv.Atoi(m[3])
	return c, c.hour <= 24 && c.min <= 59
}

// digitalClock: 3pm, 3:30, 15:30, 3 p.m., 3 o'clock, and after "at" also a bare 3.
func digitalClock(s *sentence, i int) (clockTime, int) {
	at := slices.Contains([]string{"at", "@", "around", "about"}, s.at(i-1))
	c, ok := readClockWord(s.at(i))
	if !ok {
		return clockTime{}, 0
	}
	n := 1
	switch next := s.at(i + 1); {
	case c.suffix == "" && meridiem(next) != "":
		c.suffix, n = meridiem(next), 2
	case next == "o'clock" || next == "oclock":
		n, at = 2, true
	}
	if !c.saysTime(at) && !(at && free(s, i+n)) || c.suffix != "" && (c.hour > 12 || c.hour == 0) {
		return clockTime{}, 0
	}
	if !c.padded && !c.h {
		c.hour = in24(c.hour, c.suffix)
	}
	return clockTime{hour: c.hour, min: c.min}, n
}

// saysTime says whether the word is a time of day by itself, or after "at".
func (c clockWord) saysTime(at bool) bool {
	return c.suffix != "" || c.h && at || c.minutes && (at || !c.dotted)
}

func meridiem(w string) string {
	switch w {
	case "am", "a.m":
		return "am"
	case "pm", "p.m":
		return "pm"
	}
	return ""
}

// in24 turns an hour into one of 24. Without am or pm, 1 to 7 are taken for the
// afternoon: hardly anybody plans for four at night.
func in24(hour int, suffix string) int {
	switch {
	case suffix == "am" && hour == 12:
		return 0
	case suffix == "pm" && hour < 12, suffix == "" && hour >= 1 && hour <= 7:
		return hour + 12
	}
	return hour
}
