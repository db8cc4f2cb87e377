package codex

import "resumed/internal/leash"

var flags = leash.Flags{
	{Takes: leash.Alone, Names: `--json --experimental-json --full-auto --oss --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox --yolo
		--dangerously-bypass-hook-trust --ephemeral --include-plan-tool --search --last --all --ignore-user-config --ignore-rules`},
	{Takes: leash.One, Names: `-c --config --enable --disable -m --model -p --profile -s --sandbox -a --ask-for-approval -C --cd --add-dir
		--local-provider --output-schema --color -o --output-last-message -i --image`},
}

var variables = leash.Variables{}
