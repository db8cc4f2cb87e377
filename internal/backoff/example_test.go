package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"resumed/internal/backoff"
)

// The delays of the default policy without randomness: u = 0.5 is the middle of the jitter.
func ExamplePolicy_Delay() {
	p := backoff.Default()
	for n := range p.MaxRetries {
		fmt.Println(p.Delay(n+1, 0.5))
	}
	// Output:
	// 30s
	// 1m0s
	// 2m0s
	// 4m0s
	// 5m0s
}

// The smallest and largest wait. The cap comes before the jitter, so that waits at the cap differ too.
func ExamplePolicy_Range() {
	base, least, greatest := backoff.Default().Range(5)
	fmt.Println(base, least, greatest)
	// Output: 5m0s 4m30s 5m30s
}

// An operation that succeeds at the third try.
func ExampleRetry() {
	p := backoff.Policy{Strategy: backoff.Exponential, BaseDelay: time.Millisecond, MaxDelay: time.Second, MaxRetries: 5}
	tries := 0
	err := backoff.Retry(context.Background(), p, func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("overloaded")
		}
		return nil
	}, backoff.Options{})
	fmt.Println(tries, err)
	// Output: 3 <nil>
}
