package when

import (
	"iter"
	"maps"
	"strings"
	"time"

	"resumed/internal/limit/token"
)

// Months as desktop agents print them in the languages of their users.
var foreignMonths = [...]string{
	"janv janvier jän jänner januar ene enero janeiro gen gennaio января янв",
	"févr février februar febrero fev fevereiro febbraio февраля фев",
	"mars mär märz mrz marzo março марта мар",
	"avr avril abr abril aprile апреля апр",
	"mai mayo maio mag maggio мая",
	"juin juni junio junho giu giugno июня июн",
	"juil juillet juli julio julho lug luglio июля июл",
	"août agosto ago августа авг",
	"septembre septiembre set setembro settembre сентября сен",
	"octobre okt oktober octubre out outubro ott ottobre октября окт",
	"novembre noviembre novembro ноября ноя",
	"déc décembre dez dezember dic diciembre dezembro dicembre декабря дек",
}

var foreignWeekdays = [...]string{
	"sonntag dimanche domingo domenica воскресенье 星期日 星期天 周日 日曜日 일요일",
	"montag lundi lunes segunda lunedì понедельник 星期一 周一 月曜日 월요일",
	"dienstag mardi martes terça martedì вторник 星期二 周二 火曜日 화요일",
	"mittwoch mercredi miércoles quarta mercoledì среду 星期三 周三 水曜日 수요일",
	"donnerstag jeudi jueves quinta giovedì четверг 星期四 周四 木曜日 목요일",
	"freitag vendredi viernes sexta venerdì пятницу 星期五 周五 金曜日 금요일",
	"samstag samedi sábado sabato субботу 星期六 周六 土曜日 토요일",
}

// Days that are named by how far ahead they are.
var daysAhead = map[string]int{
	"today": 0, "tonight": 0, "heute": 0, "hoje": 0, "hoy": 0, "oggi": 0, "сегодня": 0, "今天": 0, "今日": 0, "오늘": 0,
	"tomorrow": 1, "morgen": 1, "demain": 1, "mañana": 1, "amanhã": 1, "domani": 1, "завтра": 1, "明天": 1, "明日": 1, "내일": 1,
}

var midnights = token.Set("midnight mitternacht minuit medianoche полночь полуночи 午夜 零点 자정")

// halves stand before the hour: 下午3点.
var halves = map[string]int{"上午": 0, "凌晨": 0, "早上": 0, "下午": 12, "晚上": 12, "午前": 0, "午後": 12, "오전": 0, "오후": 12}

// Units in the languages that agents are used in. One letter that means a day
// of the month elsewhere is none.
func init() {
	for unit, words := range map[time.Duration]string{
		time.Millisecond: "мс 毫秒 ミリ秒",
		time.Second:      "sek sekunde sekunden seconde secondes seg segundo segundos secondo secondi сек секунда секунду секунды секунд 秒 秒钟 秒鐘 초",
		time.Minute:      "minuten minuto minutos minuti мин минута минуту минуты минут 分 分钟 分鐘 分間 분",
		time.Hour:        "std stunde stunden heure heures hora horas ora ore ч час часа часов 小时 小時 个小时 時間 시간",
		day:              "tag tage tagen jour jours día días dia dias giorno giorni день дня дней сутки суток 天 日間 日後 日后 일간",
		7 * day:          "woche wochen semaine semaines semana semanas settimana settimane неделю недели недель 周 个星期 週間 주일",
	} {
		for w := range strings.FieldsSeq(words) {
			units[w] = unit
		}
	}
	for _, words := range []iter.Seq[string]{
		maps.Keys(units), maps.Keys(weekdays), maps.Keys(daysAhead), maps.Keys(midnights), maps.Keys(halves),
		maps.Keys(fillers), maps.Keys(particles), maps.Keys(bygone),
	} {
		for w := range words {
			token.LearnGlyphs(w)
		}
	}
}

// andWords join the parts of a length.
var andWords = token.Set(", and und et y e и と")

// numbers are amounts in words. None of them is an amount but before a unit.
var numbers = map[string]float64{
	"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
	"a": 1, "an": 1, "ein": 1, "eine": 1, "einer": 1, "einem": 1, "un": 1, "une": 1, "una": 1, "um": 1, "uma": 1, "одну": 1, "один": 1,
	"一": 1, "两": 2, "三": 3,
}

func init() {
	anchors.Add(lifts, `
		zurücksetzung|zurückgesetzt
		réinitialisation|réinitialisé|réinitialisée|réinitialise|réinitialisera
		restablece|restablecerá|restablecen|restablecimiento|reinicia|reiniciará|renueva|renovará
		redefinido|redefinida|redefine|renova|renovará|reiniciado
		重置时间|重置時間|恢复时间|刷新时间
		сброс|сбросится|сбрасывается|обновится|обновляется|обновление|восстановится
	`)
	anchors.Add(again, `
		versuche|versuchen|versuch * in|nach|um|ab|am
		warte|warten
		réessayez|réessayer|réessaie|patientez|patienter
		intenta|intente|inténtalo|inténtelo|intentarlo|intentar * en|a|dentro|después
		espere|espera
		tente|tentar novamente|mais? * em|às|após|daqui
		aguarde
		повторите|попробуйте|повтор * через|в|после
		подождите|подождать|ожидание|ждите
		через
		请等待|等待
	`)
}
