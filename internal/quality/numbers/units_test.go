package numbers

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Spans of time have their words in each of the languages, in the singular and the plural.
func TestTimeWords(t *testing.T) {
	t.Parallel()
	for want, words := range map[unit]string{
		"ms":    "ms milliseconds Millisekunden millisecondes milisegundos millisecondi",
		"s":     "s sec secs second seconds Sekunde Sekunden seconde secondes segundo segundos secondo secondi секунд секунды",
		minute:  "min mins minute minutes Minuten minutos minuto minuti minuut минут минуты минуту",
		hour:    "h hr hrs hour hours Stunde Stunden Std heure heures hora horas ora ore uur час часа часов",
		day:     "day days Tag Tage Tagen jour jours día días dia dias giorno giorni dag dagen день дня дней nights Nächte nuits noches notti noites",
		week:    "week weeks Woche Wochen semaine semaines semana semanas settimana settimane weken неделя недели недель",
		"month": "month months Monat Monate mois mes meses mese mesi mês maand maanden месяц месяца месяцев",
		year:    "year years Jahr Jahre Jahren ans année années año años anno anni ano anos jaar год года лет",
	} {
		for word := range strings.FieldsSeq(strings.ToLower(words)) {
			if got := unitOf(word); got != want || got != periodOf(word) {
				t.Errorf("%s is %q, want %q", word, got, want)
			}
		}
	}
}

// What else is measured has the words that people use for it.
func TestMeasureWords(t *testing.T) {
	t.Parallel()
	for want, words := range map[unit]string{
		"g": "g grams Gramm grammes gramos grammi", "kg": "kg kilo kilos kilograms Kilogramm", "lb": "lb lbs pound", "oz": "oz", "mg": "mg",
		"m": "m meter metres Meter mètres metros metri", "km": "km kilometers kilometres Kilometer kilomètres kilómetros chilometri", "mi": "mi mile miles Meilen millas miglia",
		"ft": "ft feet foot", "in": "inch inches", "cm": "cm", "mm": "mm", "l": "l liter litres Litern litros litri", "ml": "ml",
		"c": "c Celsius", "f": "f Fahrenheit", degree: "Grad degrees degré grados gradi graus", "kmh": "kmh kph", "mph": "mph", "mps": "mps",
		"w": "w watt watts", "kw": "kw kilowatts", "wh": "wh", "kwh": "kwh", "mwh": "mwh", "kcal": "kcal", "kj": "kj",
		"byte": "byte bytes octets", "kb": "kb KiB", "mb": "mb MiB", "gb": "gb GiB", "tb": "tb TiB", "hpa": "hpa", "bpm": "bpm", "ppm": "ppm", "rps": "rps",
		money: "euro euros dollars pounds francs Franken dólares dollari yen money usd EUR gbp chf jpy inr", cent: "cents ct centimes céntimos centesimi centavos pence",
		"": "apples us r rs per thousand is todos",
	} {
		for word := range strings.FieldsSeq(strings.ToLower(words)) {
			if got := unitOf(word); got != want {
				t.Errorf("%s is %q, want %q", word, got, want)
			}
		}
	}
}

// Adjectives name a period of the calendar as its nouns do.
func TestPeriodWords(t *testing.T) {
	t.Parallel()
	for want, words := range map[unit]string{
		day: "daily täglich quotidien diario diaria giornaliero", week: "weekly wöchentlich hebdomadaire semanal settimanale",
		"month": "monthly monatlich mensuel mensuelle mensual mensile", year: "yearly annual annually jährlich an annuel annuelle anual annuale", "": "often",
	} {
		for word := range strings.FieldsSeq(words) {
			if got := periodOf(word); got != want {
				t.Errorf("%s is %q, want %q", word, got, want)
			}
		}
	}
}

// One unit in another is what the international system says.
func TestInUnit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v        float64
		from, to unit
		want     []float64
	}{
		{90, minute, hour, []float64{1.5}},
		{1.5, hour, minute, []float64{90}},
		{2, hour, "s", []float64{7200}},
		{1500, "ms", "s", []float64{1.5}},
		{36, hour, day, []float64{1.5}},
		{5, "km", "m", []float64{5000}},
		{10, "mi", "km", []float64{16.09344}},
		{1, "ft", "in", []float64{12}},
		{1, "m", "cm", []float64{100}},
		{1, "cm", "mm", []float64{10}},
		{2.5, "kg", "g", []float64{2500}},
		{1, "lb", "kg", []float64{0.45359237}},
		{5, "g", "mg", []float64{5000}},
		{1, "l", "ml", []float64{1000}},
		{36, "kmh", "mps", []float64{10}},
		{60, "mph", "kmh", []float64{96.56064}},
		{1.5, "kw", "w", []float64{1500}},
		{1, "mwh", "kwh", []float64{1000}},
		{1, "kwh", "wh", []float64{1000}},
		{1250, cent, money, []float64{12.5}},
		{20, "c", "f", []float64{68}},
		{68, "f", "c", []float64{20}},
		{-40, "c", "f", []float64{-40}},
		{20, "c", degree, []float64{68, -60. / 9}},
		{1, "gb", "mb", []float64{1000, 1024}},
		{1, "kb", "byte", []float64{1000, 1024}},
		{1, "tb", "gb", []float64{1000, 1024}},
		{2, "gb", "byte", []float64{2e9, 2 << 30}},
		{1, hour, anyTime, []float64{3.6e6, 3600, 60, 1}},
		{1, "kg", "km", nil},
		{1, "kg", "kg", nil},
		{1, "", "kg", nil},
		{1, "kg", "", nil},
		{1, "c", "kg", nil},
		{1, degree, "c", nil},
		{1, "c", "c", nil},
		{1, week, day, nil}, // not converted: a week is of the calendar
		{1, "kcal", "kj", nil},
	} {
		var got []float64
		for _, b := range exactBounds(tt.v).inUnit(tt.from, tt.to) {
			if b.low > b.high {
				t.Errorf("%v %s in %s: %v", tt.v, tt.from, tt.to, b)
			}
			got = append(got, (b.low+b.high)/2)
		}
		if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }) {
			t.Errorf("%v %s in %s is %v, want %v", tt.v, tt.from, tt.to, got, tt.want)
		}
	}
}

