package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The metrics that the dashboard and the alerts use must exist, and all metrics must be documented.
func TestDocumentsNameMetricsThatExist(t *testing.T) {
	source, err := os.ReadFile("metrics.go")
	require.NoError(t, err)
	names := regexp.MustCompile(`resumed_[a-z_]+[a-z]`)
	known := make(map[string]bool)
	for _, name := range names.FindAllString(string(source), -1) {
		known[name] = true
	}
	require.Len(t, known, 22, "the contract's 12, that of providers, that of allowances, that of the queue and seven of a fleet")

	read := func(file string) string {
		text, err := os.ReadFile("../../docs/" + file)
		require.NoError(t, err)
		return string(text)
	}
	for _, file := range []string{"grafana.json", "alerts.yml", "metrics.md"} {
		for _, name := range names.FindAllString(read(file), -1) {
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				name = strings.TrimSuffix(name, suffix)
			}
			require.Contains(t, known, name, file)
		}
	}
	for name := range known {
		require.Contains(t, read("metrics.md"), "`"+name, "it is described")
		require.Contains(t, read("grafana.json"), name, "it is shown")
	}
	require.True(t, json.Valid([]byte(read("grafana.json"))))
}

// Every panel of the dashboard has its own place, a title and a description.
func TestPanelsOfTheDashboardHaveTheirPlaces(t *testing.T) {
	type panel struct {
		ID                       int
		Type, Title, Description string
		GridPos                  struct{ X, Y, W, H int }
		Panels                   []panel // of a collapsed row
	}
	var dashboard struct{ Panels []panel }
	text, err := os.ReadFile("../../docs/grafana.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &dashboard))
	ids, taken := make(map[int]bool), make(map[[2]int]string)
	var place func([]panel)
	place = func(panels []panel) {
		for _, p := range panels {
			require.False(t, ids[p.ID], "panel %d is there twice", p.ID)
			ids[p.ID] = true
			require.NotEmpty(t, p.Title)
			require.Equal(t, p.Type == "row", p.Description == "", p.Title)
			require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					require.Empty(t, taken[at], "it is under %q", p.Title)
					taken[at] = p.Title
				}
			}
			place(p.Panels)
		}
	}
	place(dashboard.Panels)
	require.Greater(t, len(ids), 20)
}
