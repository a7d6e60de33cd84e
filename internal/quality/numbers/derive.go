// This file derives values of results: of the members of an object, of the columns of an array,
// of groups of its elements. Bounds keep what grows with the square of something small.

package numbers

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Bounds of derived values.
const (
	maxPaired  = 40  // amounts of one object
	maxObjects = 100 // with derived values for each pair of amounts
	maxColumns = 16  // of one array
	maxArrays  = 200 // of which columns are derived
)

// lengthUnit is the unit of the length of an array: it is a count.
const lengthUnit unit = "count"

// isLength reports whether an amount is how many an array of the object has.
func (a *amount) isLength() bool { return a.unit == lengthUnit }

// derived has the values that follow from results, independent of the answer.
type derived struct {
	values  pool
	rows    pool // of single elements of arrays, if each sentence may speak of them
	columns []column
	near    []float64    // amounts of near objects, sorted
	outside []float64    // amounts of objects in no array, sorted
	sums    []float64    // of columns, sorted
	ended   map[int]bool // minutes of a day when something is over
	lines   map[string]int
	names   map[string][]named // by their first word
}

// column is an amount that all elements of an array have.
type column struct {
	name   string
	of     *array
	values []float64 // in the order of the elements
	sorted []float64 // without their signs
	rising []float64
	sum    float64
	memberKind
}

// derivedValues derives the values of the results, once.
func (e *evidence) derivedValues() *derived {
	if e.results != nil {
		return e.results
	}
	d := &derived{values: pool{}, rows: pool{}, ended: map[int]bool{}, names: map[string][]named{}}
	e.results = d
	d.deriveObjects(e)
	for _, a := range e.arrays[:min(len(e.arrays), maxArrays)] {
		d.deriveArray(e, a)
	}
	d.textLines(e.lines)
	d.deriveDays(e)
	slices.Sort(d.near)
	slices.Sort(d.outside)
	slices.Sort(d.sums)
	d.values.sort()
	d.rows.sort()
	return d
}

// deriveObjects derives from each near object, and from members of one name.
func (d *derived) deriveObjects(e *evidence) {
	near := 0
	members := map[string][]amount{}
	for _, o := range e.objects {
		if e.stopped() {
			break
		}
		d.nameObject(o)
		if !o.isNear() {
			continue
		}
		if near++; near <= maxObjects {
			d.deriveObject(o, e.askedNumbers)
		}
		d.collectAmounts(o, members)
	}
	for _, same := range members {
		d.deriveAcross(same)
	}
}

// collectAmounts records the amounts of a near object, in members by name those that are in no
// array.
func (d *derived) collectAmounts(o *object, members map[string][]amount) {
	for _, a := range o.amounts {
		if a.isName {
			continue
		}
		d.near = append(d.near, math.Abs(a.value))
		if o.array == nil {
			d.outside = append(d.outside, math.Abs(a.value))
			members[a.name] = append(members[a.name], a)
		}
	}
}

// deriveObject derives from one that each sentence may speak of.
func (d *derived) deriveObject(o *object, asked []float64) {
	into := d.values
	if o.array != nil {
		into = d.rows
	}
	d.derivePairs(into, o.amounts)
	d.deriveTotal(o.amounts)
	askedOf(d.values, o.amounts, asked)
	d.deriveSpans(o.times)
	d.deriveEnds(o)
}

// derivePairs derives from two amounts of one object.
func (d *derived) derivePairs(into pool, list []amount) {
	list = slices.DeleteFunc(slices.Clone(list), func(a amount) bool { return a.isName })
	list = list[:min(len(list), maxPaired)]
	for i, a := range list {
		for _, b := range list[:i] {
			d.derivePair(into, a, b)
		}
	}
}

// deriveTotal derives the sum of all amounts of an object, if they are of one kind.
func (d *derived) deriveTotal(list []amount) {
	if len(list) < 3 {
		return
	}
	t := total{memberKind: list[0].memberKind}
	for _, a := range list {
		if a.unit != t.unit || a.percent != t.percent || a.isName {
			return
		}
		t.add(a.value)
	}
	d.addTotal(t, len(list))
}

