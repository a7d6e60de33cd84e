package tool

// Servers names the servers that tools come from, for settings that name tools: a wrong name is found before any
// server runs. It is a part of a config.Config.
type Servers []string
