package geminisim

import (
	"slices"
	"strings"
	"time"
)

// weekday reads Friday or Fri. sure is false for abbreviations that are words of
// their own (sat, sun, wed).
func weekday(w string) (day time.Weekday, sure, ok bool) {
	for day = time.Sunday; day <= time.Saturday; day++ {
		name := strings.ToLower(day.String())
		if w == name {
			return day, true, true
		}
		if w == name[:3] || w == "tues" && day == time.Tuesday || w == "weds" && day == time.Wednesday ||
			(w == "thur" || w == "thurs") && day == time.Thursday {
			return day, w != "sat" && w != "sun" && w != "wed", true
		}
	}
	return 0, false, false
}

// weekdayDay: Friday, this Friday, next Friday. "Next" is the day in the next
// week (weeks start on Monday), so on a Saturday next Monday is two days away.
func weekdayDay(s *sentence, i int, now time.Time) (time.Time, int) {
	k := i + s.match(i, "the")
	which := s.at(k)
	if slices.Contains([]string{"this", "next", "coming", "following", "upcoming"}, which) {
		k++
	} else {
		which = ""
	}
	day, sure, ok := weekday(s.at(k))
	if !ok || !sure && which == "" && !leads[s.at(i-1)] && !leads[s.at(k+1)] {
		return time.Time{}, 0
	}
	if which == "" && adjective(s, k) {
		return time.Time{}, 0
	}
	today := midnight(now)
	ahead := (int(day) - int(now.Weekday()) + 7) % 7
	switch {
	case which == "next":
		return monday(today).AddDate(0, 0, 7+(int(day)+6)%7), k + 1 - i
	case ahead == 0 && which != "this":
		ahead = 7
	}
	return today.AddDate(0, 0, ahead), k + 1 - i
}

// adjective says whether the weekday at k only describes a thing, as in "the
// Sunday paper" or "every Monday": then it is no date.
func adjective(s *sentence, k int) bool {
	switch s.at(k - 1) {
	case "every", "each", "last", "a":
		return true
	case "the", "my", "our", "your", "his", "her", "their":
		return isWord(s.at(k+1)) && !followers[s.at(k+1)]
	}
	return false
}

// monday returns the Monday of t's week.
func monday(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }
