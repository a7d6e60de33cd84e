package check

import "strings"

// percents say that a number is one of 100.
var percents = [...]string{"percent", "per", "prozent", "pour", "por", "percento", "procent", "pct", "процент", "процента", "процентов", "パーセント"}

// scales are powers of ten that are written as words behind a number.
var scales = map[string]float64{
	"k": 1e3, "thousand": 1e3, "tausend": 1e3, "mille": 1e3, "mil": 1e3, "mila": 1e3, "duizend": 1e3, "тыс": 1e3, "тысяч": 1e3, "тысячи": 1e3,
	"m": 1e6, "mm": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "millions": 1e6, "millionen": 1e6, "millón": 1e6, "millones": 1e6, "milhão": 1e6, "milhões": 1e6, "milione": 1e6, "milioni": 1e6,
	"miljoen": 1e6, "млн": 1e6, "миллион": 1e6, "миллиона": 1e6, "миллионов": 1e6,
	"b": 1e9, "bn": 1e9, "mrd": 1e9, "billion": 1e9, "billions": 1e9, "milliarde": 1e9, "milliarden": 1e9, "milliard": 1e9, "milliards": 1e9, "miliardo": 1e9, "miliardi": 1e9, "miljard": 1e9, "млрд": 1e9,
	"trillion": 1e12, "lakh": 1e5, "lakhs": 1e5, "crore": 1e7, "crores": 1e7, "लाख": 1e5, "करोड़": 1e7,
}

// counters are scales that are written as one character.
var counters = map[rune]float64{'千': 1e3, '万': 1e4, '萬': 1e4, '만': 1e4, '亿': 1e8, '億': 1e8, '억': 1e8}

// units are spans of time in minutes.
var units = wordMap(map[float64]string{
	1:     "minute minutes min mins minuten minutos minuto minuti minuut минут минуты минуту",
	60:    "hour hours hr hrs h stunde stunden std heure heures hora horas ora ore uur час часа часов",
	1440:  "day days tag tage tagen jour jours día días dia dias giorno giorni dag dagen день дня дней dni",
	10080: "week weeks woche wochen semaine semaines semana semanas settimana settimane weken неделя недели недель",
})

// counterUnits are units of languages without spaces, by the character that they begin with.
var counterUnits = map[rune]float64{'分': 1, '小': 60, '時': 60, '天': 1440, '日': 1440, '周': 10080, '週': 10080, '분': 1, '시': 60, '일': 1440, '주': 10080}

// months are those of eight languages, with what they are shortened to.
var months = wordMap(map[int]string{
	1:  "january jan januar januari janvier janv enero ene janeiro gennaio gen января январь янв",
	2:  "february feb februar februari février févr fév febrero fevereiro fev febbraio февраля февраль фев",
	3:  "march mar märz mrz maart mars marzo março марта март мар",
	4:  "april apr avril avr abril abr aprile апреля апрель апр",
	5:  "may mai mei mayo maio maggio mag мая май",
	6:  "june jun juni juin junio junho giugno giu июня июнь июн",
	7:  "july jul juli juillet juil julio julho luglio lug июля июль июл",
	8:  "august aug augustus août agosto ago августа август авг",
	9:  "september sep sept septembre septiembre setembro set settembre сентября сентябрь сен",
	10: "october oct oktober okt octobre octubre outubro out ottobre ott октября октябрь окт",
	11: "november nov novembre noviembre novembro ноября ноябрь ноя",
	12: "december dec dezember dez décembre déc diciembre dic dezembro dicembre декабря декабрь дек",
})

// wordMap turns lists of words into what each of them means.
func wordMap[V comparable](lists map[V]string) map[string]V {
	all := map[string]V{}
	for v, words := range lists {
		for word := range strings.FieldsSeq(words) {
			all[word] = v
		}
	}
	return all
}
