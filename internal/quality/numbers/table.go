// This file derives values of arrays: their length, and sums and means of their columns. It does
// the same for groups: elements with the same value of a member.

package numbers

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"sluice/internal/quality/casefold"
)

// deriveArray derives values from an array.
func (d *derived) deriveArray(e *evidence, a *array) {
	d.values.add(kind{way: counted}, float64(a.length))
	if len(a.numbers) > 0 && len(a.numbers) == a.length {
		c := column{of: a, values: a.numbers, memberKind: memberKind{unit: a.unit}}
		c = d.addColumn(c)
		d.addFirstSums(a.numbers, a.unit)
		d.addCounts(c, e.askedNumbers[:min(len(e.askedNumbers), maxAsked)])
		d.withHolder(a, sumColumns([]column{c}, nil), e.askedNumbers)
	}
	if len(a.rows) == 0 || len(a.rows) != a.length {
		return
	}
	d.nameByWords(a)
	columns := columnsOf(a)
	for _, c := range columns {
		c = d.addColumn(c)
		d.addCounts(c, append([]float64{0}, e.askedNumbers[:min(len(e.askedNumbers), maxAsked)]...))
	}
	if len(columns) == 1 {
		d.addFirstSums(columns[0].values, columns[0].unit)
	}
	whole := sumColumns(columns, a.rows)
	d.addTotals(whole)
	for i, x := range whole.columns {
		for _, y := range whole.columns[:i] {
			if x.unit == y.unit && !x.percent && !y.percent && haveWordInCommon(x.words, y.words) {
				addSums(d.values, amount{value: x.sum, memberKind: x.memberKind}, amount{value: y.sum, memberKind: y.memberKind})
				addPercentages(d.values, x.sum, y.sum)
			}
		}
	}
	for _, p := range whole.products {
		d.sums = append(d.sums, math.Abs(p.sum))
	}
	d.withHolder(a, whole, e.askedNumbers)
	d.deriveGroups(e, a, whole)
}

// columnsOf returns the amounts that all elements of an array have.
func columnsOf(a *array) []column {
	var list []column
	for _, first := range a.rows[0].amounts {
		if len(list) == maxColumns || first.isName {
			continue
		}
		c := column{name: first.name, of: a, memberKind: first.memberKind}
		for _, row := range a.rows {
			i := slices.IndexFunc(row.amounts, func(m amount) bool { return m.name == first.name })
			if i < 0 {
				break
			}
			c.values = append(c.values, row.amounts[i].value)
		}
		if len(c.values) == len(a.rows) {
			list = append(list, c)
		}
	}
	return list
}

// addColumn records one, with its sum and its order.
func (d *derived) addColumn(c column) column {
	for _, v := range c.values {
		c.sum += v
		c.sorted = append(c.sorted, math.Abs(v))
	}
	slices.Sort(c.sorted)
	c.rising = slices.Sorted(slices.Values(c.values))
	d.columns = append(d.columns, c)
	d.sums = append(d.sums, math.Abs(c.sum))
	if len(c.of.numbers) > 0 {
		d.addTotal(totalOf(c.memberKind, c.values), len(c.values))
	}
	return c
}

// firstRows is the largest number of elements of an array whose first few are summed.
const firstRows = 7

// addFirstSums derives the sums of the first elements.
func (d *derived) addFirstSums(values []float64, u unit) {
	sum := 0.0
	for _, v := range values[:min(len(values), firstRows)] {
		sum += v
		if len(values) <= firstRows {
			d.rows.add(kind{way: summed, unit: u}, sum)
		}
	}
}

// addCounts counts the elements above, below and equal to numbers.
func (d *derived) addCounts(c column, numbers []float64) {
	for _, n := range numbers {
		for _, count := range c.countAgainst(n) {
			d.values.add(kind{way: counted}, count)
		}
	}
}

// countAgainst says how many values are above, below and equal to a number, and the other ones.
func (c *column) countAgainst(n float64) [5]float64 {
	below, found := slices.BinarySearch(c.rising, n)
	upTo := below
	if found {
		upTo, _ = slices.BinarySearch(c.rising, math.Nextafter(n, math.Inf(1)))
	}
	all := len(c.rising)
	return [5]float64{float64(all - upTo), float64(below), float64(upTo - below), float64(all - below), float64(upTo)}
}

// total is the sum of a column, or of a part of it.
type total struct {
	memberKind
	sum, above, below float64 // of all, of the positive, of the negative values
}

// add adds a value.
func (t *total) add(v float64) {
	t.sum += v
	if v > 0 {
		t.above += v
	} else {
		t.below += v
	}
}

// totalOf adds all values.
func totalOf(k memberKind, values []float64) total {
	t := total{memberKind: k}
	for _, v := range values {
		t.add(v)
	}
	return t
}

