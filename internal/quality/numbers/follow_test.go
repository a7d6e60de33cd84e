package numbers

import "testing"

// From numbers of a sentence that are backed follow their difference and their sum.
func TestFollowsFromTheSentence(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"a":{"x":120},"b":{"y":45},"c":{"z":7}}`, []answer{
		{"Of 120 there are 45 done, so 75 are left.", true}, // the two right before it
		{"It is 120 and 45, so 165 in all.", true},
		{"It is 120, 45 and 7, which is 172.", true},      // all before it
		{"It is 120 and 45, so 172 with the rest.", true}, // and an amount in no array
		{"Of 120 there are 45 done, so 76 are left.", false},
		{"It is 120, 45 and 7, which is 173.", false},
		{"It is 120 and 45, which is 5400.", true}, // their product
		{"It is 120 and 45, which is 5401.", false},
		{"It is 45, which is 37.5 % of 120.", true},
		{"It is 45, which is 38.5 % of 120.", false},
		{"It is 120. Then 45 are done, so 75 are left.", true}, // 75 is a difference of what is outside
	})
	judgeAll(t, "", `[{"v":240},{"v":253},{"v":199},{"v":310},{"v":275},{"v":222}]`, []answer{
		{"It was 253, 13 more than 240.", true},
		{"It was 253, which is 54 more than the least.", true}, // another value of its column
		{"It was 253, which is 55 more than the least.", false},
		{"It was 253, up 5.4 % from 240.", true},
		{"It was 253, up 6.4 % from 240.", false},
		{"It was 253, and 21 % lower at the least.", true},
		{"It was 253, and 22 % lower at the least.", false},
		{"It was 253, which is 16.9 % of all.", true},
		{"It was 253, which is 18.4 % of all.", false},
	})
}

// A number is one for another period of the calendar if the sentence names both.
func TestFollowsForAnotherPeriod(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"rent":1150,"steps":7000,"rows":[1,2,3]}`, []answer{
		{"It is 1,150 a month, 13,800 a year.", true},
		{"Es sind 1.150 im Monat, 13.800 im Jahr.", true},
		{"C'est 1 150 par mois, 13 800 par année.", true},
		{"Son 1.150 al mes, 13.800 al año.", true},
		{"Sono 1.150 al mese, 13.800 all'anno.", true},
		{"It is 1,150 monthly, 13,800 annually.", true},
		{"It is 7,000 a day, 49,000 a week.", true},
		{"It is 7,000 a week, 1,000 a day.", true},
		{"It is 7,000 a day, 2,555,000 a year.", true},
		{"It is 7,000 a week, 364,000 a year.", true},
		{"It is 7,000 a day, 210,000 a month.", true},
		{"It is 7,000 a week, 28,000 a month.", true},
		{"It is 7,000 an hour, 168,000 a day.", true},
		{"It is 1,150 a month, 13,900 a year.", false},
		{"It is 1,150, that is 13,800.", false},
		{"It is 1,150 a month, 13,800 later.", false},
	})
}

// A percentage of the sentence is of an amount, and makes it less or more.
func TestFollowsFromAPercentage(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"price":250,"discount_pct":12,"tip":[{"v":40}]}`, []answer{
		{"It is 12 % off, so 30 less.", true},
		{"It is 12 % off, so 220.", true},
		{"It is 12 % more, so 280.", true},
		{"It is 12 % off, so 31 less.", false},
		{"It is 12 % off, so 221.", false},
		{"It is 12 % off, and 88 % stay.", true},
		{"It is 12 % off, and 87 % stay.", false},
		{"It is 30 less.", false}, // no sentence says the percentage
		{"It is 12 % of 40, so 4.8.", true},
		{"It is 12 % of 40, so 44.8.", true},
		{"It is 12 % of 40, so 35.2.", true},
		{"It is 12 % of 40, so 36.2.", false},
	})
	judgeAll(t, "What is it with 20 % off?", `{"price":250}`, []answer{{"With 20 % off it is 200.", true}, {"It is 50 less with 20 %.", true}, {"With 20 % off it is 210.", false}})
}

// A number of the question multiplies what is backed.
func TestFollowsFromTheQuestion(t *testing.T) {
	t.Parallel()
	judgeAll(t, "For 4 people and 3 nights?", `{"rooms":[{"name":"Suite","price":130},{"name":"Double","price":90},{"name":"Single","price":61},{"name":"Loft","price":155},{"name":"Studio","price":110},{"name":"Bunk","price":25}]}`, []answer{
		{"The Suite is 130 a night, 390 in all.", true},
		{"The Suite is 390 in all.", true},
		{"The Bunk is 25, so 100 for all of you.", true},
		{"The Suite is 130 a night, 391 in all.", false},
		{"It is 111 a night, so 333 in all.", false},
	})
}

// What is unsaid is not derived: small whole numbers follow from two alone where they stand next
// to each other.
func TestSmallNumbersDoNotFollow(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `[{"v":41},{"v":36},{"v":90},{"v":11},{"v":67},{"v":58}]`, []answer{
		{"It was 41 and 36, and 5 more.", true},
		{"It was 41, and then 8 more.", false},
		{"It was 41, and then 49 more.", true},
		{"It was 41, and then 48 more.", false},
	})
}
