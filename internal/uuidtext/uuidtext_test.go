package uuidtext

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func random(dice *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", dice.Uint32(), dice.IntN(1<<16), dice.IntN(1<<16), dice.IntN(1<<16), dice.Int64N(1<<48))
}

func TestAUUIDComesBackAsItWasWritten(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		a, b := random(dice), random(dice)
		packedA, ok := Pack(a)
		require.True(t, ok)
		require.Equal(t, "/"+a, string(Append([]byte("/"), string(packedA[:]))))
		packedB, _ := Pack(b)
		require.Equal(t, strings.Compare(a, b), bytes.Compare(packedA[:], packedB[:]), "%s %s", a, b)
	}
}

func TestNothingElseIsPacked(t *testing.T) {
	const id = "4f2a77aa-0000-4000-8000-00000000000b"
	for at := range id {
		for c := range 256 {
			text := []byte(id)
			text[at] = byte(c)
			if packed, ok := Pack(string(text)); ok {
				require.Equal(t, string(text), string(Append(nil, string(packed[:]))))
			}
		}
	}
	for _, text := range []string{"", id[1:], id + "0", strings.ToUpper(id), strings.ReplaceAll(id, "-", ""), strings.ReplaceAll(id, "-", "0")} {
		_, ok := Pack(text)
		require.False(t, ok, text)
	}
	_, ok := Pack(id)
	require.True(t, ok)
}
