// This file fits a text into the size of a Teams message. Teams counts the complete message in
// bytes, with the card's JSON quoted once more. Elements are never parted here: the card form has
// made them small enough that several fit into one card.

package channel

import (
	"strings"
)

// makeCard makes the card, or cards that each are as large as Teams takes.
//
// An element is at most a sixteenth of a card's room, so that cards fill evenly; without a
// limit it is 1,500 bytes.
func (d *draft) makeCard() {
	limit := d.spec.MaxLength
	chunk := 1500
	if limit > 0 {
		chunk = min(chunk, max(64, (limit-3000)/16))
	}
	f := newCardForm(d.scratch.form.resetFor(0, false, len(d.in.Text)), d.spec.shownFeatures(), chunk)
	f.plain.degrade = func(k kind) {
		if k == struck || k == image || k == code || !f.features.has(k) {
			d.recordDegraded(k)
		}
	}
	walkTree(d.watch, f, d.root)
	if d.watch.Err() != nil {
		return
	}
	f.flushBlock()
	plain := string(f.plain.buf)
	if len(f.elements) == 0 { // nothing of it can be seen
		plain = ""
	}
	d.out.Content = plain
	rtl := isRTL(plain)
	if len(f.elements) > 0 {
		f.elements[len(f.elements)-1].end = len(plain)
	}
	whole := joinCard(f.elements, plain, rtl)
	if size := cardSize(whole); limit == 0 || size <= limit {
		d.out.ChannelFields = ChannelFields{Card: whole, Bytes: size}
		return
	}
	parts := d.groupCards(f.elements, plain, rtl)
	if most := d.spec.MaxParts; most > 0 && len(parts) > most {
		d.out.Metadata.Truncated = true
		parts = parts[:most]
		end := parts[most-1]
		d.out.Content = strings.TrimRight(plain[:end[len(end)-1].end], "\n ") + " …"
	}
	for i, elements := range parts {
		d.addCard(i, len(parts), elements, plain, rtl)
	}
}

// groupCards groups elements, as many as fit. Room is left for the indicator, and for dots.
//
// The estimate counts each element with its plain text. It is higher than the real size, so that a
// part is never too large.
func (d *draft) groupCards(elements []element, plain string, rtl bool) (parts [][]element) {
	empty := cardSize(joinCard(nil, "", rtl)) + 300
	size, from := empty, 0
	for i, e := range elements {
		cost := quotedSize(e.json) + 1 + quotedSize(appendJSON(nil, plain[e.start:e.end]))
		if size+cost > d.spec.MaxLength && i > from {
			parts = append(parts, elements[from:i])
			size, from = empty, i
		}
		size += cost
	}
	return append(parts, elements[from:])
}

// addCard adds one card of several, with its plain text for notifications.
//
// elements is a part of a list that other cards share, so that it is not appended to in
// place.
func (d *draft) addCard(i, of int, elements []element, plain string, rtl bool) {
	text := strings.Trim(plain[elements[0].start:elements[len(elements)-1].end], "\n")
	text = balanceOrder(strings.TrimRight(text, " "))
	if d.out.Metadata.Truncated && i == of-1 {
		text += " …"
		elements = append(elements[:len(elements):len(elements)], element{json: []byte(`{"type":"TextBlock","text":"…","wrap":true}`)})
	}
	if indicator := d.indicatorOf(i, of); indicator != "" {
		mark := element{json: append(appendJSON([]byte(`{"type":"TextBlock","text":`), indicator), `,"wrap":true,"isSubtle":true,"size":"Small"}`...)}
		if d.spec.Indicator == indicatorPrefix {
			elements = append([]element{mark}, elements...)
		} else {
			elements = append(elements[:len(elements):len(elements)], mark)
		}
	}
	d.addPart(i, of, text, func(sent string) ChannelFields {
		c := joinCard(elements, sent, rtl)
		return ChannelFields{Card: c, Bytes: cardSize(c)}
	})
}
