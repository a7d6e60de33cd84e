// Package examples holds configurations that work without a key, for the demonstrations of the
// program. They are the files of the folders here, to be read and changed.
package examples

import "embed"

// Files has the configurations, by their paths below this folder.
//
//go:embed home/sluice.yaml quality/sluice.yaml workflows/refund.yaml
var Files embed.FS
