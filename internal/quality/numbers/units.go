// This file knows units: the words for them in answers and in the names of members, and their
// conversion. It also knows units that do not convert, since a sum of different units is
// meaningless.

package numbers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit is the short name of one; "": none is known.
type unit string

// Units that the code treats in a way of their own.
const (
	day     unit = "d"
	week    unit = "week"
	year    unit = "year"
	hour    unit = "h"
	minute  unit = "min"
	degree  unit = "deg"   // of a scale that is not named
	money   unit = "money" // of any currency
	cent    unit = "cent"
	anyTime unit = "time" // a span whose name lacks a unit
)

// unitOf returns the unit that a word in lower case names.
func unitOf(word string) unit {
	switch word {
	case "ms", "millis", "milliseconds", "millisecond", "millisekunden", "millisecondes", "milisegundos", "millisecondi":
		return "ms"
	case "s", "sec", "secs", "second", "seconds", "sek", "sekunde", "sekunden", "seconde", "secondes", "segundo", "segundos", "secondo", "secondi", "секунд", "секунды":
		return "s"
	case "minute", "minutes", "min", "mins", "minuten", "minutos", "minuto", "minuti", "minuut", "минут", "минуты", "минуту":
		return minute
	case "hour", "hours", "hr", "hrs", "h", "stunde", "stunden", "std", "heure", "heures", "hora", "horas", "ora", "ore", "uur", "час", "часа", "часов":
		return hour
	case "day", "days", "tag", "tage", "tagen", "jour", "jours", "día", "días", "dia", "dias", "giorno", "giorni", "dag", "dagen", "день", "дня", "дней", "dni",
		"night", "nights", "nacht", "nächte", "nächten", "nuit", "nuits", "noche", "noches", "notte", "notti", "noite", "noites":
		return day
	case "week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas", "settimana", "settimane", "weken", "неделя", "недели", "недель":
		return week
	case "month", "months", "monat", "monate", "monaten", "mois", "mes", "meses", "mese", "mesi", "mês", "maand", "maanden", "месяц", "месяца", "месяцев":
		return "month"
	case "year", "years", "jahr", "jahre", "jahren", "ans", "année", "années", "año", "años", "anno", "anni", "ano", "anos", "jaar", "год", "года", "лет":
		return year
	}
	return measureOf(word)
}

// measureOf is unitOf for units other than time.
func measureOf(word string) unit {
	switch word {
	case "g", "gram", "grams", "gramm", "gramme", "grammes", "gramos", "grammi":
		return "g"
	case "kg", "kilo", "kilos", "kilogram", "kilograms", "kilogramm", "chili":
		return "kg"
	case "lb", "lbs", "pound":
		return "lb"
	case "m", "meter", "meters", "metre", "metres", "mètres", "metros", "metri":
		return "m"
	case "km", "kilometer", "kilometers", "kilometre", "kilometres", "kilomètres", "kilómetros", "chilometri":
		return "km"
	case "mi", "mile", "miles", "meilen", "millas", "miglia":
		return "mi"
	case "feet", "foot":
		return "ft"
	case "inch", "inches":
		return "in"
	case "l", "liter", "liters", "litre", "litres", "litern", "litros", "litri", "litro":
		return "l"
	case "c", "celsius":
		return "c"
	case "f", "fahrenheit":
		return "f"
	case "grad", "degree", "degrees", "degré", "degrés", "grado", "grados", "gradi", "graus":
		return degree
	case "kph":
		return "kmh"
	}
	return thingOf(word)
}

// thingOf is unitOf for data, energy, money and units that do not convert.
func thingOf(word string) unit {
	switch word {
	case "watt", "watts":
		return "w"
	case "kilowatt", "kilowatts":
		return "kw"
	case "byte", "bytes", "octets":
		return "byte"
	case "kib", "mib", "gib", "tib":
		return unit(word[:1] + "b")
	case "kb", "mb", "gb", "tb", "cm", "mm", "ml", "mg", "oz", "ft", "kmh", "mps", "mph", "kcal", "cal", "kj", "w", "kw", "wh", "kwh", "mwh", "v", "hz", "ppm", "bpm", "hpa", "bar", "psi", "m2", "m3", "sqm", "rpm", "fps", "qps", "rps":
		return unit(word)
	case "cents", "ct", "cts", "centimes", "céntimos", "centesimi", "centavos", "cent", "pence":
		return cent
	case "euro", "euros", "dollar", "dollars", "pounds", "francs", "franken", "dólares", "dollari", "money", "yen":
		return money
	}
	if isCurrency(word) && len(word) == 3 {
		return money
	}
	return ""
}

// dimensionOf returns the quantity that a unit measures, and its size. Both are 0 for a unit that
// does not convert.
func dimensionOf(u unit) (dimension byte, size float64) {
	if u == "" {
		return 0, 0
	}
	for _, m := range measures {
		if m.unit == u {
			return m.dimension, m.size
		}
	}
	return 0, 0
}

// measure is a unit that converts.
type measure struct {
	unit      unit
	dimension byte
	size      float64
}

