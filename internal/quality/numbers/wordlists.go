package numbers

// The words around numbers, in the languages that the checks know. Each function takes one word in
// lower case, or its first character, and returns the zero value for an unlisted word. A missing
// word makes a check blind to it, never wrong about another number. The functions are switch
// statements, so nothing is built when the program starts.

// isPercent reports whether a word makes the number before it one of 100.
func isPercent(word string) bool {
	switch word {
	case "percent", "prozent", "percento", "procent", "pct", "процент", "процента", "процентов", "パーセント":
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

// counterUnitOf returns the unit of time that a character begins in languages without spaces.
func counterUnitOf(r rune) unit {
	switch r {
	case '分', '분':
		return minute
	case '小', '時', '时', '시':
		return hour
	case '天', '日', '일':
		return day
	case '周', '週', '주':
		return week
	}
	return ""
}

// monthOf returns the month, from 1 on, that a word names in one of eight languages, in full or
// shortened; 0: none.
func monthOf(word string) int {
	switch word {
	case "january", "jan", "januar", "januari", "janvier", "janv", "enero", "ene", "janeiro", "gennaio", "gen", "января", "январь", "янв":
		return 1
	case "february", "feb", "februar", "februari", "février", "févr", "fév", "febrero", "fevereiro", "fev", "febbraio", "февраля", "февраль", "фев":
		return 2
	case "march", "mar", "märz", "mrz", "maart", "mrt", "mars", "marzo", "março", "марта", "март", "мар":
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

// sense is a set of meanings of a word for the numbers of its sentence.
type sense uint16

// Senses of words.
const (
	near     sense = 1 << iota // about: the number after it is rounded
	moreThan                   // more than: it is rounded down
	under                      // almost: it is rounded up
	less                       // a negative amount may stand without its sign
	change                     // a percentage is one of the difference
	ratio                      // one thing by another
	average                    // a mean is rounded
	help                       // a number of calling
	weekday                    // a day of the month follows
	joint                      // between the first and the last of a range, or two of a kind
	article                    // may stand before a number
	atTime                     // a time of day follows
)

// senseOf returns the senses of a word in lower case.
func senseOf(word string) sense {
	switch word {
	case "about", "around", "approximately", "approx", "roughly", "circa", "ca", "some", "rund", "etwa", "ungefähr", "environ", "unos", "unas", "aproximadamente", "alrededor", "ongeveer", "около", "примерно", "約", "约", "大约", "近", "intorno", "autour", "cerca", "quelque", "ungefaehr", "estimated":
		return near
	case "nearly", "almost", "fast", "knapp", "presque", "casi", "quasi", "bijna", "quase", "почти", "beinahe", "ほぼ":
		return under
	case "over", "über", "gut", "oltre", "exceeding", "ruim", "plus", "más", "più", "более", "свыше", "mehr", "more":
		return moreThan | change
	case "above", "exceeds", "exceeded", "oberhalb", "passed", "reached", "least", "mindestens", "erreicht", "atteint", "dépassé", "alcanzado", "superado", "almeno", "superato":
		return moreThan
	case "minus", "below", "spent", "spend", "paid", "pay", "owe", "owes", "owed", "lost", "lose", "loses", "loss", "losses", "behind", "negative", "debit", "deficit", "debt", "overdrawn", "withdrawn", "charged", "under", "unter", "verloren", "verlust", "ausgegeben", "bezahlt", "gezahlt", "schulden", "schuldet", "ausgaben", "rückstand", "moins", "dépensé", "payé", "perdu", "perte", "dette", "dépenses", "sous", "gastado", "gastaste", "gasto", "gastos", "pagado", "pagaste", "perdido", "pérdida", "debe", "debes", "deuda", "bajo", "speso", "spese", "pagato", "perso", "perdita", "deve", "debito", "sotto", "gasté", "expenses", "outflow", "outflows", "costs", "cost":
		return less
	case "less", "weniger", "menos", "meno", "fell", "fallen", "falls", "drop", "dropped", "drops", "decline", "declined", "decrease", "decreased", "down", "lower", "shrinks", "shrank", "shrink", "reduced", "reduction", "sank", "gesunken", "gefallen", "sinkt", "fiel", "rückgang", "niedriger", "baissé", "baisse", "diminué", "recul", "bajado", "bajó", "cayó", "caída", "disminuyó", "sceso", "calo", "diminuito", "caduto", "cala", "меньше":
		return less | change
	case "up", "higher", "gain", "gained", "gains", "rise", "rose", "risen", "rises", "grew", "grown", "growth", "grows", "increase", "increased", "increases", "jump", "jumped", "cheaper", "faster", "slower", "longer", "shorter", "saved", "saves", "save", "saving", "savings", "discount", "bigger", "larger", "smaller", "better", "worse", "gestiegen", "anstieg", "zuwachs", "gewachsen", "zugenommen", "höher", "steigerung", "günstiger", "billiger", "teurer", "länger", "kürzer", "gewinn", "hausse", "augmenté", "augmentation", "croissance", "gagné", "supérieur", "inférieur", "subido", "subió", "aumento", "aumentó", "crecimiento", "ganado", "ganancia", "aumentato", "cresciuto", "crescita", "guadagno", "guadagnato", "rialzo", "risparmiato", "risparmio", "risparmi", "ahorrado", "ahorro", "ahorras", "économisé", "économisez", "économie", "gespart", "sparen", "ersparnis", "больше":
		return change
	case "times", "per", "each", "every", "apiece", "twice", "ratio", "mal", "je", "pro", "jeweils", "jede", "jeder", "jedes", "verhältnis", "fois", "par", "chacun", "chacune", "chaque", "veces", "por", "cada", "volte", "ogni", "ciascuno", "ciascuna", "vezes", "раз", "на", "persona", "head":
		return ratio
	case "average", "averages", "averaged", "averaging", "mean", "avg", "durchschnitt", "durchschnittlich", "durchschnittliche", "durchschnittlicher", "schnitt", "mittel", "mittelwert", "moyenne", "moyen", "media", "promedio", "medio", "mediamente", "média", "gemiddeld", "среднем", "средняя", "средний", "平均":
		return average
	case "call", "calling", "dial", "ring", "phone", "emergency", "emergencies", "notruf", "rufen", "rufe", "ruf", "wählen", "wähle", "notfall", "polizei", "appelez", "appeler", "urgence", "urgences", "composez", "llame", "llama", "llamar", "emergencia", "emergencias", "marque", "chiama", "chiamare", "chiamate", "emergenza", "ligue", "emergência", "bel", "звоните", "police", "ambulance":
		return help
	case "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mon", "tue", "tues", "wed", "thu", "thurs", "fri", "sat", "sun", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonnabend", "sonntag", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo", "lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato", "domenica", "segunda", "terça", "quarta", "quinta", "sexta", "maandag", "dinsdag", "woensdag", "donderdag", "vrijdag", "zaterdag", "zondag":
		return weekday
	case "au", "aux", "ai", "a las", "to", "and", "bis", "und", "et", "al", "y", "e", "till", "until", "through", "or", "oder", "ou", "o", "alle", "и", "tot", "en", "às":
		return joint | timeWord(word)
	case "the", "a", "an", "der", "die", "das", "den", "dem", "il", "lo", "la", "le", "les", "el", "los", "las", "un", "une", "una", "of", "de", "di", "del", "des", "du", "than", "als", "que", "ein", "eine", "einem":
		return article | timeWord(word)
	case "at", "um", "à", "from", "ab", "von", "gegen", "dalle", "dès", "desde", "by", "vers", "as", "before", "after", "since", "vor", "nach", "seit":
		return atTime
	}
	return 0
}

// timeWord is atTime for the words of other senses that stand before a time of day.
func timeWord(word string) sense {
	switch word {
	case "las", "la", "alle", "to", "until", "till", "bis", "às", "a":
		return atTime
	}
	return 0
}
