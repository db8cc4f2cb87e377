package lazy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPatternIsCompiledOnce(t *testing.T) {
	digits := Regexp(`^\d+$`)
	first := digits()
	require.True(t, first.MatchString("12"))
	require.Same(t, first, digits())
}