// What is converted there and back is the same again, and units of two kinds never convert.
func TestConversionsAgree(t *testing.T) {
	t.Parallel()
	for _, a := range measures {
		for _, b := range measures {
			there := bounds{7, 7}.inUnit(a.unit, b.unit)
			if (len(there) > 0) != (a.dimension == b.dimension && a.unit != b.unit) {
				t.Errorf("%s in %s: %v", a.unit, b.unit, there)
			}
			if len(there) == 0 {
				continue
			}
			if back := there[0].inUnit(b.unit, a.unit); math.Abs(back[0].low-7) > 1e-9 {
				t.Errorf("7 %s in %s and back are %v", a.unit, b.unit, back[0].low)
			}
		}
	}
	for _, u := range []unit{"", "kcal", week, degree, "nothing"} {
		if d, size := dimensionOf(u); d != 0 || size != 0 {
			t.Errorf("%q converts: %c %v", u, d, size)
		}
	}
}

// Temperatures and speeds have no sum that means something.
func TestIsAdditive(t *testing.T) {
	t.Parallel()
	for u, want := range map[unit]bool{"": true, "kg": true, hour: true, money: true, lengthUnit: true, degree: false, "c": false, "f": false, "kmh": false, "mps": false, "mph": false} {
		if got := isAdditive(u); got != want {
			t.Errorf("%q adds up: %v", u, got)
		}
	}
}

// The name of a member says in which unit its numbers are.
func TestNameUnit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]unit{
		"wind_kmh": "kmh", "windKmh": "kmh", "wind-kmh": "kmh", "hours": hour, "hours_logged": hour, "duration_min": minute, "durationMin": minute,
		"temp_c": "c", "temp": degree, "temperature": degree, "temp_min": degree, "temp_max": degree, "temp_min_c": "c", "min": "", "min_temp": degree, "max": "",
		"c": "", "m": "", "s": "", "h": "", "min_minutes": minute, "minutes": minute, "min_price": "", "minPrice": "", "min_temp_f": "f", "minuten": minute, "duration": anyTime, "elapsed": anyTime, "latency": anyTime, "delay": anyTime, "uptime_s": "s", "dauer": anyTime, "durée": anyTime, "durata": anyTime,
		"price": "", "price_cents": cent, "price_usd": money, "amount_eur": money, "storage_gb": "gb", "bytes": "byte", "size_kb": "kb",
		"km_h": "kmh", "speed_km_h": "kmh", "mg_dl": "mg", "g_l": "", "km_per_day": "km", "cost_per_hour": "", "hours_per_week": hour, "kwh_pro_tag": "kwh", "euro_je_stunde": money,
		"weight_kg": "kg", "distance_km": "km", "": "", "id": "", "count": "", "days": day, "night_count": day, "year": year, "years_km": "",
	} {
		if got := nameUnit(nameWords(name)); got != want {
			t.Errorf("%q is in %q, want %q", name, got, want)
		}
	}
}

// A name is split at signs and at capitals behind small letters.
func TestNameWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"unitPrice": "unit price", "unit_price": "unit price", "unit-price": "unit price", "Unit Price": "unit price", "unit.price": "unit price", "__unit__price__": "unit price",
		"UnitPRICE": "unit price", "ID": "id", "userID": "user id", "price2": "price2", "2nd": "2nd", "größeKm": "größe km", "größe€km": "größe km", "": "", "_": "", "a": "a", "aB": "a b", "日本": "日本",
	} {
		if got := strings.Join(nameWords(name), " "); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// A name of bytes that are no text is split as well, and its words have no sign in them.
func FuzzNameWords(f *testing.F) {
	f.Add("unitPrice_€-x\xff")
	f.Fuzz(func(t *testing.T, name string) {
		words := nameWords(name)
		for _, word := range words {
			if word == "" || strings.ContainsAny(word, "_-. /") {
				t.Fatalf("%q is %q", name, words)
			}
		}
		nameUnit(words)
	})
}