// measures are the units that convert to one another, if they are of one dimension.
var measures = [...]measure{
	{"ms", 't', 1e-3},
	{"s", 't', 1},
	{minute, 't', 60},
	{hour, 't', 3600},
	{day, 't', 86400},
	{"g", 'g', 1},
	{"kg", 'g', 1000},
	{"m", 'm', 1},
	{"km", 'm', 1000},
	{"mi", 'm', 1609.344},
	{"cm", 'm', 0.01},
	{"mm", 'm', 0.001},
	{"in", 'm', 0.0254},
	{"ft", 'm', 0.3048},
	{"lb", 'g', 453.59237},
	{"mg", 'g', 0.001},
	{"l", 'l', 1},
	{"ml", 'l', 0.001},
	{"w", 'w', 1},
	{"kw", 'w', 1000},
	{"wh", 'e', 1},
	{"kwh", 'e', 1000},
	{"mwh", 'e', 1e6},
	{"kmh", 'v', 1 / 3.6},
	{"mps", 'v', 1},
	{"mph", 'v', 0.44704},
	{"byte", 'b', 1},
	{"kb", 'b', 1e3},
	{"mb", 'b', 1e6},
	{"gb", 'b', 1e9},
	{"tb", 'b', 1e12},
	{cent, '$', 0.01},
	{money, '$', 1},
}

// isTemperature reports whether a unit is one of temperature.
func isTemperature(u unit) bool { return u == degree || u == "c" || u == "f" }

// isAdditive reports whether a sum of amounts of a unit means something.
func isAdditive(u unit) bool {
	dimension, _ := dimensionOf(u)
	return !isTemperature(u) && dimension != 'v'
}

// periodOf returns the period of the calendar that a word names, also as "monthly" does.
func periodOf(word string) unit {
	switch word {
	case "daily", "täglich", "quotidien", "diario", "diaria", "giornaliero", "giornaliera":
		return day
	case "weekly", "wöchentlich", "hebdomadaire", "semanal", "settimanale":
		return week
	case "monthly", "monatlich", "mensuel", "mensuelle", "mensual", "mensile", "mensuales":
		return "month"
	case "yearly", "annual", "annually", "jährlich", "an", "annuel", "annuelle", "anual", "anuales", "annuale", "annui":
		return year
	}
	return unitOf(word)
}

// bounds is the range of a claim's values, ends included.
type bounds struct{ low, high float64 }

// convertDegrees is inUnit for temperatures. A degree may be one of either scale.
func (b bounds) convertDegrees(from, to unit) []bounds {
	fahrenheit := bounds{b.low*9/5 + 32, b.high*9/5 + 32}
	celsius := bounds{(b.low - 32) * 5 / 9, (b.high - 32) * 5 / 9}
	switch {
	case to == degree:
		return []bounds{fahrenheit, celsius}
	case from == "c" && to == "f":
		return []bounds{fahrenheit}
	case from == "f" && to == "c":
		return []bounds{celsius}
	}
	return nil
}

// inUnit writes bounds in the unit from as ones in the unit to. There may be two forms, as of
// a kilobyte; none: the one does not convert to the other.
func (b bounds) inUnit(from, to unit) []bounds {
	if from == "c" || from == "f" {
		return b.convertDegrees(from, to)
	}
	scaled := func(f float64) bounds { return bounds{b.low * f, b.high * f} }
	dimension, size := dimensionOf(from)
	if dimension == 't' && to == anyTime {
		return []bounds{scaled(size / 1e-3), scaled(size), scaled(size / 60), scaled(size / 3600)}
	}
	other, unitSize := dimensionOf(to)
	switch {
	case dimension == 0 || dimension != other || from == to:
		return nil
	case dimension == 'b':
		f := size / unitSize
		binary := f
		for ; binary > 1 && binary < 1e12; binary /= 1000 {
			f *= 1.024
		}
		return []bounds{scaled(size / unitSize), scaled(f)}
	}
	return []bounds{scaled(size / unitSize)}
}

// nameUnit returns the unit in the name of a member, as in wind_kmh. It is the last one, except for
// units after "per". Two in a row are one by the other.
//
// "min" is a minimum if it begins the name, or stands behind a temperature. Spans and
// temperatures without a unit have one that is not named.
func nameUnit(words []string) unit {
	found, last := unit(""), ""
	for i, word := range words {
		u := unitOf(word)
		if word == "min" && (i == 0 || found == degree) {
			continue
		}
		switch {
		case isPer(last), isPer(word), len(words) == 1 && len(word) == 1:
		case u == "" && found == "":
			found = bareUnit(word)
		case u == "":
		case last == "km" && u == hour:
			found = "kmh"
		case unitOf(last) != "":
			return "" // of one by the other, as in mg_dl
		default:
			found = u
		}
		last = word
	}
	return found
}

// isPer reports whether a word divides a quantity from its reference, as "per" does.
func isPer(word string) bool {
	switch word {
	case "per", "pro", "par", "por", "je":
		return true
	}
	return false
}

// bareUnit returns the unit of a thing that has some unit of its kind.
func bareUnit(word string) unit {
	switch word {
	case "temp", "temperature", "temperatur", "temperatura", "température":
		return degree
	case "time", "duration", "elapsed", "uptime", "latency", "dauer", "durée", "duree", "duracion", "duración", "durata", "delay":
		return anyTime
	}
	return ""
}

// nameWords splits the name of a member: unitPrice, unit_price and unit-price are two words.
func nameWords(name string) []string {
	var list []string
	from, last := 0, rune(0)
	for i, r := range name {
		isBreak := !unicode.IsLetter(r) && !unicode.IsDigit(r)
		if isBreak || unicode.IsUpper(r) && unicode.IsLower(last) {
			if i > from {
				list = append(list, strings.ToLower(name[from:i]))
			}
			from = i
			if isBreak {
				from += utf8.RuneLen(r)
			}
		}
		last = r
	}
	if from < len(name) {
		list = append(list, strings.ToLower(name[from:]))
	}
	return list
}
