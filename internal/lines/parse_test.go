package lines_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/lines"
)

// A field of another type is lost alone; a line that is not JSON is no record.
func TestAFieldOfAnotherTypeCostsTheFieldAlone(t *testing.T) {
	type record struct {
		Type   string `json:"type"`
		Status int    `json:"status"`
	}
	got, ok := lines.Parse[record]([]byte(`{"status":"many","type":"error"}`))
	require.True(t, ok)
	require.Equal(t, record{Type: "error"}, got)
	for _, line := range []string{``, `{"type":"a"`, `{"type":"a"} x`, `{type:"a"}`, "{\"type\":\"a\tb\"}"} {
		_, ok := lines.Parse[record]([]byte(line))
		require.False(t, ok, line)
	}
}
