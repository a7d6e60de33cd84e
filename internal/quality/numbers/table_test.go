package numbers

import (
	"fmt"
	"strings"
	"testing"
)

// groceries are rows that are too many for each to be near.
const groceries = `{"budget":200,"items":[
{"name":"apples","kind":"fruit","price":4.5,"qty":3,"open":true,"due":"2026-11-20"},
{"name":"pears","kind":"fruit","price":6,"qty":2,"open":true,"due":"2026-11-20"},
{"name":"bread","kind":"bakery","price":3.25,"qty":4,"open":false,"due":"2026-11-22"},
{"name":"cake","kind":"bakery","price":17,"qty":1,"open":false,"due":"2026-11-22"},
{"name":"coffee","kind":"drinks","price":9.75,"qty":5,"open":true,"due":"2026-11-27"},
{"name":"tea","kind":"drinks","price":7.5,"qty":7,"open":true,"due":"2026-11-27"}]}`

// Of a column follow its sum and its mean, and of two the sum of their products.
func TestDerivedOfColumns(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", groceries, []answer{
		{"There are 6 items.", true},
		{"They cost $48.", true}, // the sum of prices
		{"There are 22 pieces.", true},
		{"It is $156.75 for all.", true}, // price times quantity
		{"They cost $8 on average.", true},
		{"There are 3.67 of each on average.", true},
		{"There are 3.7 of each.", true}, // with decimals it may be rounded
		{"There are 4 of each on average.", true},
		{"It is about $160 for all.", true},
		{"They cost $49.", false},
		{"They cost $47.", false},
		{"There are 23 pieces.", false},
		{"It is $157.50 for all.", false},
		{"It is $157 for all.", false},
		{"They cost $8.50 on average.", false},
		{"There are 3.8 of each.", false},
		{"It is about $190 for all.", false},
	})
}

// An array and its holder, or the question, have a difference and a percentage.
func TestDerivedOfHolders(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", groceries, []answer{
		{"Of the budget $152 are left.", true},
		{"Of the budget $43.25 are left.", true},
		{"It is 24 % of the budget.", true},
		{"It is 78.4 % of the budget.", true},
		{"Of the budget $153 are left.", false},
		{"It is 29 % of the budget.", false},
	})
	judgeAll(t, "What is left of 60?", groceries, []answer{{"$12 are left.", true}, {"It is 80 %.", true}, {"$14 are left.", false}})
	judgeAll(t, "How many cost more than 7?", groceries, []answer{{"There are 3.", true}, {"There are 7 items.", true}})
	judgeAll(t, "", `{"limit":10,"load":[12,8,11,9,10,14,7]}`, []answer{
		{"3 are above the limit.", true}, {"1 is at it.", true}, {"71 in all.", true}, {"61 too much.", true}, {"72 in all.", false}, {"62 too much.", false},
		{"The first 3 have 31.", true}, {"The first two have 20.", true}, {"The first 3 have 32.", false},
	})
}

// Groups are the elements with one text, one truth value or one date.
func TestDerivedOfGroups(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", groceries, []answer{
		{"4 are open.", true},
		{"2 are closed.", true},
		{"There are 3 kinds.", true},
		{"Fruit costs $10.50.", true},
		{"Bakery costs $20.25.", true},
		{"All but drinks cost $30.75.", true},
		{"Fruit has 5 pieces.", true},
		{"Fruit is 21.9 % of the sum.", true},
		{"67 % are open.", true},
		{"33 % are closed.", true},
		{"Drinks come to $101.25.", true}, // price times quantity
		{"2 are late.", true},             // before today
		{"2 are due today.", true},
		{"Fruit costs $5.25 on average.", true},
		{"Fruit costs $11.50.", false},
		{"Fruit is 29 % of the sum.", false},
		{"68 % are open.", false},
		{"Drinks come to $102.25.", false},
	})
	judgeAll(t, "", `[{"s":"a"},{"s":"b"},{"s":"c"},{"s":"d"},{"s":"e"},{"s":"f"},{"s":null},{}]`, []answer{
		{"There are 8.", true}, {"2 have none.", true}, {"6 have one.", true}, {"12.5 % are a.", true}, {"9 are there.", false}, {"13.5 % are a.", false},
	})
	judgeAll(t, "", `[{"v":5},{"v":-3},{"v":-4},{"v":8},{"v":1},{"v":-2}]`, []answer{
		{"It is 14 here, and -9 there.", true}, {"It is 5 in all.", true}, {"You spent 9.", true}, {"You spent 10.", false}, {"3 are below 0.", true},
	})
}

