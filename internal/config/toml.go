package config

import "github.com/pelletier/go-toml/v2"

// CheckTOML returns what keeps a text, of whatever program, from being TOML.
func CheckTOML(text []byte) error {
	var whole map[string]any
	return toml.Unmarshal(text, &whole)
}
