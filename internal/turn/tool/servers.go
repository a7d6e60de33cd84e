package tool

// Servers names the servers that tools come from, for settings that name tools: a wrong name is found before any
// server runs. It is a part of a config.Config.
type Servers []string

// Reporting are the names of those servers whose calls with an unknown outcome are reported to
// the caller, without asking a person. A package that only has to check definitions reads it.
type Reporting []string
