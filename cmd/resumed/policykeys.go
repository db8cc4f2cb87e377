//go:build !windows

package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"resumed/internal/backoff"
	"resumed/internal/config"
)

// policyKey is a flag that changes one key of a policy.
type policyKey struct {
	flag, usage string
	want        string             // what the value must be
	set         func(string) error // an invalid value leaves the key as it is, so that one mistake is reported once
}

func policyKeys(p *backoff.Policy) []policyKey {
	const duration, number, choice = "a duration with a unit, such as 30s or 5m", "a whole number", "true or false"
	fraction := func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }
	return []policyKey{
		{"strategy", "fixed | linear | exponential", "", into(&p.Strategy, func(s string) (backoff.Strategy, error) { return backoff.Strategy(s), nil })},
		{"base-delay", "the first wait, a `DURATION` such as 30s", duration, into(&p.BaseDelay, config.ParseDuration)},
		{"max-delay", "the longest wait, a `DURATION`", duration, into(&p.MaxDelay, config.ParseDuration)},
		{"max-retries", "`N` retries at most", number, into(&p.MaxRetries, strconv.Atoi)},
		{"max-elapsed", "give up after this `DURATION`; 0s: only max-retries counts", duration, into(&p.MaxElapsed, config.ParseDuration)},
		{"jitter", "vary the waits at random: true | false", choice, into(&p.Jitter, strconv.ParseBool)},
		{"jitter-mode", "symmetric | additive | full | equal", "", into(&p.JitterMode, func(s string) (backoff.JitterMode, error) { return backoff.JitterMode(s), nil })},
		{"jitter-percent", "how much they vary, a `NUMBER` from 0.0 to 1.0", "a number from 0.0 to 1.0", into(&p.JitterPercent, fraction)},
		{"hard-cap", "max-delay is the longest wait with jitter too: true | false", choice, into(&p.HardCap, strconv.ParseBool)},
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
		cmd.Flags().String(key.flag, "", key.usage)
	}
	for _, name := range []string{"jitter", "hard-cap"} {
		cmd.Flags().Lookup(name).NoOptDefVal = "true"
	}
	complete(cmd, "strategy", config.Texts(backoff.Strategies())...)
	complete(cmd, "jitter-mode", config.Texts(backoff.JitterModes())...)
}

// overridePolicy sets the keys of the policy from the flags, and returns every invalid value.
func overridePolicy(cmd *cobra.Command, p *backoff.Policy) error {
	var bad []error
	for _, key := range policyKeys(p) {
		flag := cmd.Flags().Lookup(key.flag)
		if !flag.Changed {
			continue
		}
		if err := key.set(flag.Value.String()); err != nil {
			bad = append(bad, fmt.Errorf("--%s %q: must be %s", key.flag, flag.Value.String(), key.want))
		}
	}
	return errors.Join(bad...)
}
