package humanize

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/resume"
	"resumed/internal/resume/view"
)

// The answers of retry if there is nothing to do.
func TestWhyASessionIsNotRetried(t *testing.T) {
	for want, s := range map[string]view.Session{
		"it is not stopped":                 {State: resume.Watching, Why: resume.WhyWorksAgain, Reason: "works again after 1 resume"},
		"it is being resumed already":       {State: resume.Settling, Reason: "due now, asked for by you"},
		"/src is excluded (resume.exclude)": {State: resume.Watching, Reason: "/src is excluded (resume.exclude)"},
		"cancelled by you":                  {State: resume.Watching, Reason: "cancelled by you"},
	} {
		require.Equal(t, want, notStopped(s, noon))
	}
}
