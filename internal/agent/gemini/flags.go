package gemini

import "resumed/internal/leash"

var flags = leash.Flags{
	{Takes: leash.Alone, Names: `-d --debug -s --sandbox -y --yolo --skip-trust --screen-reader -l --list-extensions --list-sessions --raw-output
		--accept-raw-output-risk`},
	{Takes: leash.One, Names: `-m --model -p --prompt -i --prompt-interactive --approval-mode -o --output-format --session-id
		--allowed-mcp-server-names --allowed-tools -e --extensions --include-directories --policy`},
	{Takes: leash.Maybe, Names: `-r --resume -w --worktree`},
}

var variables = leash.Variables{}
