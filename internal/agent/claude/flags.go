package claude

import "resumed/internal/leash"

var flags = leash.Flags{
	{Takes: leash.Alone, Names: `-p --print -c --continue --verbose --fork-session --dangerously-skip-permissions --allow-dangerously-skip-permissions
		--bare --safe-mode --include-partial-messages --include-hook-events --replay-user-messages --strict-mcp-config --mcp-debug
		--no-session-persistence --disable-slash-commands --chrome --no-chrome --ide --tmux`},
	{Takes: leash.One, Names: `--model --fallback-model --permission-mode --permission-prompt-tool --session-id --output-format --input-format
		--json-schema --max-turns --max-budget-usd --system-prompt --system-prompt-file --append-system-prompt
		--append-system-prompt-file --settings --setting-sources --agent --agents --effort --debug-file -n --name --plugin-dir`},
	{Takes: leash.Maybe, Names: `-r --resume -d --debug -w --worktree --from-pr`},
	{Takes: leash.Many, Names: `--add-dir --allowedTools --allowed-tools --disallowedTools --disallowed-tools --tools --mcp-config --betas --file`},
}

var variables = leash.Variables{}
