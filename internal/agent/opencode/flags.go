package opencode

import "resumed/internal/leash"

var flags = leash.Flags{
	{Takes: leash.Alone, Names: `-c --continue --fork --share --thinking --auto --print-logs --pure --dangerously-skip-permissions`},
	{Takes: leash.One, Names: `-s --session -m --model --agent --format --title --attach --dir --port --variant --command --log-level
		-p --password -u --username -f --file`},
}

var variables = leash.Variables{}
