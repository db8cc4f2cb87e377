package wake

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestASignalIsReceivedOnceHoweverOftenItIsSent(t *testing.T) {
	s := NewSignal()
	s.Send()
	s.Send()
	require.Len(t, s, 1)
	<-s
	require.Empty(t, s)
	s.Send()
	require.Len(t, s, 1, "and again")
}

func TestASleepEndsInTimeOrWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		require.True(t, Sleep(t.Context(), time.Minute))
		require.Equal(t, time.Minute, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.False(t, Sleep(ctx, time.Hour))
		require.Equal(t, time.Minute+time.Second, time.Since(began))
	})
}