// totals are those of some elements of an array.
type totals struct {
	count    int
	columns  []total // as the columns of the array
	products []total // of two columns
}

// sumColumns sums columns over some elements of their array.
func sumColumns(columns []column, rows []*object) totals {
	t := totals{count: len(rows), columns: make([]total, len(columns))}
	for i, c := range columns {
		t.columns[i].memberKind = c.memberKind
		for _, v := range c.values {
			t.columns[i].add(v)
		}
		for _, other := range columns[:i] {
			if c.percent || other.percent {
				continue
			}
			p := total{memberKind: memberKind{unit: productUnit(c.unit, other.unit)}}
			for at, v := range c.values {
				p.add(v * other.values[at])
			}
			t.products = append(t.products, p)
		}
	}
	return t
}

// selectRows returns the same columns for some elements.
func selectRows(columns []column, rows []int) []column {
	list := make([]column, len(columns))
	for i, c := range columns {
		list[i] = column{name: c.name, of: c.of, memberKind: c.memberKind, values: make([]float64, 0, len(rows))}
		for _, row := range rows {
			list[i].values = append(list[i].values, c.values[row])
		}
	}
	return list
}

// addTotal records one of so many elements, with its mean.
func (d *derived) addTotal(t total, count int) {
	k := kind{way: summed, unit: t.unit, percent: t.percent}
	if isAdditive(t.unit) {
		d.values.add(k, t.sum)
	}
	if t.above != 0 && t.below != 0 {
		d.values.add(k, t.above)
		d.values.add(k, t.below)
	}
	k.way = mean
	d.values.add(k, t.sum/float64(max(1, count)))
}

// addTotals records sums and means.
func (d *derived) addTotals(t totals) {
	for _, c := range t.columns {
		d.addTotal(c, t.count)
	}
	for _, p := range t.products {
		d.values.add(kind{way: reckoned, unit: p.unit}, p.sum)
	}
}

// mayShare reports whether two amounts may be of one unit: that of either may not be known.
func mayShare(a, b unit) bool { return a == b || a == "" || b == "" }

// holderOf returns the amounts of the object that holds an array, and counts the elements above
// and below them.
func (d *derived) holderOf(a *array) []amount {
	if a.holder == nil {
		return nil
	}
	others := slices.Clone(a.holder.amounts[:min(len(a.holder.amounts), maxPaired)])
	others = slices.DeleteFunc(others, func(o amount) bool { return o.isName || o.isLength() })
	for _, c := range d.columns {
		for _, o := range others {
			if c.of == a && mayShare(o.unit, c.unit) {
				d.addCounts(c, []float64{o.value})
			}
		}
	}
	return others
}

// withHolder derives from sums of an array and the amounts of the object that holds it, or
// numbers of the question.
func (d *derived) withHolder(a *array, t totals, asked []float64) {
	others := d.holderOf(a)
	for _, q := range asked[:min(len(asked), maxAsked)] {
		others = append(others, amount{value: q})
	}
	for _, c := range slices.Concat(t.columns, t.products) {
		for _, o := range others {
			if o.percent || c.percent || !mayShare(o.unit, c.unit) {
				continue
			}
			d.values.add(kind{way: summed, unit: c.unit}, c.sum+o.value)
			d.values.add(kind{way: reckoned, unit: c.unit}, math.Abs(c.sum-o.value))
			addPercentages(d.values, c.sum, o.value)
		}
	}
}

// deriveGroups derives from the elements that have one value of a text or a truth value.
func (d *derived) deriveGroups(e *evidence, a *array, whole totals) {
	columns := columnsOf(a)
	for _, name := range labelNames(a) {
		if e.stopped() {
			return
		}
		g := e.groupBy(a, name)
		if g.values[0] != "true" && g.values[0] != "false" {
			d.values.add(kind{way: counted}, float64(len(g.values)))
		}
		isUnique := len(g.values) == len(a.rows)
		for _, value := range g.values {
			d.deriveGroup(columns, g.byValue[value], whole, isUnique, len(g.byDay) == 0)
		}
		for _, rows := range g.byDay {
			d.deriveGroup(columns, rows, whole, false, false)
		}
	}
}

// rowGroups holds the rows of an array that have one value of a text or a truth value.
type rowGroups struct {
	values  []string // in the order of the rows
	byValue map[string][]int
	byDay   map[int][]int // of the values that are dates
}

