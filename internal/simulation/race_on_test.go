//go:build race

package simulation

const raceDetector = true

// everyday is less under the race detector, which makes a database slow.
const everyday = 3_000
