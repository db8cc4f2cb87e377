//go:build !race

package simulation

const raceDetector = false

// everyday is how many steps are played by every test run.
const everyday = 100_000
