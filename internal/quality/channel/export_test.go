package channel

// The names that the external tests use.
const (
	BySentence  = strategyBySentence
	ByWord      = strategyByWord
	EmojisAuto  = emojisAuto
	EmojisStrip = emojisStrip
	GSM7        = encodingGSM7
	NoIndicator = noIndicator
	Prefix      = indicatorPrefix
	Suffix      = indicatorSuffix
	UCS2        = encodingUCS2
)

var (
	Builtin      = builtinSpecs
	FeatureNames = featureNames
	FeaturesOf   = featuresOf
)
