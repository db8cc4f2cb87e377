package qwen

import "resumed/internal/leash"

var flags = leash.Flags{
	{Takes: leash.Alone, Names: `-d --debug -s --sandbox -y --yolo --screen-reader -l --list-extensions -c --continue --include-partial-messages`},
	{Takes: leash.One, Names: `-m --model -p --prompt -i --prompt-interactive --approval-mode -o --output-format --input-format --session-id
		--auth-type --max-session-turns --allowed-mcp-server-names --allowed-tools -e --extensions --include-directories
		--core-tools --exclude-tools`},
	{Takes: leash.Maybe, Names: `-r --resume`},
}

var variables = leash.Variables{}
