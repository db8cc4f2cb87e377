package limit

// addTongues puts in how limits are worded in other languages: by providers
// and gateways for their customers, and by agents that speak their user's
// language. A limit of requests is a pace, one of use an allowance.
func addTongues() {
	statements.add(ruling{class: Billing}, `
		ihr|dein|das guthaben|kontostand ist|reicht * erschöpft|aufgebraucht|leer|aus
		guthaben|kontostand|crédit|crédits|solde|saldo|crédito|créditos|баланс|средств * erschöpft|aufgebraucht|insuffisant|insuffisants|épuisé|épuisés|insuficiente|insuficientes|agotado|agotados|esgotado|esgotados|исчерпан|недостаточно
		nicht genügend guthaben
		недостаточно средств
		余额|餘額|积分|点数 * 不足|用完|耗尽
		账户|账号|帐户|您的 * 余额|餘額 * 不足
		账户|账号|帐号 * 欠费|已欠费
		残高|クレジット|ポイント * 不足しています|不足です|なくなりました|使い切りました
		크레딧|잔액|포인트 * 부족합니다|소진되었습니다|소진했습니다
	`)
	statements.add(ruling{class: RateLimit, perPeriod: true}, `
		zu viele|viel anfragen|requests|tokens
		hat|haben das|sein|ihr|dein * anfragelimit|ratenlimit|limit erreicht|überschritten
		anfragelimit|ratenlimit|ratenbegrenzung|anfragenlimit * erreicht|überschritten
		rate limit * erreicht|überschritten
		trop de requêtes|demandes|tokens
		limite|quota|plafond de|du|des débit|requêtes|demandes|tokens * atteint|atteinte|dépassé|dépassée|épuisé
		demasiadas solicitudes|peticiones|consultas
		se ha|han superado|alcanzado|excedido|agotado el|la * límite|cuota de solicitudes|peticiones|tokens
		límite|limite de velocidad|tasa|solicitudes|peticiones|tokens * alcanzado|superado|excedido
		muitas|demasiadas solicitações|requisições|pedidos
		limite de taxa|requisições|solicitações|pedidos|tokens * atingido|excedido|ultrapassado|alcançado
		troppe richieste
		слишком много запросов
		превышен|превышена|превышено|достигнут|исчерпан лимит|частота|количество|квота|число на? запросов|обращений|токенов
		请求|請求|访问|訪問|调用|操作|当前|服务|您|您的|你的 * 频繁|頻繁
		请求|請求|访问|调用|并发 数|量|次数|频率|頻率|速率? * 过多|過多|过高|過高|过快|超限|超过|超過|超出|已达
		请求|請求 过多|過多|太多|过快
		触发|已触发|触发了|您已触发|遇到 * 限流|限频|速率限制|频率限制|流控
		速率|频率|頻率 限制|过高|超限|超过
		超过|超出|已超过|已达到|达到 * 速率|频率|并发|速率限制|频率限制|并发限制
		当前|目前|该|此|您的|模型 * 达到|已达到|已达|超过|超出|触发 * 速率|频率|并发|限流|速率限制|频率限制
		限流|被限流|已限流
		リクエスト * 多すぎます|過多です|超過しました
		レート制限|リクエスト制限|レートリミット|アクセス制限 * 達しました|達しています|超えました|超えています|超過しました|かかりました|されました
		요청 * 많습니다|많아요|많음|과다합니다
		요청|속도|호출 한도|제한|속도 * 도달했습니다|도달하였습니다|도달했어요|초과했습니다|초과하였습니다|초과되었습니다|초과됐습니다|초과했어요|초과|소진되었습니다|소진했습니다|소진됐습니다|소진했어요|걸렸습니다
	`)
	statements.add(ruling{class: UsageLimit, perPeriod: true}, `
		nutzungslimit|nutzungsgrenze|kontingent|tageslimit|wochenlimit|monatslimit|sitzungslimit|limit|nutzungskontingent * erreicht|überschritten|aufgebraucht|erschöpft|ausgeschöpft
		sie|du|ihr haben|hast|habt ihr|dein|das|ihre|deine|die * limit|nutzungslimit|nutzungsgrenze|kontingent|tageslimit|wochenlimit|monatslimit erreicht|überschritten|aufgebraucht|ausgeschöpft *
		ihr|dein|das|euer * limit|nutzungslimit|kontingent|tageslimit|wochenlimit|monatslimit ist|wurde erreicht|überschritten|aufgebraucht|erschöpft|ausgeschöpft
		votre|ta|ton|la|le * limite|quota|plafond * est|a été? atteint|atteinte|dépassé|dépassée|épuisé|épuisée
		limite|quota|plafond * atteint|atteinte|dépassé|dépassée|épuisé|épuisée
		vous|tu avez|as atteint|dépassé|épuisé votre|ta|ton|la|le * limite|quota|plafond *
		límite|cuota * alcanzado|alcanzada|superado|superada|excedido|excedida|agotado|agotada
		has|ha|se alcanzado|superado|excedido|agotado|alcanzó|superó|agotó tu|su|el|la * límite|limite|cuota *
		limite|cota|quota * atingido|atingida|excedido|excedida|esgotado|esgotada|ultrapassado|raggiunto|raggiunta|superato|esaurita
		você|voce|vc atingiu|excedeu|alcançou|esgotou|ultrapassou seu|sua|o|a * limite|cota *
		hai raggiunto|superato|esaurito il|la|tuo * limite|quota *
		ваш|ваша|ваше|дневной|дневная|суточный|недельный|месячный * лимит|квота * исчерпан|исчерпана|превышен|превышена|достигнут|израсходован|израсходована
		вы достигли|превысили|исчерпали|израсходовали * лимит|лимита|лимиты|квоту|квоты *
		превышен|превышена|достигнут|исчерпан|исчерпана * лимит|квота
		лимит|квота * исчерпан|исчерпана|превышен|превышена|достигнут|израсходован|израсходована|закончился
		额度|額度|配额|配額|用量|使用量|限额|流量|套餐 * 用完|用尽|用盡|耗尽|耗盡|超限|超出|超过|上限
		您|你|您的|你的|本|今日|今天|本周|本月|每日|小时|当前|免费|试用|模型|账户|账号|请求|该|api * 额度|額度|配额|配額|用量|次数|限额 * 用完|用尽|用盡|耗尽|耗盡|超限|上限 *
		# 小时|小時|天|周|月 * 额度|額度|配额|用量|限额 * 用完|用尽|耗尽|超限|上限
		每周|每日|每月|本周|本月|今日 * 限额|限額|额度|額度|配额|上限 * 已达到|已达|已超过
		已达|已达到|已達到|已超过|已超出|达到|達到|超过|超出 * 上限|限额|限額|额度|額度|配额|配額|限制
		您已|你已|您已经 * 达到|達到|超过|超出|用完|用尽|达 * 上限|限额|限額|额度|額度|配额|配額 *
		利用|使用|使用量|利用量|週間|月間|本日 * 制限|上限 * 達しました|達しています|超えました|超えています|超過しました|超過しています
		使用量 * 達しました|達しています|超えました|超えています|超過しました|超過しています
		上限|制限 に 達しました|達しています
		# 日|時間|週間|か月 * 上限|制限 * 達しました|達しています|超えました|超えています
		クォータ|クオータ|割り当て * 超えました|超えています|超過しました|使い切りました|達しました|達しています
		사용량|사용|이용|할당량|토큰|주간|일일|월간|세션|메시지 * 한도|제한|할당량 * 도달했습니다|도달하였습니다|도달했어요|초과했습니다|초과하였습니다|초과되었습니다|초과됐습니다|초과했어요|초과|소진되었습니다|소진했습니다|소진됐습니다|소진했어요
		일일|주간|월간|오늘 * 사용량|할당량|한도 * 모두|전부? * 소진했습니다|사용했습니다
		한도|할당량|사용량 * 도달했습니다|도달하였습니다|도달했어요|초과했습니다|초과하였습니다|초과되었습니다|초과됐습니다|초과했어요|초과|소진되었습니다|소진했습니다|소진됐습니다|소진했어요
	`)
	statements.add(ruling{class: Overloaded}, `
		der|die|das|unsere|unser server|dienst|modell|service|systeme * überlastet|ausgelastet
		server|dienst|modell|service * überlastet|ausgelastet
		le|la|les|nos|notre serveur|serveurs|service|modèle|système * surchargé|surchargés|saturé
		el|la|los|nuestro|nuestros servidor|servidores|servicio|modelo|sistema * sobrecargado|sobrecargados|saturado
		o|a|os|nosso|nossos servidor|servidores|serviço|modelo|sistema * sobrecarregado|sobrecarregados
		сервер|серверы|сервис|модель|система * перегружен|перегружены|перегружена
		服务器|服务|系统|模型|引擎|当前|伺服器|網路|网络 * 繁忙|忙碌|过载|過載|超载|拥挤|拥堵|负载过高
		当前|目前 * 负载|流量|访问量|用户|人数 * 过高|较高|过大|较大|过多
		サーバー|サーバ|モデル|サービス|現在 * 混雑しています|混雑中です|過負荷です|混み合っています
		서버|모델|서비스|현재 * 과부하입니다|과부하|혼잡합니다
	`)
	asides.add(ruling{class: Billing}, `
		请充值|请先充值|充值后|请续费
	`)
	statements.add(ruling{class: RateLimit, weak: true, running: true}, `
		ожидание|ожидаем|esperando|aguardando|attente # *
	`)
	asides.add(ruling{class: RateLimit, weak: true, running: true}, `
		自动重试|将重试|自動的に|자동으로
	`)
	periods.add(RateLimit, `
		pro minute|sekunde
		par minute|seconde
		por minuto|segundo
		в минуту|секунду
		每分钟|每分鐘|每秒|毎分|毎秒|분당|초당
	`)
	periods.add(UsageLimit, `
		pro tag|woche|monat
		par jour|semaine|mois
		por día|dia|semana|mes|mês
		в день|сутки|неделю|месяц
		每日|每天|每周|每月|今日|今天|本周|本月|毎日|本日|週間|月間|일일|주간|월간|하루
		täglich|tägliche|tägliches|wöchentlich|wöchentliche|journalier|journalière|quotidien|quotidienne|hebdomadaire|mensuel|mensuelle
		diario|diaria|diário|diária|semanal|mensual|mensal|дневной|дневного|суточный|недельный|месячный
	`)
	anchors.add(lifts, `
		zurücksetzung|zurückgesetzt
		réinitialisation|réinitialisé|réinitialisée|réinitialise|réinitialisera
		restablece|restablecerá|restablecen|restablecimiento|reinicia|reiniciará|renueva|renovará
		redefinido|redefinida|redefine|renova|renovará|reiniciado
		重置时间|重置時間|恢复时间|刷新时间
		сброс|сбросится|сбрасывается|обновится|обновляется|обновление|восстановится
	`)
	anchors.add(again, `
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
