//go:build !windows

package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"resumed/internal/backoff"
	"resumed/internal/config"
)

// policyKeys are the flags that stand for the keys of a policy.
type policyKeys struct {
	strategy, baseDelay, maxDelay, maxRetries, maxElapsed  string
	jitter, jitterMode, jitterPercent, hardCap, mostDouble string
}

func (k *policyKeys) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&k.strategy, "strategy", "", "fixed | linear | exponential")
	flags.StringVar(&k.baseDelay, "base-delay", "", "the first wait, a `DURATION` such as 30s")
	flags.StringVar(&k.maxDelay, "max-delay", "", "the longest wait, a `DURATION`")
	flags.StringVar(&k.maxRetries, "max-retries", "", "`N` retries at most")
	flags.StringVar(&k.maxElapsed, "max-elapsed", "", "give up after this `DURATION`; 0s: only max-retries counts")
	flags.StringVar(&k.jitter, "jitter", "", "vary the waits at random: true | false")
	flags.StringVar(&k.jitterMode, "jitter-mode", "", "symmetric | additive | full | equal")
	flags.StringVar(&k.jitterPercent, "jitter-percent", "", "how much they vary, a `NUMBER` from 0.0 to 1.0")
	flags.StringVar(&k.hardCap, "hard-cap", "", "max-delay is the longest wait with jitter too: true | false")
	flags.StringVar(&k.mostDouble, "max-exponent", "", "stop doubling after `N` waits; 0: only max-delay stops it")
	for _, name := range []string{"jitter", "hard-cap"} {
		flags.Lookup(name).NoOptDefVal = "true"
	}
}

// override puts what the flags say into the policy, and returns every value
// that cannot be read.
func (k *policyKeys) override(cmd *cobra.Command, p *backoff.Policy) error {
	var bad []error
	read := func(name, value string, into func(string) error, want string) {
		if !cmd.Flags().Changed(name) {
			return
		}
		if err := into(value); err != nil {
			bad = append(bad, fmt.Errorf("--%s %q: must be %s", name, value, want))
		}
	}
	const aDuration, aNumber, aChoice = "a duration with a unit, such as 30s or 5m", "a whole number", "true or false"
	read("strategy", k.strategy, text(&p.Strategy), "")
	read("base-delay", k.baseDelay, duration(&p.BaseDelay), aDuration)
	read("max-delay", k.maxDelay, duration(&p.MaxDelay), aDuration)
	read("max-retries", k.maxRetries, number(&p.MaxRetries), aNumber)
	read("max-elapsed", k.maxElapsed, duration(&p.MaxElapsed), aDuration)
	read("jitter", k.jitter, choice(&p.Jitter), aChoice)
	read("jitter-mode", k.jitterMode, text(&p.JitterMode), "")
	read("jitter-percent", k.jitterPercent, fraction(&p.JitterPercent), "a number from 0.0 to 1.0")
	read("hard-cap", k.hardCap, choice(&p.HardCap), aChoice)
	read("max-exponent", k.mostDouble, number(&p.MaxExponent), aNumber)
	return errors.Join(bad...)
}

// What cannot be read leaves the field as it is: one mistake is told once.

func text[T ~string](into *T) func(string) error {
	return func(s string) error { *into = T(s); return nil }
}

func duration(into *time.Duration) func(string) error { return parsed(into, config.ParseDuration) }
func number(into *int) func(string) error             { return parsed(into, strconv.Atoi) }
func choice(into *bool) func(string) error            { return parsed(into, strconv.ParseBool) }

func fraction(into *float64) func(string) error {
	return parsed(into, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
}

func parsed[T any](into *T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		v, err := parse(s)
		if err == nil {
			*into = v
		}
		return err
	}
}