// groupBy groups the rows of an array by a member.
func (e *evidence) groupBy(a *array, name string) rowGroups {
	g := rowGroups{byValue: map[string][]int{}, byDay: map[int][]int{}}
	for i, row := range a.rows {
		value := row.labelOf(name)
		if t, ok := row.dayOf(name); ok {
			value = t.Format(time.DateOnly)
			day := e.compareDay(t)
			g.byDay[day] = append(g.byDay[day], i)
		}
		if _, ok := g.byValue[value]; !ok {
			g.values = append(g.values, value)
		}
		g.byValue[value] = append(g.byValue[value], i)
	}
	return g
}

// labelNames returns the members of the elements of an array that are texts or truth values.
func labelNames(a *array) []string {
	var list []string
	seen := map[string]bool{}
	for _, row := range a.rows {
		for _, l := range row.labels {
			if !seen[l.name] && len(list) < maxColumns {
				seen[l.name] = true
				list = append(list, l.name)
			}
		}
	}
	return list
}

// labelOf returns a text or truth value of a member, or "".
func (o *object) labelOf(name string) string {
	for _, l := range o.labels {
		if l.name == name {
			return l.value
		}
	}
	return ""
}

// dayOf returns a member that is a date.
func (o *object) dayOf(name string) (t time.Time, ok bool) {
	for _, t := range o.times {
		if t.name == name && t.Year() > 0 {
			return t.Time, true
		}
	}
	return t, false
}

// deriveGroup derives from some elements: how many there are, and their sums. For groups with one
// element each it adds only the count: the elements' values stand in the evidence.
func (d *derived) deriveGroup(columns []column, rows []int, whole totals, isUnique, withRest bool) {
	count, n := float64(len(rows)), float64(whole.count)
	d.values.add(kind{way: counted}, count)
	d.values.add(kind{way: share}, count/n*100)
	if isUnique {
		return
	}
	if withRest {
		d.values.add(kind{way: counted}, n-count)
		d.values.add(kind{way: share}, (n-count)/n*100)
	}
	if len(columns) == 0 {
		return
	}
	t := sumColumns(selectRows(columns, rows), nil)
	t.count = len(rows)
	d.addTotals(t)
	for i, c := range t.columns {
		all := whole.columns[i]
		if all.sum != 0 && !c.percent {
			d.values.add(kind{way: share}, c.sum/all.sum*100)
		}
		if !withRest {
			continue
		}
		d.addTotal(total{memberKind: c.memberKind, sum: all.sum - c.sum, above: all.above - c.above, below: all.below - c.below}, whole.count-len(rows))
		if all.sum != 0 && !c.percent {
			d.values.add(kind{way: share}, (1-c.sum/all.sum)*100)
		}
	}
	if !withRest {
		return
	}
	for i, p := range t.products {
		d.values.add(kind{way: reckoned, unit: p.unit}, whole.products[i].sum-p.sum)
	}
}

// ofWord reports whether r is part of a word.
func ofWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// named is a text that a sentence may name an object by, folded.
type named struct {
	text string
	of   *object
}

// minName is the least number of characters in the name of an object.
const minName = 3

// maxName is the largest number of bytes in a name.
const maxName = 200

// mayName reports whether a text may name an object.
func mayName(text string) bool {
	return len(text) <= maxName && len([]rune(text)) >= minName && text != "true" && text != "false"
}

// nameObject records the texts of an object.
func (d *derived) nameObject(o *object) {
	for _, l := range o.labels {
		text := strings.TrimSpace(l.value)
		if !mayName(text) {
			continue
		}
		text = casefold.Fold(text)
		if first := firstToken(text); first != "" && strings.HasPrefix(text, first) {
			d.names[first] = append(d.names[first], named{text, o})
		}
	}
}

// nameByWords lets a word name an element of a short array that no other element has: Bayern
// for FC Bayern.
func (d *derived) nameByWords(a *array) {
	if a.length > maxNearRows {
		return
	}
	owners := map[string]*object{}
	for _, row := range a.rows {
		for _, l := range row.labels {
			if len(l.value) <= maxName {
				row.claimWords(l.value, owners)
			}
		}
	}
	for word, row := range owners {
		if row != nil {
			d.names[word] = append(d.names[word], named{word, row})
		}
	}
}

// claimWords enters an object as the owner of each word of a text, and none for a word that
// another one has as well.
func (o *object) claimWords(text string, owners map[string]*object) {
	for _, word := range strings.FieldsFunc(casefold.Fold(text), func(r rune) bool { return !ofWord(r) }) {
		if other, ok := owners[word]; ok && other != o {
			owners[word] = nil
		} else if len([]rune(word)) >= minLineWord {
			owners[word] = o
		}
	}
}

// firstToken returns the letters and digits that a text begins with.
func firstToken(text string) string {
	for i, r := range text {
		if !isWord(r) && !unicode.IsMark(r) {
			return text[:i]
		}
	}
	return text
}
