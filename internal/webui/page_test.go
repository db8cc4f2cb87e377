package webui

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/control"
	"resumed/internal/resume"
)

func TestRefusedOrderSaysWhy(t *testing.T) {
	b := &board{err: resume.ErrNoSession}
	p := newPage(t, b)
	known := known(t, p)
	answer := ask(p, "POST", at("/session/retry"), "agent=a&id=1", known)
	require.Equal(t, 404, answer.Code)
	require.Contains(t, answer.Body.String(), resume.ErrNoSession.Error())
	require.Equal(t, 400, ask(p, "POST", at("/session/retry"), "id="+strings.Repeat("x", formLimit), known).Code)
}

// Whoever sees the page may not give every order.
func TestThePageTakesItsOwnOrdersOnly(t *testing.T) {
	p := newPage(t, &board{})
	known := known(t, p)
	require.Equal(t, 200, ask(p, "POST", at("/session/retry"), "agent=a&id=1", known).Code)
	require.Equal(t, 404, ask(p, "POST", at("/session/"+string(control.Stop)), "agent=a&id=1", known).Code)
}

// A person who gives an order and closes the page has given it.
func TestOrderOutlivesItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lasts, end := orderContext(httptest.NewRequestWithContext(ctx, "POST", "/pause", nil))
	defer end()
	require.NoError(t, lasts.Err())
}

// The page loads nothing, and has no markup to put text in.
func TestFilesAskNobodyElse(t *testing.T) {
	entries, err := files.ReadDir("files")
	require.NoError(t, err)
	require.Greater(t, len(entries), 5)
	for _, entry := range entries {
		name := entry.Name()
		data, err := files.ReadFile("files/" + name)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(data), "xmlns='http://www.w3.org/2000/svg'", "")
		for _, bad := range []string{"http:", "https:", "//cdn", "innerHTML", "outerHTML", "insertAdjacentHTML", "setHTML", "document.write", "eval(", " style=", "onclick="} {
			require.NotContains(t, text, bad, name)
		}
	}
}