// derivePair derives from two amounts: their sum, difference and product, and the share of one in
// the other.
func (d *derived) derivePair(into pool, a, b amount) {
	x, y := a.value, b.value
	if isAlike(a.unit, b.unit) && a.percent == b.percent {
		addSums(into, a, b)
		addPercentages(into, x, y)
		if haveWordInCommon(a.words, b.words) && x+y != 0 {
			into.add(kind{way: share}, x/(x+y)*100)
			into.add(kind{way: share}, y/(x+y)*100)
		}
	}
	if a.percent || b.percent {
		return
	}
	into.add(kind{way: reckoned, unit: productUnit(a.unit, b.unit)}, x*y)
	addQuotients(into, x, y)
}

// addQuotients derives how many times one is in the other.
func addQuotients(into pool, x, y float64) {
	if x != 0 {
		into.add(kind{way: quotient}, y/x)
	}
	if y != 0 {
		into.add(kind{way: quotient}, x/y)
	}
}

// isAlike reports whether two units are the same, as far as is known.
func isAlike(a, b unit) bool {
	isBare := func(u unit) bool { return u == "" || u == degree || u == anyTime || u == lengthUnit }
	return a == b || isBare(a) && isBare(b)
}

// addSums derives the sum and the difference.
func addSums(into pool, a, b amount) {
	k := kind{way: reckoned, unit: a.unit, percent: a.percent}
	if a.isLength() || b.isLength() {
		k = kind{way: counted}
	}
	into.add(k, math.Abs(a.value-b.value))
	if k.way == reckoned {
		k.way = summed
	}
	if isAdditive(a.unit) {
		into.add(k, a.value+b.value)
	}
}

// addPercentages adds the share of the smaller in the larger, and their difference in percent.
func addPercentages(into pool, x, y float64) {
	x, y = math.Abs(x), math.Abs(y)
	small, large := min(x, y), max(x, y)
	if small > 0 {
		into.add(kind{way: share}, small/large*100)
		into.add(kind{way: difference}, (large/small-1)*100)
		into.add(kind{way: difference}, (1-small/large)*100)
	}
}

// productUnit is the unit of a product: that of the factor that has one.
func productUnit(a, b unit) unit {
	if a == "" || a == lengthUnit {
		a, b = b, a
	}
	if b != "" && b != lengthUnit || a == lengthUnit {
		return ""
	}
	return a
}

// haveWordInCommon reports whether two names share a word.
func haveWordInCommon(a, b []string) bool {
	return slices.ContainsFunc(a, func(word string) bool { return unitOf(word) == "" && slices.Contains(b, word) })
}

// deriveAcross derives from one member of two objects.
func (d *derived) deriveAcross(same []amount) {
	d.deriveTotal(same)
	same = same[:min(len(same), maxPaired)]
	for i, a := range same {
		for _, b := range same[:i] {
			addSums(d.values, a, b)
			addPercentages(d.values, a.value, b.value)
		}
	}
}

// minAsked is from where on a number of the question is added to others: a small one is a count.
const minAsked = 10

// askedOf derives from amounts and numbers of the question.
func askedOf(into pool, list []amount, asked []float64) {
	for _, a := range list[:min(len(list), maxPaired)] {
		for _, q := range asked[:min(len(asked), maxAsked)] {
			if a.isName {
				continue
			}
			k := kind{way: reckoned, unit: a.unit, percent: a.percent}
			if q >= minAsked {
				into.add(k, a.value+q)
				into.add(k, math.Abs(a.value-q))
			}
			into.add(k, a.value*q)
		}
	}
}

