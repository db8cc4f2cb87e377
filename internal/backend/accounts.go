package backend

import (
	"strings"
	"time"

	"resumed/internal/control"
	"resumed/internal/resume"
)

// watched returns how many sessions of each agent are known, and when one last moved.
func watched(names []string, accounts []resume.Account) []control.Watched {
	all := make([]control.Watched, len(names))
	for i, name := range names {
		all[i].Name = name
		var moved time.Time
		for _, a := range accounts {
			if !strings.HasPrefix(a.Name, name+":") {
				continue
			}
			all[i].Sessions += a.Sessions
			if a.MovedAt.After(moved) {
				moved = a.MovedAt
			}
		}
		if !moved.IsZero() && resume.Tellable(moved) {
			all[i].MovedAt = new(moved.UTC())
		}
	}
	return all
}
