package numbers

import "testing"

// An answer in each of eleven languages is judged alike: its ways to write numbers, dates, times,
// spans, percentages and what is rounded.
func TestLanguages(t *testing.T) {
	t.Parallel()
	const result = `{"done":1234.5,"share_pct":37.5,"due":"2026-11-24","opens":"09:00","closes":"17:30","walk_min":90,"people":3200000,"rooms":["a","b","c","d"]}`
	for language, answers := range map[string][]answer{
		"English": {
			{"You have 1,234.5 of them.", true}, {"You have 1,234.6 of them.", false}, {"It is 37.5 percent.", true}, {"It is 38.5 percent.", false}, {"It is due on November 24th.", true}, {"It is due on November 25th.", false},
			{"It opens at 9 a.m. and closes at 5:30 p.m.", true}, {"It closes at 6:30 p.m.", false}, {"The walk takes an hour and a half, or 1.5 hours.", true}, {"The walk takes 1 hour and 30 minutes.", true}, {"The walk takes 1 hour and 40 minutes.", false},
			{"There are 3.2 million people.", true}, {"There are 3.3 million people.", false}, {"There are about 1,200 of them.", true}, {"There are about 1,300 of them.", false}, {"There are over 1,200 of them.", true}, {"There are 4 rooms.", true}, {"There are 7 rooms.", false}, {"It is due in 2 days.", true}, {"It is due in 3 days.", false},
		},
		"German": {
			{"Es sind 1.234,5.", true}, {"Es sind 1.234,6.", false}, {"Es sind 37,5 Prozent.", true}, {"Es sind 38,5 Prozent.", false}, {"Fällig am 24. November.", true}, {"Fällig am 25. November.", false}, {"Fällig am 24.11.", true},
			{"Geöffnet von 9 bis 17.30 Uhr.", true}, {"Geöffnet bis 18.30 Uhr.", false}, {"Der Weg dauert 1,5 Stunden.", true}, {"Der Weg dauert 1 Stunde und 30 Minuten.", true}, {"Der Weg dauert 1 Stunde und 40 Minuten.", false},
			{"Es sind 3,2 Millionen Menschen.", true}, {"Es sind 3,3 Millionen Menschen.", false}, {"Es sind rund 1.200.", true}, {"Es sind rund 1.300.", false}, {"Es sind knapp 1.240.", true}, {"Es gibt 4 Zimmer.", true}, {"Es gibt 7 Zimmer.", false}, {"Fällig in 2 Tagen.", true}, {"Fällig in 3 Tagen.", false},
		},
		"French": {
			{"Il y en a 1 234,5.", true}, {"Il y en a 1\u202f234,5.", true}, {"Il y en a 1 234,6.", false}, {"C'est 37,5 pour cent.", true}, {"C'est 37,5 %.", true}, {"C'est 38,5 %.", false}, {"Pour le 24 novembre.", true}, {"Pour le 25 novembre.", false},
			{"Ouvert de 9h à 17h30.", true}, {"Ouvert jusqu'à 18h30.", false}, {"Il faut 1,5 heure.", true}, {"Il faut 1 h 30.", true}, {"Il faut 1 heure et 40 minutes.", false},
			{"Il y a 3,2 millions de gens.", true}, {"Il y a 3,3 millions de gens.", false}, {"Environ 1 200.", true}, {"Environ 1 300.", false}, {"Presque 1 240.", true}, {"Il y a 4 chambres.", true}, {"Il y a 7 chambres.", false}, {"Dans 2 jours.", true}, {"Dans 3 jours.", false},
		},
		"Spanish": {
			{"Son 1.234,5.", true}, {"Son 1.234,6.", false}, {"Es el 37,5 por ciento.", true}, {"Es el 38,5 por ciento.", false}, {"Para el 24 de noviembre.", true}, {"Para el 25 de noviembre.", false},
			{"Abre a las 9 y cierra a las 17:30.", true}, {"Cierra a las 18:30.", false}, {"Son 1,5 horas.", true}, {"Son 1 hora y 30 minutos.", true}, {"Son 1 hora y 40 minutos.", false},
			{"Son 3,2 millones.", true}, {"Son 3,3 millones.", false}, {"Unos 1.200.", true}, {"Unos 1.300.", false}, {"Casi 1.240.", true}, {"Hay 4 habitaciones.", true}, {"Hay 7 habitaciones.", false}, {"En 2 días.", true}, {"En 3 días.", false},
		},
		"Portuguese": {
			{"São 1.234,5.", true}, {"São 1.234,6.", false}, {"É 37,5 por cento.", true}, {"É 38,5 por cento.", false}, {"Até 24 de novembro.", true}, {"Até 25 de novembro.", false},
			{"Abre às 9 e fecha às 17:30.", true}, {"Fecha às 18:30.", false}, {"São 1,5 horas.", true}, {"São 1 hora e 30 minutos.", true}, {"São 1 hora e 40 minutos.", false},
			{"São 3,2 milhões.", true}, {"São 3,3 milhões.", false}, {"Cerca de 1.200.", true}, {"Cerca de 1.300.", false}, {"Quase 1.240.", true}, {"Há 4 quartos.", true}, {"Há 7 quartos.", false}, {"Em 2 dias.", true}, {"Em 3 dias.", false},
		},
		"Italian": {
			{"Sono 1.234,5.", true}, {"Sono 1.234,6.", false}, {"È il 37,5 per cento.", true}, {"È il 38,5 per cento.", false}, {"Entro il 24 novembre.", true}, {"Entro il 25 novembre.", false},
			{"Apre alle 9 e chiude alle 17:30.", true}, {"Chiude alle 18:30.", false}, {"Ci vogliono 1,5 ore.", true}, {"Ci vogliono 1 ora e 30 minuti.", true}, {"Ci vogliono 1 ora e 40 minuti.", false},
			{"Sono 3,2 milioni.", true}, {"Sono 3,3 milioni.", false}, {"Circa 1.200.", true}, {"Circa 1.300.", false}, {"Quasi 1.240.", true}, {"Ci sono 4 camere.", true}, {"Ci sono 7 camere.", false}, {"Tra 2 giorni.", true}, {"Tra 3 giorni.", false},
		},
		"Dutch": {
			{"Het zijn er 1.234,5.", true}, {"Het zijn er 1.234,6.", false}, {"Het is 37,5 procent.", true}, {"Het is 38,5 procent.", false}, {"Voor 24 november.", true}, {"Voor 25 november.", false},
			{"Open tot 17.30 uur.", true}, {"Open tot 18.30 uur.", false}, {"Het duurt 1,5 uur.", true}, {"Het duurt 1 uur en 30 minuten.", true}, {"Het duurt 1 uur en 40 minuten.", false},
			{"Het zijn 3,2 miljoen mensen.", true}, {"Het zijn 3,3 miljoen mensen.", false}, {"Ongeveer 1.200.", true}, {"Ongeveer 1.300.", false}, {"Bijna 1.240.", true}, {"Er zijn 4 kamers.", true}, {"Er zijn 7 kamers.", false}, {"Over 2 dagen.", true}, {"Over 7 dagen.", false},
		},
		"Russian": {
			{"Их 1 234,5.", true}, {"Их 1 234,6.", false}, {"Это 37,5 процента.", true}, {"Это 38,5 процента.", false}, {"До 24 ноября.", true}, {"До 25 ноября.", false},
			{"Открыто с 9:00 до 17:30.", true}, {"Открыто до 18:30.", false}, {"Дорога займёт 1,5 часа.", true}, {"Дорога займёт 1 час 30 минут.", true}, {"Дорога займёт 1 час 40 минут.", false},
			{"Их 3,2 миллиона.", true}, {"Их 3,3 миллиона.", false}, {"Около 1 200.", true}, {"Около 1 300.", false}, {"Почти 1 240.", true}, {"Есть 4 комнаты.", true}, {"Есть 7 комнат.", false}, {"Через 2 дня.", true}, {"Через 3 дня.", false},
		},
		"Arabic": {
			{"لديك ١٬٢٣٤٫٥ منها.", true}, {"لديك ١٬٢٣٤٫٦ منها.", false}, {"هي ٣٧٫٥٪.", true}, {"هي ٣٨٫٥٪.", false}, {"هناك ٤ غرف.", true}, {"هناك ٧ غرف.", false}, {"يغلق ١٧:٣٠.", true}, {"يغلق ١٨:٣٠.", false},
		},
		"Hindi": {
			{"आपके पास १,२३४.५ हैं।", true}, {"आपके पास १,२३४.६ हैं।", false}, {"यह ३७.५% है।", true}, {"यह ३८.५% है।", false}, {"४ कमरे हैं।", true}, {"७ कमरे हैं।", false}, {"३२ लाख लोग हैं।", true}, {"३३ लाख लोग हैं।", false},
		},
		"Japanese": {
			{"1,234.5あります。", true}, {"1,234.6あります。", false}, {"37.5パーセントです。", true}, {"38.5パーセントです。", false}, {"期限は11月24日です。", true}, {"期限は11月25日です。", false}, {"１７:３０まで。", true}, {"１８:３０まで。", false},
			{"90分かかります。", true}, {"80分かかります。", false}, {"1時間30分かかります。", true}, {"1時間40分かかります。", false}, {"320万人います。", true}, {"330万人います。", false}, {"4部屋あります。", true}, {"7部屋あります。", false},
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			judgeAll(t, "", result, answers)
		})
	}
}
