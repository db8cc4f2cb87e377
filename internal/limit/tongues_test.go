package limit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Messages of providers and agents in other languages; at is the stated time, if any.
func TestOtherLanguagesInMoreWords(t *testing.T) {
	for _, c := range []struct {
		class Class
		at    string
		text  string
	}{
		{RateLimit, "2026-11-15T12:00:30Z", `Anfragelimit erreicht. Bitte versuchen Sie es in 30 Sekunden erneut.`},
		{RateLimit, "2026-11-15T12:00:20Z", `Ratenlimit überschritten, bitte warten Sie 20 Sekunden.`},
		{RateLimit, "2026-11-15T12:00:10Z", `Rate-Limit erreicht. Neuer Versuch in 10 Sekunden.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Tageslimit erreicht. Das Limit wird morgen um 09:00 zurückgesetzt.`},
		{UsageLimit, "", `Ihr Kontingent ist aufgebraucht.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Sie haben Ihr wöchentliches Limit erreicht. Zurücksetzung am Montag um 9:00 Uhr.`},
		{UsageLimit, "2026-11-15T15:30:00Z", `Du hast dein Nutzungslimit erreicht. Versuche es um 15:30 Uhr erneut.`},
		{Overloaded, "", `Der Dienst ist derzeit überlastet. Bitte versuchen Sie es später erneut.`},
		{Billing, "", `Ihr Guthaben ist erschöpft.`},
		{RateLimit, "2026-11-15T12:00:20Z", `Limite de débit atteinte. Réessayez dans 20 secondes.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Quota quotidien dépassé. Réinitialisation demain à 9h00.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Votre limite hebdomadaire est atteinte. Elle sera réinitialisée lundi à 09:00.`},
		{Overloaded, "", `Le serveur est surchargé, veuillez réessayer plus tard.`},
		{Billing, "", `Crédits insuffisants.`},
		{Billing, "", `Solde insuffisant`},
		{RateLimit, "2026-11-15T12:00:30Z", `Se ha superado el límite de solicitudes. Inténtalo de nuevo en 30 segundos.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Has agotado tu cuota diaria. Se restablece mañana a las 9:00.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Límite semanal alcanzado. Se reinicia el lunes a las 09:00.`},
		{Overloaded, "", `El servidor está sobrecargado. Inténtalo más tarde.`},
		{Billing, "", `Saldo insuficiente`},
		{RateLimit, "2026-11-15T12:00:30Z", `Muitas solicitações. Aguarde 30 segundos.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Você excedeu sua cota diária. Tente novamente amanhã às 09:00.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Limite semanal atingido. Renova na segunda-feira às 09:00.`},
		{Overloaded, "", `O servidor está sobrecarregado. Tente novamente mais tarde.`},
		{Billing, "", `Créditos insuficientes`},
		{RateLimit, "2026-11-15T12:00:30Z", `Слишком много запросов. Повторите через 30 секунд.`},
		{RateLimit, "", `Превышена частота запросов`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Достигнут недельный лимит. Сброс в понедельник в 09:00.`},
		{UsageLimit, "2026-11-16T09:00:00Z", `Дневной лимит исчерпан. Попробуйте завтра в 09:00.`},
		{UsageLimit, "", `Ваша квота исчерпана`},
		{Overloaded, "", `Сервер перегружен, попробуйте позже`},
		{Billing, "", `Недостаточно средств на балансе`},
		{RateLimit, "", `请求频率过高，请稍后再试`},
		{RateLimit, "2026-11-15T12:00:10Z", `触发限流，请在 10 秒后重试`},
		{RateLimit, "", `您的请求过于频繁，请稍后再试`},
		{UsageLimit, "2026-11-16T00:00:00Z", `您的免费额度已用尽，将于 2026-11-16 00:00:00 刷新`},
		{UsageLimit, "", `本月配额已耗尽`},
		{UsageLimit, "", `今日使用次数已达上限，请明日再来`},
		{UsageLimit, "2026-11-18T09:00:00Z", `每周使用限额已达到，重置时间：11月18日 09:00`},
		{Overloaded, "", `模型负载过高，请稍后重试`},
		{Overloaded, "", `当前访问人数过多，请稍后再试`},
		{Billing, "", `余额不足，请充值`},
		{Billing, "", `账号已欠费`},
		{RateLimit, "2026-11-15T12:00:30Z", `レート制限に達しました。30秒後に再試行してください。`},
		{UsageLimit, "2026-11-18T09:00:00Z", `週間の利用上限に達しました。11月18日 9:00にリセットされます。`},
		{UsageLimit, "", `本日の利用制限を超えました。`},
		{Overloaded, "", `現在サーバーが混み合っています。しばらくしてからお試しください。`},
		{Billing, "", `クレジットが不足しています`},
		{RateLimit, "2026-11-15T12:00:30Z", `요청 한도를 초과했습니다. 30초 후에 다시 시도하세요.`},
		{RateLimit, "", `속도 제한에 도달했습니다.`},
		{UsageLimit, "2026-11-18T09:00:00Z", `주간 사용 한도에 도달했습니다. 11월 18일 오전 9시에 초기화됩니다.`},
		{UsageLimit, "", `일일 사용량을 모두 소진했습니다.`},
		{Overloaded, "", `서버가 혼잡합니다. 잠시 후 다시 시도하세요.`},
		{Billing, "", `크레딧이 부족합니다`},
		{None, "", `Das Limit wurde auf 100 Anfragen erhöht.`},
		{None, "", `Die Anfragen werden alle 30 Sekunden erneut versucht.`},
		{None, "", `J'ai corrigé la limite de requêtes.`},
		{None, "", `El límite de solicitudes es de 60 por minuto.`},
		{None, "", `O limite de requisições é 60 por minuto.`},
		{None, "", `Лимит запросов: 60 в минуту.`},
		{None, "", `我修复了限流逻辑，现在会在 30 秒后重试。`},
		{None, "", `请求频率限制为每分钟 60 次。`},
		{None, "", `额度会在每天 00:00 重置。`},
		{None, "", `リクエスト制限を1分60回に変更しました。`},
		{None, "", `レート制限のテストを追加しました。`},
		{None, "", `요청 한도를 분당 60회로 변경했습니다.`},
		{None, "", `사용량 한도 테스트를 추가했습니다.`},
		{None, "", `余额不足时返回 402。`},
		{None, "", `服务器繁忙时会自动重试。`},
	} {
		t.Run(c.text, func(t *testing.T) {
			v := noon.Text(c.text)
			require.Equal(t, c.class, v.Class)
			require.Equal(t, c.at != "", v.Reset.Stated())
			if c.at != "" {
				require.WithinDuration(t, instant(t, c.at), v.Reset.At, 0)
			}
		})
	}
}
