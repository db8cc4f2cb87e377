module resumed/internal/backoff/bench

go 1.26.0

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/jpillora/backoff v1.1.0
	github.com/sethvargo/go-retry v0.5.0
	resumed v0.0.0
)

require github.com/bits-and-blooms/bitset v1.24.4 // indirect

replace resumed => ../../..
