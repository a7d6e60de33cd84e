package check

// The words around numbers, in the languages that the checks know. Each function takes one
// word in lower case, or the first character of one, and returns the zero value for what is
// not in its list: a word that is missing here makes a check blind to it, never wrong about
// another number. They are switch statements, so nothing is built when the program starts.

// isPercent says whether a word makes the number before it one of 100.
func isPercent(word string) bool {
	switch word {
	case "percent", "per", "prozent", "pour", "por", "percento", "procent", "pct", "процент", "процента", "процентов", "パーセント":
		return true
	}
	return false
}

// scaleOf returns the power of ten that a word behind a number stands for; 0: none.
func scaleOf(word string) float64 {
	switch word {
	case "k", "thousand", "tausend", "mille", "mil", "mila", "duizend", "тыс", "тысяч", "тысячи":
		return 1e3
	case "m", "mm", "mn", "mio", "million", "millions", "millionen", "millón", "millones", "milhão", "milhões", "milione", "milioni", "miljoen", "млн", "миллион", "миллиона", "миллионов":
		return 1e6
	case "b", "bn", "mrd", "billion", "billions", "milliarde", "milliarden", "milliard", "milliards", "miliardo", "miliardi", "miljard", "млрд":
		return 1e9
	case "trillion":
		return 1e12
	case "lakh", "lakhs", "लाख":
		return 1e5
	case "crore", "crores", "करोड़":
		return 1e7
	}
	return 0
}

// counterOf is scaleOf for scales that are written as one character.
func counterOf(r rune) float64 {
	switch r {
	case '千':
		return 1e3
	case '万', '萬', '만':
		return 1e4
	case '亿', '億', '억':
		return 1e8
	}
	return 0
}

// minutesOf returns the span of time that a word names, in minutes; 0: it names none.
func minutesOf(word string) float64 {
	switch word {
	case "minute", "minutes", "min", "mins", "minuten", "minutos", "minuto", "minuti", "minuut", "минут", "минуты", "минуту":
		return 1
	case "hour", "hours", "hr", "hrs", "h", "stunde", "stunden", "std", "heure", "heures", "hora", "horas", "ora", "ore", "uur", "час", "часа", "часов":
		return 60
	case "day", "days", "tag", "tage", "tagen", "jour", "jours", "día", "días", "dia", "dias", "giorno", "giorni", "dag", "dagen", "день", "дня", "дней", "dni":
		return 1440
	case "week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas", "settimana", "settimane", "weken", "неделя", "недели", "недель":
		return 10080
	}
	return 0
}

// counterMinutesOf is minutesOf for languages without spaces, by the character that a unit begins with.
func counterMinutesOf(r rune) float64 {
	switch r {
	case '分', '분':
		return 1
	case '小', '時', '시':
		return 60
	case '天', '日', '일':
		return 1440
	case '周', '週', '주':
		return 10080
	}
	return 0
}

// monthOf returns the month, from 1 on, that a word names in one of eight languages, in full or
// shortened; 0: none.
func monthOf(word string) int {
	switch word {
	case "january", "jan", "januar", "januari", "janvier", "janv", "enero", "ene", "janeiro", "gennaio", "gen", "января", "январь", "янв":
		return 1
	case "february", "feb", "februar", "februari", "février", "févr", "fév", "febrero", "fevereiro", "fev", "febbraio", "февраля", "февраль", "фев":
		return 2
	case "march", "mar", "märz", "mrz", "maart", "mars", "marzo", "março", "марта", "март", "мар":
		return 3
	case "april", "apr", "avril", "avr", "abril", "abr", "aprile", "апреля", "апрель", "апр":
		return 4
	case "may", "mai", "mei", "mayo", "maio", "maggio", "mag", "мая", "май":
		return 5
	case "june", "jun", "juni", "juin", "junio", "junho", "giugno", "giu", "июня", "июнь", "июн":
		return 6
	case "july", "jul", "juli", "juillet", "juil", "julio", "julho", "luglio", "lug", "июля", "июль", "июл":
		return 7
	case "august", "aug", "augustus", "août", "agosto", "ago", "августа", "август", "авг":
		return 8
	case "september", "sep", "sept", "septembre", "septiembre", "setembro", "set", "settembre", "сентября", "сентябрь", "сен":
		return 9
	case "october", "oct", "oktober", "okt", "octobre", "octubre", "outubro", "out", "ottobre", "ott", "октября", "октябрь", "окт":
		return 10
	case "november", "nov", "novembre", "noviembre", "novembro", "ноября", "ноябрь", "ноя":
		return 11
	case "december", "dec", "dezember", "dez", "décembre", "déc", "diciembre", "dic", "dezembro", "dicembre", "декабря", "декабрь", "дек":
		return 12
	}
	return 0
}
