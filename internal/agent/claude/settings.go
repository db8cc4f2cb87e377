package claude

import (
	"bytes"
	"os"
	"regexp"
	"slices"

	"resumed/internal/agent"
)

// settings is what a session ran with and what a resumed run does not take
// over by itself.
type settings struct {
	permission string
	model      string
	effort     string
}

// bypass is the mode without any permission checks. It is passed on where the
// session had it, and never added.
const bypass = "bypassPermissions"

// usualMode is the mode in which whatever needs a permission is asked for, and
// refused where nobody is there to give it.
const usualMode = "default"

var (
	permissionModes = []string{usualMode, "acceptEdits", "plan", "auto", "dontAsk", bypass}
	efforts         = []string{"low", "medium", "high", "xhigh", "max"}
	modelName       = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._:@/\[\]-]*$`)
)

// maxSettingsLines bounds how far back settings are looked for: in one long
// turn there may be many records since the last prompt.
const maxSettingsLines = 20_000

// lastSettings reads what the session ran with last: the permission mode is
// with its last prompt, or in a record of its own since it was changed; model and effort are with its last answer. Versions
// before 2.1 record none of them.
func lastSettings(transcript string) (settings, error) {
	var (
		had             settings
		prompt, answer  bool
		visited         int
		quotedMode      = []byte(`"permissionMode"`)
		quotedRequested = []byte(`"requestedModel"`)
	)
	err := agent.LinesBack(transcript, func(line agent.Line) bool {
		visited++
		mayPrompt := !prompt && bytes.Contains(line.Data, quotedMode)
		mayAnswer := !answer && bytes.Contains(line.Data, quotedRequested)
		if mayPrompt || mayAnswer {
			r, ok := parse(line.Data)
			switch {
			case !ok || r.IsSidechain:
			case mayPrompt && (r.Type == "user" || r.Type == "permission-mode") && r.Permission != "":
				had.permission, prompt = r.Permission, true
			case mayAnswer && r.moved():
				had.model, had.effort, answer = r.Model, r.Effort, true
			}
		}
		return visited < maxSettingsLines && !(prompt && answer)
	})
	return had, err
}

// flags returns the arguments that give a run these settings. A value that is
// not known is left out: Claude Code then falls back to its own default. Not so
// a mode: what the user's settings say may allow more than the session did.
func (s settings) flags() []string {
	var flags []string
	switch {
	case slices.Contains(permissionModes, s.permission):
		flags = append(flags, "--permission-mode", s.permission)
	case s.permission != "":
		flags = append(flags, "--permission-mode", usualMode)
	}
	if modelName.MatchString(s.model) {
		flags = append(flags, "--model", s.model)
	}
	if slices.Contains(efforts, s.effort) {
		flags = append(flags, "--effort", s.effort)
	}
	return flags
}

// refusesBypass reports whether claude, run with env, would refuse to go on
// without permission checks.
func refusesBypass(env []string) bool {
	return os.Geteuid() == 0 && os.Getenv("IS_SANDBOX") != "1" && !slices.Contains(env, "IS_SANDBOX=1")
}
