package numbers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// derivesAll is a sentence of a check with derived numbers that has senses.
func derivesAll(senses sense) *sentence {
	return &sentence{search: &search{derived: true}, senses: senses}
}

// A number stands for what is rounded to it, if something says that it is rounded.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		k      kind
		v      float64
		within bool
	}{
		{"5", kind{}, 5, true}, {"5", kind{}, 5.2, false}, {"5", kind{near: true}, 5.2, true}, {"5", kind{near: true}, 5.5, false}, {"5", kind{near: true}, 4.5, true}, {"5", kind{near: true}, 4.4, false},
		{"5", kind{near: true, unit: "kg"}, 5.2, false}, {"5 kg", kind{near: true, unit: "kg"}, 5.2, true}, {"5 kg", kind{unit: "kg"}, 5.2, true}, {"$5", kind{unit: money}, 5.2, false}, {"5 %", kind{near: true, unit: "x"}, 5.2, true},
		{"5.0", kind{}, 5.04, false}, {"5.0", kind{near: true}, 5.04, true}, {"5.0", kind{near: true}, 5.06, false},
		{"5k", kind{}, 5400, true}, {"5k", kind{}, 5600, false}, {"1.2 million", kind{}, 1_240_000, true}, {"1.2 million", kind{}, 1_260_000, false},
		{"about 5", kind{}, 5.4, true}, {"about 50", kind{}, 54, true}, {"about 50", kind{}, 56, false}, {"about 500", kind{}, 540, true}, {"about 520", kind{}, 524, true}, {"about 520", kind{}, 526, false},
		{"over 50", kind{}, 59, true}, {"over 50", kind{}, 61, false}, {"over 50", kind{}, 44, false}, {"over 50", kind{}, 46, true}, {"almost 50", kind{}, 41, true}, {"almost 50", kind{}, 39, false}, {"almost 50", kind{}, 56, false},
		{"about 5.5", kind{}, 5.54, true}, {"about 5.5", kind{}, 5.6, false}, {"about 0", kind{}, 0.4, true},
		{"5", kind{way: mean}, 5.2, false}, {"5.2", kind{way: mean}, 5.23, true}, {"5", kind{way: reckoned}, 5.2, false}, {"5.2", kind{way: reckoned}, 5.23, true},
		{"5 %", kind{way: share}, 5.3, true}, {"5 %", kind{way: difference}, 5.3, true}, {"5 %", kind{way: share}, 5.6, false},
		{"5", kind{way: quotient}, 5.2, false}, {"5.2", kind{way: quotient}, 5.23, true}, {"120", kind{way: quotient}, 120.3, true}, {"99", kind{way: quotient}, 99.3, false}, {"100", kind{way: quotient}, 100.3, true},
	} {
		c := amountOf(t, tt.text)
		b := c.boundsOf(c.means[0], tt.k, derivesAll(0))
		if got := b.low <= tt.v && tt.v <= b.high; got != tt.within {
			t.Errorf("%q of %+v may be %v: %v (%v)", tt.text, tt.k, tt.v, got, b)
		}
		exact := &sentence{search: &search{}}
		if b := c.boundsOf(c.means[0], tt.k, exact); b.high-b.low > 1e-8*max(1, math.Abs(b.high)) {
			t.Errorf("%q is rounded though nothing is derived: %v", tt.text, b)
		}
	}
	c := amountOf(t, "5")
	if b := c.boundsOf(c.means[0], kind{way: mean}, derivesAll(average)); b.low > 4.6 || b.high < 5.4 {
		t.Errorf("a mean is not rounded where a word says so: %v", b)
	}
}

// What strconv rounds to a number lies within its bounds, and what is further from it does not.
func TestAroundIsRounding(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		decimals := random.IntN(4)
		v := math.Abs(random.NormFloat64()) * math.Pow10(random.IntN(6))
		written, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
		if err != nil {
			t.Fatal(err)
		}
		unit := math.Pow10(-decimals)
		if b := roundingBounds(written, unit); v < b.low || v > b.high {
			t.Fatalf("%v is rounded to %v, which is from %v to %v", v, written, b.low, b.high)
		}
		if b := roundingBounds(written+unit, unit); b.low <= v-unit/1000 && v < written {
			t.Fatalf("%v is not rounded to %v, which is from %v", v, written+unit, b.low)
		}
	}
	for text, result := range map[string]string{"It is $12,345,678.91.": `{"balance":12345678.91}`, "It is 1,234,567.891 kg.": `{"weight_kg":1234567.891}`} {
		judgeAll(t, "", result, []answer{{text, true}})
	}
	judgeAll(t, "", `{"account":1234567890,"sum":12345678901}`, []answer{{"It is 1234567890.", true}, {"It is 1234567891.", false}, {"It is 12345678902.", false}})
	// A half is rounded up.
	if b := roundingBounds(5, 1); b.low > 4.5 || b.high >= 5.5 {
		t.Errorf("5 is from %v to %v", b.low, b.high)
	}
}

