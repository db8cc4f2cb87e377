package copilot

import "resumed/internal/agent"

// sift passes over bookkeeping, over results of tools and over what is only shown.
var sift = agent.SiftByType(
	agent.Kind{Type: failure, Weight: agent.Matters},
	agent.Kind{Type: prompt, Weight: agent.Matters},
	agent.Kind{Type: aborted, Weight: agent.Matters},
	agent.Kind{Type: rewound, Weight: agent.Matters},
	agent.Kind{Type: answer, Weight: agent.Moves},
)
