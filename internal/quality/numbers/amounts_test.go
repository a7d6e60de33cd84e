package numbers

import (
	"strings"
	"testing"
)

// amountOf reads the only amount of a text, or the first.
func amountOf(t *testing.T, text string) *claim {
	t.Helper()
	for _, c := range claimsIn(text, nil) {
		if c.forms&asAmount != 0 {
			return &c
		}
	}
	t.Fatalf("%q has no amount", text)
	return nil
}

// A sign counts if nothing before it makes it a hyphen.
func TestSigns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"5": 5, "-5": -5, "−5": -5, "–5": -5, "+5": 5, "It is -5": -5, "(-5)": -5, "a -5": -5,
		"$-5": -5, "-$5": -5, "−€5.50": -5.5, "Mo–5": 5, "£5": 5,
		"-1.5 million": -1.5e6, "-2k": -2000,
	} {
		c := amountOf(t, text)
		if got := c.signedValue(c.means[0]); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

// A currency is read before and behind an amount, as a sign, a code or a word.
func TestMoney(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]unit{
		"$5": money, "€ 5": "", "€5": money, "£5": money, "¥5": money, "₹5": money, "-$5": money,
		"5 €": money, "5€": money, "5 $": money, "5 ₹": money,
		"USD 5": money, "EUR 5": money, "about CHF 5": money, "Rs 5": money, "US 5": money,
		"5 EUR": money, "5 euros": money, "5 dollars": money, "5 Franken": money, "5 dólares": money, "5 dollari": money,
		"5 pounds": money, "5 yen": money,
		"5 cents": cent, "5 ct": cent, "5 centimes": cent, "5 céntimos": cent, "5 centesimi": cent, "5 pence": cent,
		"5 rs": "", "5": "", "5 apples": "",
	} {
		if got := amountOf(t, text).unit; got != want {
			t.Errorf("%q is of %q, want %q", text, got, want)
		}
	}
}

// Percent is a sign or a word in each of the languages.
func TestPercent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"5%": true, "5 %": true, "5\u00a0%": true, "5\u202f%": true, "5٪": true, "5％": true, "5-percent": true,
		"5 percent": true, "5 per cent": true, "5 Prozent": true, "5 pour cent": true, "5 por ciento": true, "5 por cento": true,
		"5 per cento": true, "5 percento": true, "5 procent": true, "5 pct": true, "5 процентов": true, "5 процента": true, "5 процент": true, "5 パーセント": true,
		"5 per hour": false, "5 pour tous": false, "5 por persona": false, "5 cent": false, "5 people": false, "5 per": false, "5": false,
	} {
		if got := amountOf(t, text).percent; got != want {
			t.Errorf("%q is a percentage: %v, want %v", text, got, want)
		}
	}
}

// A scale is a letter, a word or a character behind a number.
func TestScales(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"5k": 1e3, "5 k": 1e3, "5K": 1e3, "5 thousand": 1e3, "5 Tausend": 1e3, "5 mille": 1e3, "5 mil": 1e3, "5 mila": 1e3, "5 duizend": 1e3, "5 тыс": 1e3, "5 тысяч": 1e3,
		"5 million": 1e6, "5M": 1e6, "$5m": 1e6, "5 Mio": 1e6, "5 millones": 1e6, "5 milhões": 1e6, "5 milioni": 1e6, "5 miljoen": 1e6, "5 млн": 1e6, "5 миллионов": 1e6,
		"5bn": 1e9, "5 billion": 1e9, "5 Milliarden": 1e9, "5 milliards": 1e9, "5 miliardi": 1e9, "5 miljard": 1e9, "5 млрд": 1e9,
		"5 trillion": 1e12, "5 lakh": 1e5, "5 crore": 1e7, "5 लाख": 1e5, "5 करोड़": 1e7,
		"5千": 1e3, "5万": 1e4, "5萬": 1e4, "5만": 1e4, "5亿": 1e8, "5億": 1e8, "5억": 1e8,
		"5": 1, "5 m": 1, "5 mm": 1, "5 kg": 1, "5 metres": 1, "5 apples": 1,
	} {
		if got := amountOf(t, text).scale; got != want {
			t.Errorf("%q is scaled by %v, want %v", text, got, want)
		}
	}
}

