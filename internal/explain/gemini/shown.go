package gemini

import (
	"regexp"
	"strings"

	"resumed/internal/agent"
	"resumed/internal/explain/recording"
)

// quotaDialog is what Gemini CLI asks when a quota is used up, without the frame
// around it. Until it is answered no file tells of it.
var quotaDialog = regexp.MustCompile(`(?m)^((?:Usage limit reached|Usage limits reached) for [^\n]+(?:\n[^\n]+){0,3}?)\n[\s\n]*(?:● ?)?1\. Keep trying\b`)

// shown says what a screen that was captured tells, where it ends with that
// question.
func (r Reader) shown(rec agent.Recording) (recording.Told, bool) {
	rows := strings.Split(rec.Text, "\n")
	for i, row := range rows {
		rows[i] = strings.Trim(row, "│┃ \t")
	}
	text := strings.Join(rows, "\n")
	all := quotaDialog.FindAllStringSubmatchIndex(text, -1)
	if all == nil {
		return recording.Told{}, false
	}
	last := all[len(all)-1]
	words := recording.Block{Rows: strings.Split(text[last[2]:last[3]], "\n")}.Text()
	refused := r.refuse(words, 0, "", rec.At)
	return recording.Told{Event: refused, Line: strings.Count(text[:last[2]], "\n") + 1}, true
}
