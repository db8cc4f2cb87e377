package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"resumed/internal/backoff"
	"resumed/internal/config"
	"resumed/internal/humanize"
	"resumed/internal/limit"
	"resumed/internal/resume"
	"resumed/internal/termui"
)

// mostAttempts limits the printed delays: more would be useless and could fill a disk.
const mostAttempts = 100_000

// unboundedShown limits the printed delays of a policy that ends at a time.
const unboundedShown = 60

// scheduling holds the flags of backoff. All of them are parsed from text, so that all mistakes can be
// reported at once.
type scheduling struct {
	policy, attempts, seed string
}

func (c *cli) backoffCommand() *cobra.Command {
	var s scheduling
	cmd := c.jsonFlag(&cobra.Command{
		Use:   "backoff",
		Short: "Print the waits of a retry policy",
		Long: "Prints how long a policy waits before each retry, with the range that random jitter adds.\n" +
			"The policy is [backoff] of the configuration, or the one that --policy names; flags\n" +
			"change single keys of it.",
		Example: "  resumed backoff\n" +
			"  resumed backoff --policy contention --seed 1\n" +
			"  resumed backoff --base-delay 2s --max-delay 1m --attempts 8 --json",
		Args: noStrayValue,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.backoff(cmd, s)
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&s.policy, "policy", "", "`NAME` of a policy, from the configuration or built in")
	flags.StringVar(&s.attempts, "attempts", "", "how many waits to print, `N` (default max_retries)")
	flags.StringVar(&s.seed, "seed", "", "a `NUMBER` that makes the random part repeatable")
	addPolicyFlags(cmd)
	return cmd
}

// noStrayValue explains an unexpected argument: it may be the value of a flag that needs "=".
func noStrayValue(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q (a value of --jitter and --hard-cap follows a =, as in --jitter=false)", args[0])
}

func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func (c *cli) backoff(cmd *cobra.Command, s scheduling) error {
	cfg, _, err := c.load()
	if err != nil {
		return err
	}
	policy, err := pickPolicy(cfg, s.policy)
	wrong, overrideErr := overridePolicy(cmd, &policy)
	bad := []error{err, overrideErr, checkPolicy(policy, wrong)}
	retries, err := s.count(policy.MaxRetries)
	bad = append(bad, err)
	dice, err := s.dice()
	if err := errors.Join(append(bad, err)...); err != nil {
		return usageError(err)
	}
	counting := countsFor(cfg.Rules())
	name := cmp.Or(s.policy, resume.DefaultPolicy)
	schedule := named{backoff.NewSchedule(policy, retries, dice), name, append([]string{}, counting[name]...)}
	return c.print(schedule, func(p *termui.Printer) { printSchedule(p, schedule, counting) })
}

// named is a schedule with the name of its policy, and what the daemon uses it for.
type named struct {
	backoff.Schedule
	Name      string   `json:"name"`
	CountsFor []string `json:"counts_for"` // never null
}

// countsFor returns by the names of policies what the daemon uses them for: classes of errors, and
// agents that have a policy of their own.
func countsFor(rules resume.Rules) map[string][]string {
	counting := map[string][]string{}
	add := func(policy resume.Policy, what string) { counting[policy.Name] = append(counting[policy.Name], what) }
	for _, class := range limit.Classes() {
		if class.Transient() {
			add(rules.PolicyFor("", class), class.String())
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(rules.ByAgent)) {
		add(rules.ByAgent[agent], agent)
	}
	return counting
}

// end says when the policy gives up.
func end(p backoff.Policy) string {
	var ends []string
	if p.MaxRetries > 0 {
		ends = append(ends, "after "+humanize.Count(p.MaxRetries, "try")+" without progress")
	}
	if p.MaxElapsed > 0 {
		ends = append(ends, backoff.FormatDuration(p.MaxElapsed)+" after the first failure")
	}
	return strings.Join(ends, ", or ")
}

// pickPolicy returns the policy of that name, or [backoff] for "".
func pickPolicy(cfg config.Config, name string) (backoff.Policy, error) {
	if name == "" {
		return cfg.Backoff.Policy, nil
	}
	policy, ok := cfg.NamedPolicy(name)
	if !ok {
		return cfg.Backoff.Policy, fmt.Errorf("--policy %q: must be one of %s", name, strings.Join(cfg.PolicyNames(), ", "))
	}
	return policy, nil
}

// checkPolicy names the flag for every bad key, except those whose bounds come from a wrong flag.
func checkPolicy(policy backoff.Policy, wrong map[string]bool) error {
	var bad []error
	for _, field := range policy.Validate() {
		if wrong[flagOf(backoff.BoundBy(field.Field))] {
			continue
		}
		value := fmt.Sprint(field.Value)
		if text, ok := field.Value.(string); ok {
			value = strconv.Quote(text)
		}
		bad = append(bad, fmt.Errorf("--%s %s: %s", flagOf(field.Field), value, field.Want))
	}
	return errors.Join(bad...)
}

func flagOf(field string) string { return strings.ReplaceAll(field, "_", "-") }

func (s scheduling) count(retries int) (int, error) {
	if s.attempts == "" && retries == 0 {
		return unboundedShown, nil
	}
	if s.attempts == "" {
		return min(retries, mostAttempts), nil
	}
	n, err := strconv.Atoi(s.attempts)
	if err != nil || n < 1 || n > mostAttempts {
		return 0, fmt.Errorf("--attempts %q: must be a number from 1 to %d", s.attempts, mostAttempts)
	}
	return n, nil
}

// dice returns a random source that can be repeated; nil: the usual one.
func (s scheduling) dice() (func() float64, error) {
	if s.seed == "" {
		return nil, nil
	}
	seed, err := strconv.ParseInt(s.seed, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("--seed %q: must be a whole number", s.seed)
	}
	return rand.New(rand.NewPCG(uint64(seed), 0)).Float64, nil
}

func printSchedule(p *termui.Printer, s named, counting map[string][]string) {
	p.Wrapped(fmt.Sprintf("%s: %s", s.Name, s.Policy))
	p.Wrapped("It gives up " + end(s.Policy) + ".")
	if len(s.CountsFor) == 0 {
		p.Wrapped("It counts for no session now: an agent's policy, or exec --policy, may name it.")
	}
	for _, name := range slices.Sorted(maps.Keys(counting)) {
		counts := " counts for " + strings.Join(counting[name], ", ") + "."
		if name == s.Name {
			p.Wrapped("It" + counts)
		} else if s.Name == resume.DefaultPolicy {
			p.Wrapped(name + counts)
		}
	}
	p.Lines("")
	rows := [][]termui.Cell{termui.Head("ATTEMPT", "BASE", "RANGE", "DELAY", "TOTAL")}
	total := 0.0
	for _, d := range s.Delays {
		total += d.Delay
		span := humanize.Seconds(d.Min)
		if d.Max > d.Min {
			span += " … " + humanize.Seconds(d.Max)
		}
		rows = append(rows, termui.Row(strconv.Itoa(d.Attempt), humanize.Seconds(d.Base), span, humanize.Seconds(d.Delay), humanize.Seconds(total)))
	}
	p.Table(append(rows, termui.Row("")))
	plotSchedule(p, s.Schedule)
}

// The plot fits 80 columns, or the width of the terminal.
const (
	plotWidth  = 60
	plotBeside = 17 // the number before a bar and the wait after it
	plotRows   = 24
)

// plotSchedule draws a bar for each wait: the fixed part, the random part of this time, and the largest
// random part.
func plotSchedule(p *termui.Printer, s backoff.Schedule) {
	longest := 0.0
	for _, d := range s.Delays {
		longest = max(longest, d.Max)
	}
	width := float64(plotWidth)
	if p.Width > 0 {
		width = float64(max(1, min(plotWidth, p.Width-plotBeside)))
	}
	cells := func(seconds float64) int { return int(math.Round(seconds / longest * width)) }
	for _, d := range s.Delays[:min(len(s.Delays), plotRows)] {
		least, now, most := cells(d.Min), cells(d.Delay), max(1, cells(d.Max))
		bar := strings.Repeat("█", least) + strings.Repeat("▒", now-least) + strings.Repeat("░", most-max(now, least))
		p.Line("%6d %s %s", d.Attempt, bar, humanize.Seconds(d.Delay))
	}
	if more := len(s.Delays) - plotRows; more > 0 {
		p.Line("%6s and %d more", "…", more)
	}
	p.Lines("", "       █ fixed   ▒ random, this time   ░ random, at most")
}

const aDuration = "a duration with a unit, such as 30s or 5m"

// durationVar adds a flag with a duration as the configuration has them.
func durationVar(flags *pflag.FlagSet, d *time.Duration, name, usage string) {
	flags.Func(name, usage, func(text string) error {
		given, err := config.ParseDuration(text)
		if err != nil || given <= 0 {
			return errors.New("must be " + aDuration)
		}
		*d = given
		return nil
	})
}

type policyKey struct {
	flag, usage string
	want        string             // what the value must be
	set         func(string) error // an invalid value leaves the key as it is, so that one mistake is reported once
}

func policyKeys(p *backoff.Policy) []policyKey {
	const duration, number, choice = aDuration, "a whole number", "true or false"
	fraction := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	return []policyKey{
		{"strategy", "fixed | linear | exponential", "", into(&p.Strategy, func(s string) (backoff.Strategy, error) { return backoff.Strategy(s), nil })},
		{"base-delay", "the first wait, a `DURATION` such as 30s", duration, into(&p.BaseDelay, config.ParseDuration)},
		{"max-delay", "the longest wait, a `DURATION`", duration, into(&p.MaxDelay, config.ParseDuration)},
		{"max-retries", "`N` retries at most", number, into(&p.MaxRetries, strconv.Atoi)},
		{"max-elapsed", "give up after this `DURATION`; 0s: only max-retries counts", duration, into(&p.MaxElapsed, config.ParseDuration)},
		{"jitter", "vary the waits at random; --jitter=false: do not", choice, into(&p.Jitter, strconv.ParseBool)},
		{"jitter-mode", "symmetric | additive | full | equal", "", into(&p.JitterMode, func(s string) (backoff.JitterMode, error) { return backoff.JitterMode(s), nil })},
		{"jitter-percent", "how much they vary, a `NUMBER` from 0.0 to 1.0", "a number from 0.0 to 1.0", into(&p.JitterPercent, fraction)},
		{"hard-cap", "max-delay is the longest wait with jitter too", choice, into(&p.HardCap, strconv.ParseBool)},
		{"max-exponent", "stop doubling after `N` waits; 0: only max-delay stops it", number, into(&p.MaxExponent, strconv.Atoi)},
	}
}

func into[T any](key *T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		if err == nil {
			*key = v
		}
		return err
	}
}

func addPolicyFlags(cmd *cobra.Command) {
	for _, key := range policyKeys(new(backoff.Policy)) {
		if key.flag == "jitter" || key.flag == "hard-cap" {
			cmd.Flags().VarPF(new(checkedLater), key.flag, "", key.usage).NoOptDefVal = "true"
		} else {
			cmd.Flags().String(key.flag, "", key.usage)
		}
	}
	complete(cmd, "strategy", config.Texts(backoff.Strategies())...)
	complete(cmd, "jitter-mode", config.Texts(backoff.JitterModes())...)
}

// checkedLater is the value of a flag that is shown as one without a value. It takes any text, so that
// overridePolicy reports it together with the others.
type checkedLater string

func (c *checkedLater) String() string     { return string(*c) }
func (c *checkedLater) Set(s string) error { *c = checkedLater(s); return nil }
func (*checkedLater) Type() string         { return "bool" }

// overridePolicy sets the keys of the policy from the flags, and returns the flags with invalid values.
func overridePolicy(cmd *cobra.Command, p *backoff.Policy) (wrong map[string]bool, err error) {
	wrong = make(map[string]bool)
	var bad []error
	for _, key := range policyKeys(p) {
		flag := cmd.Flags().Lookup(key.flag)
		if !flag.Changed {
			continue
		}
		if err := key.set(flag.Value.String()); err != nil {
			wrong[key.flag] = true
			bad = append(bad, fmt.Errorf("--%s %q: must be %s", key.flag, flag.Value.String(), key.want))
		}
	}
	return wrong, errors.Join(bad...)
}