// The last digit of a whole number is the last that is not 0.
func TestLastDigit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"5": 1, "50": 10, "500": 100, "1200": 100, "1050": 10, "1001": 1, "0": 1, "1.5": 0.1, "1.50": 0.01, "10000000000000000": 1} {
		c := amountOf(t, "a "+text)
		if got := lastDigit(c.means[0]); math.Abs(got-want) > 1e-12 {
			t.Errorf("the last digit of %s is %v, want %v", text, got, want)
		}
	}
}

// A value is found by its size among those of its kind and sign; what is not a number is left out.
func TestPool(t *testing.T) {
	t.Parallel()
	p := pool{}
	for _, v := range []float64{3, -2, 7, 3, math.NaN(), math.Inf(1), math.Inf(-1)} {
		p.add(kind{}, v)
	}
	p.add(kind{unit: "kg"}, 9)
	p.sort()
	if got, want := fmt.Sprint(p[kind{}], p[kind{negative: true}], p[kind{unit: "kg"}]), "[3 7] [2] [9]"; got != want {
		t.Errorf("the pool has %s, want %s", got, want)
	}
	for _, tt := range []struct {
		text   string
		senses sense
		want   bool
	}{
		{"3", 0, true}, {"4", 0, false}, {"-3", 0, false}, {"-2", 0, true}, {"2", 0, false}, {"2", less, true}, {"-3", less, false}, {"9 kg", 0, true}, {"9", 0, true}, {"9 km", 0, false}, {"9000 g", 0, true}, {"9001 g", 0, false}, {"3 kg", 0, true},
	} {
		if got := p.has(amountOf(t, "a "+tt.text), derivesAll(tt.senses)); got != tt.want {
			t.Errorf("%q with %b is in the pool: %v", tt.text, tt.senses, got)
		}
	}
}

// Each way has words and units with which alone a claim may have come so.
func TestMayBe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		k      kind
		senses sense
		want   bool
	}{
		{"5", kind{way: counted}, 0, true}, {"5 %", kind{way: counted}, 0, false}, {"5.0", kind{way: counted}, 0, false}, {"5 kg", kind{way: counted}, 0, false}, {"5 days", kind{way: counted}, 0, true}, {"5 hours", kind{way: counted}, 0, false}, {"5 kcal", kind{way: counted}, 0, true},
		{"5", kind{way: summed}, 0, true}, {"5 °C", kind{way: summed}, 0, false}, {"5 km/h", kind{way: summed}, 0, false}, {"5 %", kind{way: summed}, 0, false}, {"5 %", kind{way: summed, percent: true}, 0, true},
		{"5", kind{way: quotient}, 0, false}, {"5", kind{way: quotient}, ratio, true}, {"5 %", kind{way: quotient}, ratio, false},
		{"5", kind{way: share}, 0, false}, {"5 %", kind{way: share}, 0, true},
		{"5 %", kind{way: difference}, 0, false}, {"5 %", kind{way: difference}, change, true}, {"5", kind{way: difference}, change, false},
		{"5", kind{way: span, unit: day}, 0, false}, {"5 days", kind{way: span, unit: day}, 0, true}, {"5 hours", kind{way: span, unit: day}, 0, true}, {"5 weeks", kind{way: span, unit: day}, 0, false}, {"5 weeks", kind{way: span, unit: week}, 0, true}, {"5 days", kind{way: span, unit: week}, 0, false}, {"5 years", kind{way: span, unit: year}, 0, true}, {"5 days", kind{way: span, unit: year}, 0, false},
		{"5", kind{way: reckoned}, 0, true}, {"5 %", kind{way: reckoned}, 0, false}, {"5 %", kind{way: reckoned, percent: true}, 0, true}, {"5", kind{way: mean}, 0, true},
		{"5", kind{negative: true}, 0, false}, {"-5", kind{negative: true}, 0, true}, {"-5", kind{}, 0, false}, {"5", kind{negative: true}, less, true}, {"5", kind{negative: true, row: true}, 0, true}, {"5 °C", kind{negative: true, row: true}, 0, false}, {"5 °C", kind{negative: true, row: true}, less, true},
	} {
		if got := amountOf(t, "a "+tt.text).mayBe(tt.k, derivesAll(tt.senses)); got != tt.want {
			t.Errorf("%q with %b may be %+v: %v", tt.text, tt.senses, tt.k, got)
		}
	}
}

// A percentage is one of the shares from 0 to 1, or what is left of a near percentage.
func TestShares(t *testing.T) {
	t.Parallel()
	judgeAll(t, "", `{"done":0.8,"battery_pct":82,"exact":0.333,"order_no":0.2,"big":1.5}`, []answer{
		{"It is 80 %.", true}, {"It is 82 %.", true}, {"It is 18 %.", true}, {"It is 33 %.", true}, {"It is 33.3 %.", true},
		{"It is 20 %.", false}, // a number of an order is none
		{"It is 150 %.", false}, {"It is 34 %.", false}, {"It is 19 %.", false}, {"It is 33.4 %.", false},
	})
}