// Units are read behind an amount, and not what only begins like one.
func TestUnitsBehind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]unit{
		"5 °C": "c", "5°C": "c", "5 °F": "f", "5°": degree, "5 ° C": "c", "5 ℃": degree, "5 °X": degree, "5 degrees": degree, "5 Grad": degree, "5 Celsius": "c",
		"5 m": "m", "5m": "m", "5M": "", "$5m": money, "5 m²": "", "5 m³": "", "5 km²": "",
		"5 km/h": "kmh", "5 km per hour": "kmh", "5 km pro Stunde": "kmh", "5 kmh": "kmh", "5 kph": "kmh", "5 m/s": "mps", "5 miles per hour": "mph", "5 mph": "mph", "5 miles": "mi", "5 km": "km",
		"5 mg/dl": "", "5 l/100": "", "5 g/l": "",
		"5 h": hour, "5h": hour, "5 s": "s", "5 s'il": "", "5 l'eau": "", "5 l’eau": "", "5 l": "l", "5 h'x": hour, "5 min": minute, "5-day": day, "5-minute": minute,
		"5 kWh": "kwh", "5 GB": "gb", "5 GiB": "gb", "5 MiB": "mb", "5 bytes": "byte", "5 octets": "byte", "5 kilowatts": "kw", "5 W": "w",
		"5分": minute, "5분": minute, "5小时": hour, "5 時間": hour, "5시간": hour, "5天": day, "5日": day, "5일": day, "5周": week, "5週間": week, "5주": week,
		"5 apples": "", "5": "", "5 hoursx": "", "5, hours": "", "5\nhours": "",
	} {
		if got := amountOf(t, text).unit; got != want {
			t.Errorf("%q is of %q, want %q", text, got, want)
		}
	}
}

// A word or a sign right before an amount says that it is rounded, and which way. Articles and
// currencies may stand between them.
func TestRoundedBefore(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sense{
		"about 5": near, "About 5": near, "~5": near, "~ 5": near, "≈5": near, "≈ 5": near, "about $5": near, "about USD 5": near, "about a 5": near, "about the EUR 5": near,
		"about (5": near, "about *5": near, "around 5": near, "some 5": near, "approximately 5": near,
		"over 5": moreThan, "more than 5": moreThan, "more than $5": moreThan, "over the 5": moreThan, "at least 5": moreThan, "exceeds 5": moreThan,
		"almost 5": under, "nearly 5": under, "nearly $5": under,
		"rund 5": near, "etwa 5": near, "ungefähr 5": near, "knapp 5": under, "fast 5": under, "über 5": moreThan, "mehr als 5": moreThan, "mindestens 5": moreThan,
		"environ 5": near, "presque 5": under, "plus de 5": moreThan, "plus d'un 5": 0, "autour de 5": near,
		"unos 5": near, "casi 5": under, "más de 5": moreThan, "alrededor de 5": near, "cerca de 5": near,
		"circa 5": near, "quasi 5": under, "più di 5": moreThan, "oltre 5": moreThan, "intorno a 5": near,
		"aproximadamente 5": near, "quase 5": under, "ongeveer 5": near, "bijna 5": under, "ruim 5": moreThan,
		"около 5": near, "примерно 5": near, "почти 5": under, "более 5": moreThan, "свыше 5": moreThan,
		"約5": near, "约5": near, "大约5": near, "ほぼ5": under,
		"5": 0, "about them 5": 0, "about. 5": 0, "about and 5": 0, "exactly 5": 0, "the 5": 0, "about the of a the 5": 0,
	} {
		if got := amountOf(t, text).rounded & (near | moreThan | under); got != want {
			t.Errorf("%q is rounded %b, want %b", text, got, want)
		}
	}
}

// What stands further from a number than a word may reach says nothing, and costs nothing.
func TestAroundIsBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"about" + strings.Repeat(" ", 50) + "5", "$" + strings.Repeat("-", 50) + "5", "5" + strings.Repeat(" ", 50) + "km"} {
		c := amountOf(t, text)
		if c.rounded != 0 || c.unit != "" {
			t.Errorf("%q: %+v", text, c)
		}
	}
}
