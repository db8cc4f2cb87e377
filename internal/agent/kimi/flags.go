package kimi

import "resumed/internal/leash"

// flags are those of Kimi Code 2. A session keeps its mode, its model and what it was
// begun as by itself, and a run without a terminal is not given any of them again.
var flags = leash.Flags{
	{Effect: leash.Grants, Takes: leash.One | leash.Path, Names: `--add-dir`},
	{Effect: leash.Selects, Takes: leash.One, Names: `-m --model`},
	{Effect: leash.Selects, Takes: leash.One | leash.Path, Names: `--skills-dir`},
	{Effect: leash.Nothing, Takes: leash.One, Names: `--output-format`},
	{Effect: leash.Nothing, Takes: leash.Alone, Names: `-V --version -h --help`},
	{Effect: leash.Once, Takes: leash.Maybe, Names: `-S --session -r --resume`},
	{Effect: leash.Once, Takes: leash.One, Names: `-p --prompt --agent`},
	{Effect: leash.Once, Takes: leash.One | leash.Path, Names: `--agent-file`},
	{Effect: leash.Once, Takes: leash.Alone, Names: `-c -C --continue -y --yolo --yes --auto-approve --auto --plan`},
}

// keys are variables of which each decides whose allowance is used.
var keys = []string{"KIMI_MODEL_API_KEY", "KIMI_API_KEY"}

var variables = leash.Variables{
	{Effect: leash.Nothing, Names: `KIMI_CODE_NO_AUTO_UPDATE KIMI_DISABLE_TELEMETRY KIMI_STARTUP_TRACE KIMI_LOG_* KIMI_CODE_UPDATE_*`},
	{Effect: leash.Account, Names: `KIMI_MODEL_* KIMI_API_KEY KIMI_BASE_URL KIMI_CODE_BASE_URL KIMI_OAUTH_HOST KIMI_CODE_OAUTH_HOST KIMI_CODE_CUSTOM_HEADERS`},
	{Effect: leash.Restricts, Names: `KIMI_*`},
}