// Without all its elements alike an array has no columns, and amounts that are names are none.
func TestColumnsOf(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		`[{"a":1,"b":2},{"a":3,"b":4}]`:                         "a[1 3] b[2 4]",
		`[{"a":1,"b":2},{"b":4,"a":3}]`:                         "a[1 3] b[2 4]",
		`[{"a":1,"b":2},{"a":3}]`:                               "a[1 3]",
		`[{"a":1},{"a":"x"}]`:                                   "",
		`[{"a":1},{"a":"3 kg"}]`:                                "a[1 3]",
		`[{"id":1,"a":2},{"id":2,"a":3}]`:                       "a[2 3]",
		`[{"a":{"b":1}},{"a":{"b":2}}]`:                         "a.b[1 2]",
		`[[1,"x"],[2,"y"]]`:                                     "0[1 2]",
		`[{}]`:                                                  "",
		`[{` + manyMembers(20) + `},{` + manyMembers(20) + `}]`: strings.TrimSpace(strings.Repeat("m[1 1] ", 0)) + firstColumns(maxColumns),
	} {
		a := readResult(result).arrays
		var got []string
		for _, c := range columnsOf(a[len(a)-1]) {
			got = append(got, fmt.Sprint(c.name, c.values))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s has the columns %q, want %q", result, s, want)
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"m%d":1`, i)
	}
	return b.String()[1:]
}

func firstColumns(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("m%d[1 1]", i))
	}
	return strings.Join(list, " ")
}

// Totals add what is above and below nothing apart.
func TestTotal(t *testing.T) {
	t.Parallel()
	var sum total
	for _, v := range []float64{5, -3, 0, 2.5, -1} {
		sum.add(v)
	}
	if sum.sum != 3.5 || sum.above != 7.5 || sum.below != -4 {
		t.Errorf("%+v", sum)
	}
}

// A sentence names an element by one of its texts, as a whole and whatever its case.
func TestNamedElements(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", groceries, []answer{
		{"Apples and pears cost $1.50 more or less.", true}, // two that are named compare
		{"The apples come to $13.50.", true},                // a product of its own
		{"APPLES come to $13.50.", true},
		{"The tea comes to $52.50.", true},
		{"The tea is 15.6 % of it.", true}, // of the column
		{"Apples, bread and cake cost $24.75.", true},
		{"Coffee costs about $10.", true}, // a named amount may be rounded
		{"The cake is 183 % up on the pears.", true},
		{"The tea comes to $13.50.", false}, // of another element
		{"It comes to $13.50.", false},
		{"The teapot comes to $52.50.", false},
		{"The tea is 16.6 % of it.", false},
		{"Apples, bread and cake cost $25.75.", false},
		{"It costs $9.8.", false},
	})
	judgeAll(t, "", `[{"club":"FC Bayern","goals":30,"games":8},{"club":"FC Köln","goals":12,"games":9}]`, []answer{
		{"Bayern has 3.75 per game.", true}, // a word that no other element has
		{"Köln has 1.33 per game.", true},
		{"Bayern has 18 more than Köln.", true},
		{"Köln has 3.75 per game.", false},
	})
}

// The words of a short array name its elements if they are of one alone and long enough.
func TestNameByWords(t *testing.T) {
	t.Parallel()
	e := readResult(`[{"a":"FC Bayern München"},{"a":"FC Köln"},{"a":"Bayern Hof"}]`)
	d := e.derivedValues()
	for word, want := range map[string]int{"münchen": 1, "köln": 1, "bayern": 1, "hof": 0, "fc": 2} {
		if got := len(d.names[word]); got != want {
			t.Errorf("%s names %d elements, want %d", word, got, want)
		}
	}
	if d := readResult(`[{"a":"one word"},{"a":"x"},{"a":"x"},{"a":"x"},{"a":"x"},{"a":"x"}]`).derivedValues(); len(d.names["word"]) > 0 {
		t.Error("a word names an element of six")
	}
}

// A text names an object if it is neither short nor long, and no truth value.
func TestName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"tea": true, "te": false, "true": false, "false": false, "true tea": true, " tea ": true, "字字字": true, "字字": false, "(tea)": false, strings.Repeat("a", maxName): true, strings.Repeat("a", maxName+1): false, "Ärzte": true} {
		d := derived{names: map[string][]named{}}
		d.nameObject(&object{labels: []label{{"a", text}}})
		if got := len(d.names) > 0; got != want {
			t.Errorf("%.20q is a name: %v", text, got)
		}
	}
}
