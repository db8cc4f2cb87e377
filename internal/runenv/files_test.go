package runenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"resumed/internal/leash"
)

func TestAFileThatAFlagNamesIsLookedFor(t *testing.T) {
	flags := leash.Flags{
		{Takes: leash.One | leash.Path, Names: "--settings --policy --telemetry-outfile"},
		{Takes: leash.Many | leash.Path, Names: "--mcp-config --add-dir"},
		{Takes: leash.One, Names: "-c --config --additional-mcp-config --append-system-prompt"},
	}
	dir := t.TempDir()
	for _, name := range []string{"here", "here,too"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	for line, missing := range map[string]string{
		"":                                      "",
		"--settings HERE":                       "",
		"--settings /gone":                      "/gone --settings",
		"--settings=/gone":                      "/gone --settings",
		"--settings HERE/gone":                  "HERE/gone --settings",
		"--settings=HERE":                       "",
		`--settings {"a":"/gone"}`:              "",
		"--settings /dev/fd/1":                  "/dev/fd/1 --settings",
		"--settings /proc/self/fd/1":            "/proc/self/fd/1 --settings",
		`--mcp-config HERE {"b":1} /gone`:       "/gone --mcp-config",
		"--policy HERE,here":                    "",
		"--policy HERE,too":                     "",
		"--settings ~/gone":                     "",
		"--policy HERE,gone":                    "HERE,gone --policy",
		"--add-dir /gone":                       "",
		"--telemetry-outfile /gone":             "",
		"--append-system-prompt /gone":          "",
		"-c model_instructions_file=/gone":      "/gone -c",
		`-c model_instructions_file="here"`:     "",
		"--config model=/gone":                  "",
		"--additional-mcp-config @/gone":        "/gone --additional-mcp-config",
		"--additional-mcp-config @here":         "",
		`--additional-mcp-config {"c":"/gone"}`: "",
	} {
		args := strings.Fields(strings.ReplaceAll(line, "HERE", filepath.Join(dir, "here")))
		path, flag := missingFile(flags, args, dir)
		require.Equal(t, strings.ReplaceAll(missing, "HERE", filepath.Join(dir, "here")), strings.TrimSpace(path+" "+flag), line)
	}
}
