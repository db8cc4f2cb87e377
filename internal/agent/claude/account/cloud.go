package account

import (
	"bytes"
	"strings"

	"resumed/internal/agent/claude/startup"
	"resumed/internal/resume"
)

// Spare says which variables the session does without that it had: those of clouds,
// where none of its settings has it ask one.
func (a *Account) Spare(s resume.Session, dir string) func(string) bool {
	return func(name string) bool {
		return startup.IsCloud(name) && !a.asksCloud(s, dir)
	}
}

// asksCloud reports whether the session may ask a cloud: by its environment, or by
// that which settings give it.
func (a *Account) asksCloud(s resume.Session, dir string) bool {
	if o := s.StartedWith(); o != nil {
		for _, variable := range o.Env {
			if strings.HasPrefix(variable.Name, startup.CloudSwitch) {
				return true
			}
		}
	}
	for settings := range a.allSettings(s, dir) {
		if bytes.Contains(settings.data, []byte(startup.CloudSwitch)) {
			return true
		}
	}
	return false
}
