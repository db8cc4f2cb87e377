package kimi

import "resumed/internal/agent"

// sift passes over bookkeeping, over requests and over what is kept of them.
var sift = agent.SiftByType(
	agent.Kind{Type: stepped, Weight: agent.Moves},
	agent.Kind{Type: turnEnded, Weight: agent.Matters},
	agent.Kind{Type: prompted, Weight: agent.Matters},
	agent.Kind{Type: steered, Weight: agent.Matters},
	agent.Kind{Type: retrying, Weight: agent.Matters},
	agent.Kind{Type: undone, Weight: agent.Matters},
	agent.Kind{Type: cleared, Weight: agent.Matters},
)
