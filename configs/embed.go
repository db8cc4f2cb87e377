// Package configs holds the commented configuration file that `resumed config
// init` writes.
package configs

import _ "embed"

// Template is a configuration file with every key at its default.
//
//go:embed resumed.toml
var Template string
