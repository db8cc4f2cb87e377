package commandline

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"resumed/internal/hint"
)

// program is one with a command of each kind.
func program() *cobra.Command {
	root := &cobra.Command{Use: "gardener", Short: "x", Example: "x", SilenceErrors: true, SilenceUsage: true}
	var level, format string
	LogFlags(root, &level, &format)
	done := func(*cobra.Command, []string) error { return nil }
	plant := &cobra.Command{Use: "plant TREE [PLACE]", RunE: done}
	plant.Flags().BoolP("wet", "w", false, "with water")
	plant.Flags().IntP("deep", "d", 0, "at a `DEPTH` in cm")
	plant.Flags().Float64("share", 0, "a `NUMBER`")
	plant.Flags().Bool("now", false, "at once")
	plant.Flags().Func("kind", "a `KIND`", func(string) error { return errors.New("must be one of oak, elm") })
	plant.MarkFlagsMutuallyExclusive("wet", "now")
	bed := &cobra.Command{Use: "bed", Short: "x"}
	bed.AddCommand(&cobra.Command{Use: "dig", RunE: done}, &cobra.Command{Use: "rake LEAF…", RunE: done})
	root.AddCommand(plant, bed)
	Prepare(root, []Meant{
		{"grow, bed weed", "gardener plant NAME"}, {"plant --wait, plant -q", "gardener plant NAME --wet"}, {"-c", "gardener bed"},
	})
	return root
}

func TestErrorsOfTheCommandLine(t *testing.T) {
	for line, tt := range map[string]struct{ want, try string }{
		"plant":                     {"TREE is missing", ""},
		"plant oak here there":      {`unexpected argument "there": gardener plant takes TREE [PLACE] and no more`, ""},
		"bed dig x":                 {`unexpected argument "x": gardener bed dig takes none`, ""},
		"bed rake":                  {"LEAF is missing", ""},
		"bed rake a b c":            {},
		"plant --wet=x":             {`--wet "x": must be true or false`, ""},
		"plant -d x":                {`--deep "x": must be a whole number`, ""},
		"plant --share x":           {`--share "x": must be a number, such as 80 or 0.5`, ""},
		"plant --kind fir":          {`--kind "fir": must be one of oak, elm`, ""},
		"plant -d":                  {"--deep needs a value: at a DEPTH in cm", ""},
		"plant ---x":                {`"---x" is no flag: a flag is --NAME, --NAME=VALUE or a letter such as -h`, ""},
		"plant oak --wet --now":     {"--now and --wet do not go together: give one of them", ""},
		"plant oak --dep 3":         {"plant has no flag --dep", "gardener plant --deep"},
		"plant oak --wait":          {"plant has no flag --wait", "gardener plant oak --wet, or gardener plant --help"},
		"plant --wait":              {"plant has no flag --wait", "gardener plant NAME --wet, or gardener plant --help"},
		"plant oak -wq":             {"plant has no flag -q", "gardener plant oak --wet, or gardener plant --help"},
		"bed dig -c":                {"bed dig has no flag -c", "gardener bed, or gardener bed dig --help"},
		"--none":                    {"gardener has no flag --none", ""},
		"plnat":                     {`unknown command "plnat"; there is plant, bed, completion`, "gardener plant, or gardener --help"},
		"grow oak":                  {`unknown command "grow"; there is plant, bed, completion`, "gardener plant oak, or gardener --help"},
		"grow $(reboot)":            {`unknown command "grow"; there is plant, bed, completion`, "gardener plant NAME, or gardener --help"},
		"grow oak --fast":           {`unknown command "grow"; there is plant, bed, completion`, "gardener plant oak, or gardener --help"},
		"bed weed":                  {`unknown command "bed weed"; there is dig, rake`, "gardener plant NAME, or gardener bed --help"},
		"plant oak --log-level all": {`--log-level "all": must be debug, info, warn or error`, ""},
	} {
		t.Run(line, func(t *testing.T) {
			_, err := Execute(t.Context(), program(), strings.Fields(line), io.Discard, io.Discard)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tt.want)
			require.ErrorAs(t, err, new(UsageError))
			require.Equal(t, tt.try, hint.Of(err))
		})
	}
}