// deriveSpans derives the time between two times of an object.
func (d *derived) deriveSpans(times []instant) {
	for i, a := range times {
		for _, b := range times[:i] {
			if (a.Year() > 0) != (b.Year() > 0) {
				continue
			}
			minutes := math.Abs(a.Sub(b.Time).Minutes())
			d.values.add(kind{way: span, unit: minute}, minutes)
			if a.Year() == 0 {
				d.values.add(kind{way: span, unit: minute}, 1440-minutes)
				continue
			}
			d.addDays(math.Abs(float64(dayNumber(a.Time) - dayNumber(b.Time))))
		}
	}
}

// deriveEnds adds the ends of spans that begin at the times of an object.
func (d *derived) deriveEnds(o *object) {
	for _, t := range o.times {
		for _, a := range o.amounts[:min(len(o.amounts), maxPaired)] {
			for _, b := range (bounds{a.value, a.value}).inUnit(a.unit, minute) {
				d.ended[(t.Hour()*60+t.Minute()+int(b.low))%1440] = true
			}
			if a.unit == minute {
				d.ended[(t.Hour()*60+t.Minute()+int(a.value))%1440] = true
			}
		}
	}
}

// addDays adds a span of days, also in weeks.
func (d *derived) addDays(days float64) {
	d.values.add(kind{way: span, unit: day}, days)
	d.values.add(kind{way: span, unit: week}, days/7)
}

// deriveDays derives how far from today dates and years are.
func (d *derived) deriveDays(e *evidence) {
	if e.now.IsZero() {
		return
	}
	today := dayNumber(e.now)
	for date := range e.dates {
		if date.year > 0 && date.day > 0 {
			t := time.Date(date.year, time.Month(date.month), date.day, 0, 0, 0, 0, time.UTC)
			d.addDays(math.Abs(float64(dayNumber(t) - today)))
		}
		if date.year == anyYear && date.day > 0 {
			for y := e.now.Year() - 1; y <= e.now.Year()+1; y++ {
				d.addDays(math.Abs(float64(dayNumber(time.Date(y, time.Month(date.month), date.day, 0, 0, 0, 0, time.UTC)) - today)))
			}
		}
	}
	for k, values := range e.itself {
		for _, v := range values {
			if k.unit == "" && v >= 1000 && v < 3000 && v == math.Trunc(v) {
				d.values.add(kind{way: span, unit: year}, math.Abs(float64(e.now.Year())-v))
			}
		}
	}
}

// deriveShares adds the shares of an element's amounts in their columns.
func (d *derived) deriveShares(into pool, o *object) {
	for i := range d.columns {
		c := &d.columns[i]
		if c.of != o.array || len(c.of.numbers) > 0 || c.percent || c.sum == 0 {
			continue
		}
		into.add(kind{way: share}, c.values[o.index]/c.sum*100)
	}
}

// textLines counts the lines that have a word.
func (d *derived) textLines(lines []string) {
	d.lines = map[string]int{}
	if len(lines) < 2 {
		return
	}
	d.values.add(kind{way: counted}, float64(len(lines)))
	if !holdsNumber(lines[0]) { // it is a heading
		d.values.add(kind{way: counted}, float64(len(lines)-1))
	}
	for _, line := range lines {
		seen := map[string]bool{}
		for _, word := range longWords(line) {
			if !seen[word] {
				seen[word] = true
				d.lines[word]++
			}
		}
	}
}

// minLineWord is how many letters a word has by which lines are grouped.
const minLineWord = 4

// longWords returns the words of a text by which lines are grouped, without a plural's end.
func longWords(text string) []string {
	var list []string
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !ofWord(r) }) {
		if len([]rune(word)) >= minLineWord {
			list = append(list, cutPlural(word))
		}
	}
	return list
}

// cutPlural drops the ends of plurals. Its results are only compared.
func cutPlural(word string) string {
	for _, end := range [...]string{"es", "en", "s", "n", "i", "e", "a", "o"} {
		if rest := strings.TrimSuffix(word, end); len(rest) < len(word) && len(rest) > 2 {
			return rest
		}
	}
	return word
}
