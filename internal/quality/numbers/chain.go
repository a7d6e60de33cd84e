// This file knows long numbers, such as those of phones and accounts, whatever groups them.
// An answer may write one in other groups than the tool did, and no group alone would be
// found in the evidence.

package numbers

import "strings"

// minChain is from how many digits on a number is known by them alone, however they are
// grouped: phone numbers, accounts, cards.
const minChain = 7

// chain joins the groups of long numbers: (415) 555-2671 is 4155552671.
//
// It is for one text; add is called for each number in order, and end once behind the last.
// A chain of more than 40 digits is ended, since it is a table and no number.
type chain struct {
	text   string
	digits []byte
	last   int // where the last number ended
}

// addNumber adds the next number of the text. It returns what ended before it.
func (c *chain) addNumber(n *number) []string {
	var done []string
	between := ""
	if len(c.digits) > 0 {
		between = c.text[c.last:n.start]
	}
	if len(between) > 2 || strings.Trim(between, " -()/.\u00a0") != "" || len(c.digits) > 40 {
		done = c.endChain()
	}
	for _, g := range n.groups {
		c.digits = append(c.digits, g...)
	}
	c.last = n.end
	return done
}

// endChain returns the digits of the chain, if they are enough, and empties it.
func (c *chain) endChain() []string {
	digits := c.digits
	c.digits = digits[:0]
	if len(digits) < minChain {
		return nil
	}
	return []string{string(digits)}
}

// chainSpan is a long number of a text.
type chainSpan struct {
	digits     string
	start, end int
}

// chainsIn returns the long numbers of a text, in order.
func chainsIn(text string) []chainSpan {
	var list []chainSpan
	c := chain{text: text}
	start, last := 0, 0
	done := func(ended []string) {
		for _, digits := range ended {
			list = append(list, chainSpan{digits, start, last})
		}
	}
	eachNumber(text, func(n *number) {
		before := len(c.digits)
		ended := c.addNumber(n)
		done(ended)
		size := 0
		for _, g := range n.groups {
			size += len(g)
		}
		if before == 0 || len(c.digits) == size {
			start = n.start
		}
		last = n.end
	})
	done(c.endChain())
	return list
}
