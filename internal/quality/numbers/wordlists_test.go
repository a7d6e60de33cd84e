package numbers

import (
	"strings"
	"testing"
)

// Each language has its twelve months, in full and as they are shortened.
func TestMonths(t *testing.T) {
	t.Parallel()
	for language, months := range map[string]string{
		"English":            "January February March April May June July August September October November December",
		"English, short":     "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
		"German":             "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"German, short":      "Jan Feb Mrz Apr Mai Jun Jul Aug Sept Okt Nov Dez",
		"French":             "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"French, short":      "janv févr mars avr mai juin juil août sept oct nov déc",
		"Spanish":            "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"Spanish, short":     "ene feb mar abr mayo jun jul ago sept oct nov dic",
		"Portuguese":         "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
		"Portuguese, short":  "jan fev mar abr mai jun jul ago set out nov dez",
		"Italian":            "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
		"Italian, short":     "gen feb mar apr mag giu lug ago set ott nov dic",
		"Dutch":              "januari februari maart april mei juni juli augustus september oktober november december",
		"Dutch, short":       "jan feb mrt apr mei jun jul aug sep okt nov dec",
		"Russian, of a date": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
		"Russian":            "январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь",
		"Russian, short":     "янв фев мар апр май июн июл авг сен окт ноя дек",
	} {
		for i, word := range strings.Fields(strings.ToLower(months)) {
			if got := monthOf(word); got != i+1 {
				t.Errorf("%s: %s is the month %d, want %d", language, word, got, i+1)
			}
		}
	}
	if monthOf("day") != 0 || monthOf("") != 0 || monthOf("May") != 0 {
		t.Error("a word in lower case names a month, and no other")
	}
}

// Each language has its weekdays.
func TestWeekdays(t *testing.T) {
	t.Parallel()
	for language, days := range map[string]string{
		"English":        "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
		"English, short": "Mon Tue Wed Thu Fri Sat Sun Tues Thurs",
		"German":         "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonnabend Sonntag",
		"French":         "lundi mardi mercredi jeudi vendredi samedi dimanche",
		"Spanish":        "lunes martes miércoles jueves viernes sábado domingo",
		"Italian":        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
		"Portuguese":     "segunda terça quarta quinta sexta sábado domingo",
		"Dutch":          "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
	} {
		for day := range strings.FieldsSeq(strings.ToLower(days)) {
			if senseOf(day) != weekday {
				t.Errorf("%s: %s is no weekday", language, day)
			}
		}
	}
}

// What a word says of a number is the same in all languages.
func TestSenses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want  sense
		words string
	}{
		{near, "about around approximately approx roughly circa ca some estimated"},
		{near, "rund etwa ungefähr ungefaehr environ autour quelque unos unas aproximadamente alrededor cerca intorno ongeveer около примерно 約 约 大约 近"},
		{under, "nearly almost fast knapp beinahe presque casi quasi bijna quase почти ほぼ"},
		{moreThan | change, "over more plus über mehr gut oltre più más ruim более свыше exceeding"},
		{moreThan, "above exceeds exceeded passed reached least oberhalb mindestens erreicht atteint dépassé alcanzado superado almeno superato"},
		{less, "minus below under spent paid owe owes lost loss losses behind negative deficit debt overdrawn withdrawn charged cost costs expenses"},
		{less, "unter verloren verlust ausgegeben bezahlt schulden ausgaben rückstand moins dépensé payé perdu perte dette sous"},
		{less, "gastado gasto gastos pagado perdido pérdida deuda bajo speso spese pagato perso perdita debito sotto"},
		{less | change, "less fell fallen drop dropped decline decrease decreased down lower reduced sank"},
		{less | change, "weniger gesunken gefallen rückgang niedriger baissé baisse diminué menos bajado cayó caída disminuyó meno sceso calo diminuito меньше"},
		{change, "up higher gain gained rise rose grew growth increase increased cheaper faster longer saved savings discount better"},
		{change, "gestiegen anstieg zuwachs gewachsen höher günstiger teurer hausse augmenté croissance subido aumento crecimiento aumentato crescita risparmio ahorro gespart больше"},
		{ratio, "times per each every apiece twice ratio mal je pro jeweils jede fois par chacun chaque veces por cada volte ogni ciascuno vezes раз на"},
		{average, "average averages mean avg durchschnitt durchschnittlich schnitt mittel mittelwert moyenne moyen media promedio medio média gemiddeld среднем средняя 平均"},
		{help, "call dial ring phone emergency notruf rufen wählen notfall polizei appelez urgence composez llame emergencia chiama emergenza ligue emergência bel звоните police ambulance"},
		{joint, "and und et y e or oder ou o и tot en au aux through al"},
		{joint | atTime, "to until till bis alle às"},
		{article, "the an der die das den il lo le les el los un une una of de di del des du than als que ein eine"},
		{article | atTime, "a la las"},
		{atTime, "at um à from ab von gegen dalle dès desde by vers before after since vor nach seit"},
		{0, "thing todos is ABOUT 24"},
	} {
		for word := range strings.FieldsSeq(tt.words) {
			if got := senseOf(word); got != tt.want {
				t.Errorf("%s says %b, want %b", word, got, tt.want)
			}
		}
	}
}

// A word has one meaning as a scale, a percentage or a unit wherever the reader asks for all.
func TestWordsHaveOneMeaning(t *testing.T) {
	t.Parallel()
	for word := range strings.FieldsSeq("k thousand million billion trillion lakh crore mio mrd percent prozent procent pct") {
		if unitOf(word) != "" || monthOf(word) != 0 || isPercent(word) && scaleOf(word) != 0 {
			t.Errorf("%s has two meanings", word)
		}
	}
	for _, r := range "千万萬만亿億억" {
		if counterOf(r) == 0 || counterUnitOf(r) != "" {
			t.Errorf("%c is no scale", r)
		}
	}
	for _, r := range "分분小時时시天日일周週주" {
		if counterOf(r) != 0 || counterUnitOf(r) == "" {
			t.Errorf("%c is no unit", r)
		}
	}
	if counterOf('a') != 0 || counterUnitOf('a') != "" || scaleOf("a") != 0 || isPercent("cent") {
		t.Error("a letter is a scale or a unit")
	}
}
